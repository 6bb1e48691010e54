"""Committed files that are made of others are those that ``python -m tests.generate`` makes."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import numpy as np
import pytest
from flax import serialization

from tests.data import goldens
from tests.generate import __main__ as command
from tests.generate.generator import Generator
from tests.generate.generators import GENERATORS
from tests.legacy.cases.random_numbers import OF_LAPACK, assert_alike, row_of

# The page about rewriting is printed anew in test_rewriting.py, which needs what that leaves; what
# the package index says is asked for in test_versions.py; test_pictures.py looks at the pictures,
# and test_notebooks.py runs the notebooks.
OTHERS = (
    "goldens",
    "index",
    "layers",
    "notebooks",
    "pictures",
    "random_numbers",
    "releases",
    "rewriting",
    "signatures",
)
TEXTS = [name for name in GENERATORS if name not in OTHERS]


@pytest.mark.parametrize("name", TEXTS)
def test_the_committed_files_are_current(name: str) -> None:
    generator = GENERATORS[name]
    files = generator.files()
    same = generator.comparable
    assert {path: same(path.read_bytes()) for path in files} == {
        path: same(content) for path, content in files.items()
    }
    assert not generator.superfluous(files)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("old_environment")
def test_the_goldens_are_current() -> None:
    files = GENERATORS["goldens"].files()
    assert set(files) == {*goldens.CHECKPOINTS.rglob("*.msgpack"), goldens.TRAJECTORIES}
    for path, content in files.items():
        found, expected = (
            goldens.load(each) if path.suffix == ".xz" else serialization.msgpack_restore(each)
            for each in (content, path.read_bytes())
        )
        assert jax.tree.structure(found) == jax.tree.structure(expected), path
        # On the machine of the recording not a bit differs; another processor may round otherwise.
        jax.tree.map(assert_nearly, found, expected)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("old_environment")
def test_the_signatures_of_the_old_environment_are_current() -> None:
    for path, content in GENERATORS["signatures"].files().items():
        assert path.read_bytes() == content


@pytest.mark.exhaustive
@pytest.mark.usefixtures("old_environment")
def test_the_random_numbers_of_the_old_environment_are_current() -> None:
    ((path, content),) = GENERATORS["random_numbers"].files().items()
    found, expected = (json.loads(each) for each in (content, path.read_bytes()))
    assert found.keys() == expected.keys()
    for name, leaves in expected.items():
        # On another processor than that of the recording, whose vector instructions round otherwise
        # (double_sided_maxwell, on one with other AVX instructions).
        assert_alike(found[name], leaves, row_of(name, OF_LAPACK) or 1)


def assert_nearly(found: object, expected: object) -> None:
    values = (np.asarray(each).astype(np.float64) for each in (found, expected))
    np.testing.assert_allclose(*values, rtol=1e-4, atol=1e-6)


def test_writing_changes_adds_and_deletes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, content in {"same": b"1", "old": b"2", "superfluous": b"3"}.items():
        (tmp_path / name).write_bytes(content)
    same = (tmp_path / "same").stat()  # of which reading may change the time of access
    files = {tmp_path / name: b"1" for name in ("same", "old", "new")}
    monkeypatch.setattr(command, "GENERATORS", {"mine": Generator("mine", lambda: files, tmp_path)})
    monkeypatch.setattr(command, "ROOT", tmp_path)
    command.main([])
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files
    now = (tmp_path / "same").stat()
    assert (now.st_ino, now.st_mtime_ns) == (same.st_ino, same.st_mtime_ns)
    assert capsys.readouterr().out.split() == ["old", "new", "superfluous"]
    command.main(["mine"])
    assert capsys.readouterr().out == ""


def test_a_name_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["rule"])
    assert "no such name: rule" in capsys.readouterr().err
