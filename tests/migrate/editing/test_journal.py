"""A run that is cut short is put back by the next one, and two at once do not meet."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.editing.journal import JOURNAL, Journal, JournalError, recover, undo
from flaxoptim_compat.migrate.editing.replacing_files import replace
from tests.support.changed_files import NEW, OLD, changes, content, written
from tests.support.options import each
from tests.support.places import ROOT
from tests.support.processes import compat, output_of

NAMES = ("a.py", "b/c.py", "b/d.py")
BEFORE, AFTER = dict.fromkeys(NAMES, OLD), dict.fromkeys(NAMES, NEW)


def cut_short(folder: Path, replaced: int = 2) -> None:
    """Leave a folder as a run does that is killed when it has replaced so many files."""
    folder.mkdir(exist_ok=True)
    those = changes(folder, *NAMES)
    journal = Journal(folder, is_new=True)
    journal.keep(those)
    for change in those[:replaced]:
        replace(change)
    journal.close()


def put_back(*paths: Path, around: tuple[Path, ...] = ()) -> list[str]:
    """What a rewrite of these paths says of those before it."""
    said: list[str] = []
    recover(paths, around, said.append)
    return said


KILLED_EVERYWHERE = """
import os, shutil, sys
from pathlib import Path
from tests.support.changed_files import NEW, OLD, changes, content, written
from tests.support.dying import die_at_call
from tests.migrate.editing.test_journal import AFTER, BEFORE, NAMES, cut_short, put_back

folder = Path("program").resolve()


def run(is_recovery, call_to_die_at):
    those = [] if is_recovery else changes(folder, *NAMES)
    stop = die_at_call(call_to_die_at)
    put_back(folder) if is_recovery else written(those, folder)
    return stop()


seen = set()
for is_recovery in (False, True):
    for _ in range(2):  # The first one imports as well.
        cut_short(folder) if is_recovery else None
        total = run(is_recovery, 0)
        shutil.rmtree(folder)
    for call in range(1, total + 1, 1 + total // int(sys.argv[1])):
        cut_short(folder) if is_recovery else folder.mkdir()
        child = os.fork()
        if not child:
            run(is_recovery, call)
            os._exit(0)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        python = [text for name, text in content(folder).items() if name in NAMES]
        seen.add((is_recovery, "mixed" if len(set(python)) > 1 else "whole"))
        put_back(folder)
        found = content(folder)
        assert found == BEFORE or (found == AFTER and not is_recovery), (call, found)
        shutil.rmtree(folder)
print(sorted(seen))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
@pytest.mark.parametrize("calls", each(["50", "1000"], ["50"]))
def test_killed_at_any_moment(tmp_path: Path, calls: str) -> None:
    """A process of its own for each of so many calls into C, killed right there."""
    printed = output_of(["-B", "-c", KILLED_EVERYWHERE, calls], tmp_path, {"PYTHONPATH": str(ROOT)})
    every = [(is_recovery, how) for is_recovery in (False, True) for how in ("mixed", "whole")]
    assert printed == f"{every}\n"


def failing_at(
    monkeypatch: pytest.MonkeyPatch, call: int, error: BaseException, times: int = 1
) -> Callable[[], int]:
    """Have the n-th sync or rename fail; returns how many there were."""
    calls = 0

    def wrapped(genuine: Callable[..., None]) -> Callable[..., None]:
        def function(*arguments: object) -> None:
            nonlocal calls
            calls += 1
            if call <= calls < call + times:
                raise error
            genuine(*arguments)

        return function

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, wrapped(getattr(os, name)))
    return lambda: calls


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_an_error_at_any_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    call = total = 0
    outcomes = set()
    while call <= total:
        call += 1
        those = changes(tmp_path, *NAMES)
        with monkeypatch.context() as patch:
            count = failing_at(patch, call, error)
            try:
                is_written = bool(written(those, tmp_path).written)
            except (JournalError, KeyboardInterrupt):
                is_written = content(tmp_path) == AFTER
            total = count()
        assert content(tmp_path) == (AFTER if is_written else BEFORE), call
        outcomes.add(is_written)
    assert call > 9 and outcomes == {False, True}


