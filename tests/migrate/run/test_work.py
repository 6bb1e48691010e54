"""What is read is parsed and walked once, and ten copies take ten times the work of one."""

from __future__ import annotations

import ast
import collections
import gc
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.names import walk
from flaxoptim_compat.migrate.optimizers import reading
from flaxoptim_compat.migrate.program import loading
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.run import pipeline
from flaxoptim_compat.migrate.run.analysis import Task
from tests.support.places import DATA

COMMANDS = {
    "scan": ["scan"],
    "shim": ["rewrite", "--to", "shim", "--check"],
    "optax": ["rewrite", "--to", "optax", "--check"],
}


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> collections.Counter[str]:
    """How often each text is parsed; what a rewrite makes of a file is another text."""
    genuine = loading.parse
    counted: collections.Counter[str] = collections.Counter()

    def parse(text: str) -> ast.Module:
        counted[text] += 1
        return genuine(text)

    monkeypatch.setattr(loading, "parse", parse)
    return counted


@pytest.fixture
def walked(monkeypatch: pytest.MonkeyPatch) -> list[ast.Module]:
    found: list[ast.Module] = []

    class Walk(walk.Walk):
        def __init__(self, tree: ast.Module, *more: Any) -> None:
            found.append(tree)
            super().__init__(tree, *more)

    monkeypatch.setattr(walk, "Walk", Walk)
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_each_file_is_parsed_and_walked_once(
    command: str,
    parsed: collections.Counter[str],
    walked: list[ast.Module],
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = DATA / "wild_programs"
    main([*COMMANDS[command], str(folder)])
    capsys.readouterr()
    texts = {path.read_text() for path in folder.rglob("*.py")}
    read = {text: count for text, count in parsed.items() if text in texts}
    assert read and set(read.values()) == {1}
    assert len(walked) == len(set(map(id, walked))) == len(read)


def test_what_there_is_no_room_for_is_read_again(
    parsed: collections.Counter[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = str(DATA / "legacy_programs")
    main(["scan", folder, "--format", "concise"])
    expected = capsys.readouterr().out
    assert set(parsed.values()) == {1}
    monkeypatch.setattr(loading, "MOST_WAITING", 10_000)
    main(["scan", folder, "--format", "concise"])
    assert capsys.readouterr().out == expected
    assert 2 in parsed.values()


def test_a_file_that_mentions_nothing_old_is_not_parsed(
    tmp_path: Path, parsed: collections.Counter[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.py").write_text("import os\n\nprint(os.name)\n")
    assert main(["scan", str(tmp_path), "--format", "concise"]) == 0
    assert "0 files parsed, 1 without" in capsys.readouterr().out
    assert not parsed


def test_optimizers_are_followed_only_where_one_can_come(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "train": "import helpers\nfrom flax import optim\nhelpers.show(optim.Adam(0.1))\n",
        "helpers": "import jax\n\ndef show(x):\n    return jax.tree_map(print, x)\n",
        # Both import what the training imports, and what they have is no optimizer of flax.optim.
        "torch_train": "import helpers\nfrom torch import optim\nhelpers.show(optim.Adam([]))\n",
        "plan": "import helpers, jax\n\ndef plan(optimizer):\n    return optimizer.target\n",
    }
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)
    followed: list[str] = []

    class Noted(reading.PointsTo):
        def __init__(self, documents: Sequence[Document], *more: Any) -> None:
            followed.extend(each.path.stem for each in documents)
            super().__init__(documents, *more)

    monkeypatch.setattr(reading, "PointsTo", Noted)
    assert main(["scan", str(tmp_path), "--format", "concise"]) == 1
    assert sorted(followed) == ["helpers", "train"]
    # Their names are looked up in one another all the same.
    assert "4 files parsed" in capsys.readouterr().out


def test_nothing_is_kept_of_files_that_are_done(capsys: pytest.CaptureFixture[str]) -> None:
    def kept() -> int:
        gc.collect()
        kinds = (Document, reading.PointsTo, reading.Reading)
        return sum(isinstance(each, kinds) for each in gc.get_objects())

    before = kept()
    for command in (["scan"], ["rewrite", "--to", "optax"]):
        main([*command, str(DATA / "legacy_programs")])
        capsys.readouterr()
        assert kept() == before


COPIES = 10


def calls(*arguments: str) -> int:
    """How many functions a command calls."""
    counted: collections.Counter[str] = collections.Counter()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        del frame, argument
        counted[event] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        assert main(list(arguments)) == 1
    finally:
        sys.setprofile(before)
    return counted["call"] + counted["c_call"]


@pytest.mark.parametrize("command", COMMANDS)
def test_ten_copies_take_ten_times_the_calls(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(COPIES):
        shutil.copytree(DATA / "wild_programs" / "library", tmp_path / "ten" / f"copy_{number}")
    arguments = COMMANDS[command]
    one = str(tmp_path / "ten" / "copy_0")
    calls(*arguments, one)  # what is made once and kept
    count = calls(*arguments, one)
    assert calls(*arguments, str(tmp_path / "ten")) < 1.05 * COPIES * count
    capsys.readouterr()


def test_progress_says_which_files_are_read_together(tmp_path: Path) -> None:
    (tmp_path / "alone.py").write_text("import jax\njax.tree_map(f, x)\n")
    (tmp_path / "made.py").write_text("from flax import optim\nadam = optim.Adam(0.1)\n")
    (tmp_path / "used.py").write_text("import made\nmade.adam.create({})\n")
    told: list[str] = []
    task = Task()
    pipeline.run([tmp_path], task, lambda done, of, text: told.append(text))
    names = [each.removeprefix(f"{tmp_path}/") for each in told]
    assert names[:3] == ["alone.py", "made.py", "used.py"]
    assert sorted(names[3:]) == ["alone.py", "made.py and 1 with it"]
