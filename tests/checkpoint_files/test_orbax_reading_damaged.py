"""Orbax directories that are damaged, or made to do harm: each is an error that says what is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
from tests.support.checkpoint_trees import contents
from tests.support.orbax_states import save_pytree


def rewrite_json(path: Path, edit: Callable[[Any], object]) -> None:
    content = json.loads(path.read_text())
    edit(content)
    path.write_text(json.dumps(content))


def first_entry(metadata: dict[str, Any]) -> Any:
    return next(iter(metadata["tree_metadata"].values()))


DAMAGE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no description": ("a", lambda path: (path / ".zarray").unlink(), "'a' cannot be read"),
    "no values": ("a", lambda path: (path / "0.0").unlink(), "'a' cannot be read"),
    "cut values": ("a", lambda path: (path / "0.0").write_bytes(b"1234"), "'a' cannot be read"),
    "text as values": ("a/.zarray", lambda path: path.write_text("no JSON"), "'a' cannot be read"),
    "huge array": (
        "a/.zarray",
        lambda path: rewrite_json(path, lambda found: found.update(shape=[2**40, 2**20])),
        "'a' cannot be read: its shape is",
    ),
    "huge parts": (
        "a/.zarray",
        lambda path: rewrite_json(path, lambda found: found.update(chunks=[2**40, 2**10])),
        "promises arrays of 9,007,199,254,741,000 bytes",
    ),
    "many parts": (
        "a/.zarray",
        lambda path: rewrite_json(
            path, lambda found: found.update(shape=[9999, 99], chunks=[1, 1])
        ),
        "'a' cannot be read: its shape is",
    ),
    "another dtype": (
        "a/.zarray",
        lambda path: rewrite_json(path, lambda found: found.update(dtype="|S8")),
        "'a' cannot be read: ",
    ),
    "no JSON": ("_METADATA", lambda path: path.write_text("{"), "_METADATA is damaged: "),
    "deep JSON": (
        "_METADATA",
        lambda path: path.write_text("[" * 100_000),
        "_METADATA is damaged: ",
    ),
    "a list": (
        "_METADATA",
        lambda path: path.write_text("[1]"),
        "the content is not a JSON object",
    ),
    "no tree": ("_METADATA", lambda path: path.write_text('{"a": 1}'), "an entry is not as orbax"),
    "odd entry": (
        "_METADATA",
        lambda path: rewrite_json(path, lambda found: first_entry(found).update(key_metadata=[{}])),
        "an entry is not as orbax",
    ),
    "name outside": (
        "_METADATA",
        lambda path: rewrite_json(
            path, lambda found: first_entry(found)["key_metadata"][0].update(key="../../etc")
        ),
        "an array in '../../etc', outside of the directory",
    ),
    "no text": (
        "_strings.json",
        lambda path: path.unlink(),
        r"an entry is not as orbax writes them \(KeyError: 'c'\)",
    ),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_and_hostile_directories_are_refused(name: str, tmp_path: Path) -> None:
    part, damage, problem = DAMAGE[name]
    path = tmp_path / "x"
    write_checkpoint(path, {"a": np.ones((2, 3)), "b": 1, "c": "text"}, "orbax")
    damage(path / part)
    with pytest.raises(CheckpointError, match=problem) as caught:
        contents(path)
    assert str(path) in str(caught.value)
    assert "source locations" not in str(caught.value)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = save_pytree(tmp_path / "x")
    for folder in path.rglob("d"):
        shutil.rmtree(folder)
    with pytest.raises(CheckpointError, match="cannot be read"):
        contents(path)


@pytest.mark.parametrize("content", [None, "", "{}"], ids=["missing", "empty", "an empty object"])
def test_a_database_without_description_is_refused(content: str | None, tmp_path: Path) -> None:
    path = save_pytree(tmp_path / "x")
    (path / "_METADATA").unlink()
    if content is not None:
        (path / "_METADATA").write_text(content)
    with pytest.raises(CheckpointError, match=r"no _METADATA that names|_METADATA is damaged"):
        contents(path)