def test_a_disk_that_stays_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    those = changes(tmp_path, *NAMES)
    with monkeypatch.context() as patch:
        # The journal, its folder, and each file with its name and its folder.
        failing_at(patch, 6, OSError(28, "No space left on device"), times=1000)
        with pytest.raises(JournalError, match=r"a\.py \(No space left on device\)"):
            written(those, tmp_path)
    assert (tmp_path / "a.py").read_bytes() == NEW
    assert "1 had been rewritten." in put_back(tmp_path)[0]
    assert content(tmp_path) == BEFORE


def test_it_says_what_it_put_back(tmp_path: Path) -> None:
    cut_short(tmp_path)
    (tmp_path / "b" / "unfinished-c.py-0123abcd").write_bytes(b"x")
    assert put_back(tmp_path) == [
        f"A rewrite of 3 files in {tmp_path} was cut short. All files are as they were before."
        " 2 had been rewritten."
    ]
    assert content(tmp_path) == BEFORE
    assert not put_back(tmp_path)
    assert not list(tmp_path.glob(".*"))


def test_from_above_and_from_below(tmp_path: Path) -> None:
    for path, around in ((tmp_path / "p" / "b" / "c.py", ()), (tmp_path, (tmp_path / "p",))):
        cut_short(tmp_path / "p")
        assert len(put_back(path, around=around)) == 1
        assert content(tmp_path / "p") == BEFORE


@pytest.mark.parametrize("second", ["p/b", "."])
def test_two_at_once(tmp_path: Path, second: str) -> None:
    changes(tmp_path / "p", *NAMES)
    with contextlib.closing(Journal(tmp_path / "p", is_new=True)):
        before = content(tmp_path)
        done = compat(["rewrite", second, "--to", "shim", "--write"], tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert " ".join(done.stderr.split()) == (
            f"flaxoptim-compat: Another rewrite is writing in {tmp_path / 'p'}: wait until it ends."
        )
        assert content(tmp_path) == before
    assert content(tmp_path / "p") == BEFORE


def test_files_that_were_edited_since(tmp_path: Path) -> None:
    cut_short(tmp_path)
    (tmp_path / "a.py").write_bytes(b"edited\n")
    with pytest.raises(JournalError, match=r"a\.py \(before: .*before-a\.py\)") as caught:
        put_back(tmp_path)
    copy = tmp_path / ".flaxoptim_compat" / "before-a.py"
    assert copy.read_bytes() == OLD and str(copy) in str(caught.value)
    assert content(tmp_path) == {"a.py": b"edited\n", "b/c.py": NEW, "b/d.py": OLD}
    # As the message says.
    (tmp_path / JOURNAL).unlink()
    assert not put_back(tmp_path)


def test_a_rewrite_is_taken_back(tmp_path: Path) -> None:
    those = changes(tmp_path, *NAMES)
    before = [each.path.stat() for each in those]
    written(those, tmp_path)
    assert not put_back(tmp_path) and content(tmp_path) == AFTER
    assert undo(tmp_path / "b") == [each.path for each in those]
    assert content(tmp_path) == BEFORE
    for change, status in zip(those, before, strict=True):
        now = change.path.stat()
        assert (now.st_mode, now.st_mtime_ns) == (status.st_mode, status.st_mtime_ns)
    with pytest.raises(JournalError, match="No rewrite to take back is known"):
        undo(tmp_path)


def test_only_the_last_rewrite_is_taken_back(tmp_path: Path) -> None:
    (first, second) = changes(tmp_path, "a.py", "b.py")
    written([first], tmp_path)
    written([second], tmp_path)
    assert undo(tmp_path) == [second.path]
    assert content(tmp_path) == {"a.py": NEW, "b.py": OLD}


def test_an_edited_file_is_not_taken_back(tmp_path: Path) -> None:
    written(changes(tmp_path, *NAMES), tmp_path)
    (tmp_path / "a.py").write_bytes(b"edited\n")
    with pytest.raises(JournalError, match="Nothing was put back"):
        undo(tmp_path)
    assert content(tmp_path) == {**AFTER, "a.py": b"edited\n"}


def test_a_folder_that_was_moved_is_rewritten(tmp_path: Path) -> None:
    written(changes(tmp_path / "p", *NAMES), tmp_path / "p")
    (tmp_path / "p").rename(tmp_path / "q")
    assert not put_back(tmp_path / "q")
    with pytest.raises(JournalError, match="No rewrite"):
        undo(tmp_path / "q")
    assert written(changes(tmp_path / "q", *NAMES), tmp_path / "q").written


def test_a_pipe_for_a_journal_is_not_waited_for(tmp_path: Path) -> None:
    cut_short(tmp_path)
    (tmp_path / JOURNAL).unlink()
    os.mkfifo(tmp_path / JOURNAL)
    assert not put_back(tmp_path)


def foreign(folder: Path, **changed: object) -> None:
    """Change what a journal says."""
    found = json.loads((folder / JOURNAL).read_text())
    (folder / JOURNAL).write_text(json.dumps({**found, **changed}))


def renamed(folder: Path, path: str) -> None:
    _, mtime, new, old = json.loads((folder / JOURNAL).read_text())["files"][0]
    foreign(folder, files=[[path, mtime, new, old]])


def through_a_link(folder: Path) -> None:
    (folder / "link").symlink_to(folder.parent)
    renamed(folder, "link/outside.py")


def linked(folder: Path) -> None:
    (folder / JOURNAL).rename(folder.parent / "journal")
    (folder / JOURNAL).symlink_to(folder.parent / "journal")


def of_somebody_else(folder: Path) -> None:
    if sys.platform == "win32" or os.geteuid():
        pytest.skip("only root gives files away")
    os.chown(folder / JOURNAL, 1234, 4321)


def a_folder(folder: Path) -> None:
    (folder / JOURNAL).unlink()
    (folder / JOURNAL / "files").mkdir(parents=True)
    (folder / JOURNAL / "top").write_text("/; rm -rf x\n")


@pytest.mark.parametrize(
    "make",
    [
        lambda folder: foreign(folder, **{"made in": "/"}),
        lambda folder: foreign(folder, files=[["a.py"]]),
        lambda folder: foreign(folder, files=[["a.py", 0, "", 1]]),
        lambda folder: renamed(folder, "../outside.py"),
        lambda folder: renamed(folder, str(folder.parent / "outside.py")),
        lambda folder: (folder / JOURNAL).write_text("mine\n"),
        through_a_link,
        linked,
        of_somebody_else,
        a_folder,
    ],
)
def test_a_journal_that_nobody_made_here(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], object],
) -> None:
    folder = tmp_path / "p"
    cut_short(folder)
    (tmp_path / "outside.py").write_bytes(NEW)
    make(folder)
    before = content(tmp_path)
    monkeypatch.chdir(folder)
    assert main(["rewrite", ".", "--to", "shim", "--write"]) == 2
    assert content(tmp_path) == before
    said = " ".join(capsys.readouterr().err.split())
    assert str(folder / JOURNAL) in said and "Move it away" in said
    assert "cp " not in said and "rm " not in said
    # Who does not have to write there goes on.
    assert not put_back(tmp_path, around=(folder,))
    assert content(tmp_path) == before


