"""What a run has found is kept for the next one, which prints the same as without."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.program import loading
from flaxoptim_compat.migrate.run import cache, pipeline
from tests.support.places import DATA

NAME = ".flaxoptim_compat_cache"
PROGRAMS = ("legacy_programs", "wild_programs", "recorded_programs", "new_optimizer")
COMMANDS = {
    "scan": ["scan", "."],
    "json": ["scan", ".", "--format", "json"],
    "shim": ["rewrite", ".", "--to", "shim"],
    "optax": ["rewrite", ".", "--to", "optax"],
    "changed": ["rewrite", ".", "--to", "optax", "--accept-changes", "--check"],
}
OLD = "import jax\njax.tree_map(f, x)\n"
MAKES = "from flax import optim\n\n\ndef make(p):\n    return optim.Adam(0.1).create(p)\n"
USES = "from made import make\n\n\ndef train(p, g):\n    return make(p).apply_gradient(g).target\n"

NO_PLACE = ([], [1, 2, 3, 4, 5], [1, 1, 1, 1, 1, True], [1, 1, 1, 1, 1, "1"], "place", None)
SAID = (
    None,
    7,
    "a",
    {},
    [1],
    [[]],
    [["a"]],
    [["a", "b"]],
    *([[place, "why"]] for place in NO_PLACE),
)
NOTED = ["FOC151", [1, 1, 1, 1, 0, 1], "what", "instead", True, True, "", "", ""]
NOTED_WRONGLY = [
    *([*NOTED[:number], wrong, *NOTED[number + 1 :]] for number in range(9) for wrong in (7, None)),
    NOTED[:8],
    [*NOTED, ""],
]
SPOTS = [["a.py", [1, 1, 1, 1, 0, 1]]]
UNIT: dict[str, Any] = {"made": SPOTS, "held": SPOTS, "reason": "why", "joined": SPOTS}
NO_SPOTS = (None, 7, "a", [7], [[]], [["a"]], [[7, SPOTS[0][1]]], *([["a", at]] for at in NO_PLACE))
UNIT_WRONGLY = [
    None,
    7,
    [],
    {},
    *({**UNIT, name: wrong} for name in ("made", "held", "joined") for wrong in NO_SPOTS),
    *({**UNIT, "reason": wrong} for wrong in (None, 7, "")),
    {**UNIT, "held": []},
]
# Values of the wrong kinds, in each place of an entry.
WRONG = {
    "report": (7, "a", [], {}, True),
    "imports": (None, 7, "a", {}, [1], [["a"]], [["a", "b", 3]], [["a", "b", "c", "d"]]),
    "exports": (None, 7, "a", {}, [1], [["a"]]),
    "mentions": (None, 7, "a", [], [True], [1, 2, 3], [True] * 4),
    "flax.optim": (None, 1, "a", []),
}
WRONG_IN_REPORT = {
    "parsed": (None, 1, "a", []),
    "findings": (None, 7, "a", {}, [1], [[]], *([each] for each in NOTED_WRONGLY)),
    "unknown": SAID,
    "marks": SAID,
    "new": (7, [], True),
    "done": (None, 7, {}, ["a"], [99], [-1], [True]),
    "left": (None, 7, {}, ["a"], [99], [-1], [True]),
    "off_limits": (None, 7, []),
    "units": (None, 7, "a", {}, *([each] for each in UNIT_WRONGLY)),
}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[int, str, str]:
        status = main([*arguments])
        return (status, *capsys.readouterr())

    return run


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    genuine = loading.parse
    found: list[str] = []

    def parse(text: str) -> Any:
        found.append(text)
        return genuine(text)

    monkeypatch.setattr(loading, "parse", parse)
    return found


def files_of_cache() -> list[Path]:
    return list(Path(NAME).glob("*.json"))


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_kept_prints_the_same(
    program: str, command: str, tmp_path: Path, run: Run, parsed: list[str]
) -> None:
    shutil.copytree(DATA / program, tmp_path, dirs_exist_ok=True)
    expected = run(*COMMANDS[command], "--no-cache")
    assert not Path(NAME).exists()
    assert run(*COMMANDS[command]) == expected
    assert len(files_of_cache()) == 1
    parsed.clear()
    assert run(*COMMANDS[command]) == expected
    # What the user is to paste into a shell is worked out anew.
    assert parsed == [] or "checkpoint convert OLD NEW" in "".join(map(str, expected))


def test_only_what_has_changed_is_read_again(run: Run, parsed: list[str]) -> None:
    texts = {"a": OLD, "b": OLD, "made": MAKES, "use": USES, "other": MAKES.replace("A", "L")}
    for name, text in texts.items():
        Path(f"{name}.py").write_text(text)
    run("scan", ".")
    for name in texts:
        changed = f"{texts[name]}# changed\n"
        Path(f"{name}.py").write_text(changed)
        parsed.clear()
        cached = run("scan", ".")
        together = ("made", "use") if name in ("made", "use") else (name,)
        assert sorted(parsed) == sorted(Path(f"{each}.py").read_text() for each in together)
        assert cached == run("scan", ".", "--no-cache")


def test_what_else_the_results_depend_on(
    run: Run, parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.py").write_text(OLD)

    def is_kept(*arguments: str) -> bool:
        run(*(arguments or ("scan", ".")))
        count = len(parsed)
        parsed.clear()
        return count == 0

    assert not is_kept()
    assert is_kept()
    assert not is_kept("scan", ".", "--ignore", "FOC151")
    assert not is_kept("rewrite", ".", "--to", "shim")
    Path("pyproject.toml").write_text('[tool.flaxoptim-compat]\nignore = ["FOC152"]\n')
    assert not is_kept()
    Path("pyproject.toml").unlink()
    assert is_kept()
    os.chmod("a.py", 0o444)
    assert not is_kept()
    os.chmod("a.py", 0o644)
    Path("lib").mkdir()
    Path("a.py").rename("lib/a.py")
    assert not is_kept()
    assert is_kept()
    monkeypatch.setattr(cache.sys, "version", "3.99")
    assert not is_kept()
    monkeypatch.setattr("flaxoptim_compat.__version__", "99")
    assert not is_kept()


def test_what_is_written_is_what_was_shown(run: Run) -> None:
    for name, text in {"a": OLD, "made": MAKES, "use": USES}.items():
        Path(f"{name}.py").write_text(text)
    status, patch, _ = run("rewrite", ".", "--to", "shim")
    assert status == 1
    assert run("rewrite", ".", "--to", "shim", "--write")[0] == 1
    assert Path("a.py").read_text() == "import jax\njax.tree.map(f, x)\n"
    assert "+import flaxoptim_compat" in patch or "+from flaxoptim_compat" in patch
    assert "from flaxoptim_compat import optim" in Path("made.py").read_text()
    assert run("rewrite", ".", "--to", "shim")[0] == 0


def test_what_could_not_be_read_is_tried_again(run: Run, parsed: list[str]) -> None:
    Path("a.py").write_text("import jax\njax.tree_map(\n")
    first = run("scan", ".")
    assert first[0] == 2
    parsed.clear()
    assert run("scan", ".") == first
    assert len(parsed) == 1


def damages(path: Path) -> dict[str, bytes]:
    content = path.read_bytes()
    head, _, body = content.partition(b"\n")
    entries = json.loads(body)

    def signed(entries: Any) -> bytes:
        body = json.dumps(entries).encode()
        return json.dumps(cache._head(body)).encode() + b"\n" + body

    found = {
        "empty": b"",
        "cut off": content[:-10],
        "a letter": content.replace(b"tree_map", b"tree_mop"),
        "no head": body,
        "no entries": head,
        "another kind": signed([entries]),
        "deep": b"[" * 100_000,
        "null": signed(dict.fromkeys(entries)),
        "strings": signed(dict.fromkeys(entries, "a")),
    }
    for part, wrongs in WRONG.items():
        for wrong in wrongs:
            changed = {key: {**entry, part: wrong} for key, entry in entries.items()}
            found[f"{part} {wrong}"] = signed(changed)
    for part, wrongs in WRONG_IN_REPORT.items():
        for wrong in wrongs:
            reports = {key: {**entry["report"], part: wrong} for key, entry in entries.items()}
            changed = {key: {**entry, "report": reports[key]} for key, entry in entries.items()}
            found[f"report {part} {wrong}"] = signed(changed)
    return found


def test_a_damaged_cache_counts_as_none(run: Run) -> None:
    Path("a.py").write_text(OLD)
    expected = run("rewrite", ".", "--to", "shim")
    (path,) = files_of_cache()
    good = path.read_bytes()
    for name, content in damages(path).items():
        path.write_bytes(content)
        assert run("rewrite", ".", "--to", "shim") == expected, name
        assert path.read_bytes() == good, name


@pytest.mark.parametrize("what", ["a file", "a link", "read-only", "a pipe", "someone else's"])
def test_a_folder_that_cannot_be_used(
    what: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("a.py").write_text(OLD)
    expected = run("scan", ".", "--no-cache")
    if what == "a file":
        Path(NAME).write_text("mine")
    elif what == "a link":
        (tmp_path / "elsewhere").mkdir()
        Path(NAME).symlink_to("elsewhere")
    elif what == "a pipe":
        run("scan", ".")
        (path,) = files_of_cache()
        path.unlink()
        os.mkfifo(path)
    elif what == "someone else's":
        run("scan", ".")
        mine = os.getuid()
        monkeypatch.setattr(os, "getuid", lambda: mine + 1)
    else:
        Path(NAME).mkdir()

        def refuse(*_: object, **__: object) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(cache, "appearing_file", refuse)
    assert run("scan", ".") == expected
    assert run("scan", ".") == expected
    assert not list((tmp_path / "elsewhere").glob("*"))


def test_the_folder_says_what_it_is(run: Run) -> None:
    Path("a.py").write_text(OLD)
    run("scan", ".")
    assert (Path(NAME) / ".gitignore").read_text() == "*\n"
    tag = (Path(NAME) / "CACHEDIR.TAG").read_text()
    assert tag.startswith("Signature: 8a477f597d28d172789f06886806bc55\n")


def test_old_results_are_removed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MOST_FILES", 3)
    monkeypatch.setattr(cache, "_MOST_UNUSED", 5)
    Path(NAME).mkdir()
    (Path(NAME) / "mine.json").write_text("{}")
    left = Path(NAME) / f"unfinished-{'0' * 32}.json-01234567"
    for age in (0, 7200):
        left.write_text("{")
        os.utime(left, (time.time() - age, time.time() - age))
        for number in range(4):
            Path("a.py").write_text(f"{OLD}# {age} {number}\n")
            run("scan", ".", "--ignore", f"FOC15{number}")
        assert left.exists() == (age == 0)
    assert len(files_of_cache()) == 4
    for number in range(9):
        Path("a.py").write_text(f"{OLD}# {number}\n")
        run("scan", ".")
    newest = max(files_of_cache(), key=lambda path: path.stat().st_mtime)
    assert len(json.loads(newest.read_bytes().partition(b"\n")[2])) == 6


def test_a_file_that_changes_while_it_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in {"made": MAKES, "use": USES}.items():
        Path(f"{name}.py").write_text(text)
    genuine = pipeline._Run._links

    def links(self: pipeline._Run) -> Any:
        Path("use.py").write_text(USES.replace("apply_gradient", "other"))
        self._waiting = pipeline.Waiting()
        return genuine(self)

    monkeypatch.setattr(pipeline._Run, "_links", links)
    run("scan", ".")
    assert not files_of_cache()
