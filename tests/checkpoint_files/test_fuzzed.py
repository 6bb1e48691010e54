"""Thousands of damaged checkpoints: each is a tree or a CheckpointError, and costs little."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import serialization

from flaxoptim_compat.checkpoint_files import CheckpointError, open_checkpoint, write_checkpoint
from tests.attack.damage import OF_BYTES, damaged
from tests.support.checkpoint_trees import GOLDENS, LEAVES, contents

LEAF_TYPES = (np.ndarray, np.generic, int, float, complex, bool, str, bytes, type(None))
MSGPACK_MUTANTS, NPZ_MUTANTS, ORBAX_MUTANTS = 3000, 600, 100


def chunked() -> dict[str, Any]:
    parts = {"0": np.ones(4, np.float32), "1": np.ones(2, np.float32)}
    shape = {"0": 2, "1": 3}
    return {"w": {"__msgpack_chunked_array__": True, "shape": shape, "chunks": parts}}


def msgpack_seeds() -> list[bytes]:
    made = [LEAVES, chunked(), {"list": [1, [2.5, [None, np.ones(3)]]]}]
    return [path.read_bytes() for path in GOLDENS] + [
        serialization.msgpack_serialize(tree) for tree in made
    ]


def npz_seeds() -> list[bytes]:
    tree = {
        "opt/target/params/Dense_0/kernel": np.arange(300, dtype=np.float32).reshape(20, 15),
        "opt/target/params/Dense_0/bias": np.ones(15, ml_dtypes.bfloat16),
        "opt/state/step": np.asarray(5, np.int32),
        "columns": np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        "empty": np.zeros((0, 3)),
    }
    seeds = []
    for save in (np.savez, np.savez_compressed):
        buffer = io.BytesIO()
        save(buffer, **tree)  # type: ignore[arg-type]
        seeds.append(buffer.getvalue())
    return seeds


def mutants(seeds: list[bytes], number: int) -> Iterator[bytes]:
    """The same ones each time."""
    source = random.Random(20260101)
    for _ in range(number):
        yield damaged(source.choice(seeds), source, OF_BYTES)


def assert_is_a_tree(tree: Any) -> None:
    if isinstance(tree, Mapping):
        for name, child in tree.items():
            assert type(name) is str
            assert_is_a_tree(child)
    elif isinstance(tree, list):
        for item in tree:
            assert_is_a_tree(item)
    else:
        assert isinstance(tree, LEAF_TYPES)


def outcome(path: Path) -> str:
    """Read everything in it. Any other exception than CheckpointError fails the test."""
    try:
        tree = contents(path)
    except CheckpointError:
        return "error"
    assert_is_a_tree(tree)
    return "tree"


def outcomes(contents_: Iterator[bytes], path: Path) -> dict[str, int]:
    count = {"tree": 0, "error": 0}
    for content in contents_:
        path.write_bytes(content)
        count[outcome(path)] += 1
    return count


@pytest.mark.parametrize(
    ("seeds", "number"), [(msgpack_seeds, MSGPACK_MUTANTS), (npz_seeds, NPZ_MUTANTS)]
)
def test_every_mutant_is_a_tree_or_an_error(
    seeds: Callable[[], list[bytes]], number: int, tmp_path: Path
) -> None:
    count = outcomes(mutants(seeds(), number), tmp_path / "checkpoint")
    # Most damage is noticed. In the values of arrays in msgpack, which have no checksum, it is not.
    assert count["error"] > number / 2
    assert count["tree"] > number / 50


@contextlib.contextmanager
def counted_calls() -> Iterator[list[int]]:
    """How many functions are called, which tells the work and not the time it takes."""
    calls = [0]

    def count(frame: object, event: str, argument: object) -> None:
        if event in ("call", "c_call"):
            calls[0] += 1

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def bombs() -> dict[str, bytes]:
    """Small files that would become large trees, or take long, if they were believed."""
    array = serialization.msgpack_serialize({"w": np.zeros(4)})
    return {
        "lists of lists": b"\xdc\xff\xff" * 10_000,
        "maps of maps": b"\xde\xff\xff\xa1a" * 10_000,
        "empty lists": b"\xdd\x00\x00\x40\x00" + b"\x90" * 2**14,
        "empty maps": b"\xdd\x00\x00\x40\x00" + b"\x80" * 2**14,
        "none": b"\xdd\x00\x00\x40\x00" + b"\xc0" * 2**14,
        "huge array": array.replace(b"\x91\x04", b"\x91\xcf" + (2**50).to_bytes(8, "big")),
        "huge bytes": array.replace(b"\xc4\x20", b"\xc6\xff\xff\xff\xf0"),
        "names": b"\xde\x27\x10" + b"".join(b"\xa4%04d\xc0" % n for n in range(10_000)),
        "no zip": b"PK\3\4" * 10_000,
        "many ends of a zip": b"PK\5\6" * 10_000 + bytes(18),
    }


@pytest.mark.parametrize("name", bombs())
def test_bombs_take_little_memory_and_work(name: str, tmp_path: Path) -> None:
    content = bombs()[name]
    assert_costs_little(content, tmp_path / "checkpoint")


@pytest.mark.parametrize(("seeds", "number"), [(msgpack_seeds, 300), (npz_seeds, 60)])
def test_mutants_take_little_memory_and_work(
    seeds: Callable[[], list[bytes]], number: int, tmp_path: Path
) -> None:
    for content in mutants(seeds(), number):
        assert_costs_little(content, tmp_path / "checkpoint")


def assert_costs_little(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    # What the first one imports is none of its costs.
    with contextlib.suppress(CheckpointError), open_checkpoint(path):
        pass
    tracemalloc.start()
    with contextlib.suppress(CheckpointError), counted_calls() as calls, open_checkpoint(path):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # The work and the memory grow with the file and no faster. An empty map is a byte in the file
    # and 64 of memory, and one entry in it some hundred more.
    assert peak < 100 * len(content) + 2**18
    assert calls[0] < 40 * len(content) + 2000


def orbax_seed(path: Path, layout: str) -> None:
    tree = {
        "list": [np.ones(3), {}],
        "params": {
            "bias": np.ones(4, ml_dtypes.bfloat16),
            "kernel": np.arange(60.0).reshape(6, 10),
        },
        "step": 7,
        "text": "some",
    }
    if layout == "ours":
        write_checkpoint(path, {**tree, "list": {"0": np.ones(3), "1": {}}}, "orbax")
    else:
        ocp.PyTreeCheckpointer(use_ocdbt=layout == "database").save(path, tree)


@pytest.mark.parametrize("layout", ["database", "folders", "ours"])
def test_damaged_orbax_directories(layout: str, tmp_path: Path) -> None:
    orbax_seed(tmp_path / "seed", layout)
    source = random.Random(layout)
    files = [
        os.path.relpath(file, tmp_path / "seed")
        for file in sorted((tmp_path / "seed").rglob("*"))
        if file.is_file()
    ]
    count = {"tree": 0, "error": 0}
    for number in range(ORBAX_MUTANTS):
        path = tmp_path / "checkpoint"
        shutil.copytree(tmp_path / "seed", path)
        # Each file is missing once and empty once, and then they are damaged.
        victim = path / files[number % len(files)]
        if number < len(files):
            victim.unlink()
        elif number < 2 * len(files):
            victim.write_bytes(b"")
        else:
            victim.write_bytes(source.choice(OF_BYTES)(victim.read_bytes() or b"\0", source))
        count[outcome(path)] += 1
        shutil.rmtree(path)
    assert count["error"] > ORBAX_MUTANTS / 4