@pytest.mark.parametrize("text", ["", '{"made', '{"made by": "flaxoptim-compat rewrite", "made in'])
def test_half_of_a_journal_is_none(tmp_path: Path, text: str) -> None:
    changes(tmp_path, *NAMES)
    (tmp_path / JOURNAL).parent.mkdir()
    (tmp_path / JOURNAL).write_text(text)
    assert not put_back(tmp_path) and content(tmp_path) == BEFORE


def test_a_folder_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    those = changes(tmp_path, *NAMES)
    genuine = os.open

    def refusing(path: Path, flags: int, *arguments: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied")
        return genuine(path, flags, *arguments)

    monkeypatch.setattr(os, "open", refusing)
    # Who has nothing to write need not know.
    assert not put_back(tmp_path)
    with pytest.raises(JournalError, match=r"cannot be written: Permission denied\. No file"):
        written(those, tmp_path)
    assert content(tmp_path) == BEFORE


def test_any_bytes_come_back(tmp_path: Path) -> None:
    (change,) = changes(tmp_path, "a.py")
    old = bytes(range(256)) + "\r\n\ufeff😀".encode() + b"\x80"
    change.path.write_bytes(old)
    journal = Journal(tmp_path, is_new=True)
    journal.keep([change._replace(old=old)])
    replace(change._replace(old=old))
    journal.close()
    put_back(tmp_path)
    assert content(tmp_path) == {"a.py": old}
