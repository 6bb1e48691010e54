"""What would take much memory is refused before it does; what is too large, soon, in few lines."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
import tensorstore
from flax import serialization

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    msgpack_reading,
    promised,
    write_checkpoint,
)
from tests.support.checkpoint_trees import contents
from tests.support.options import each
from tests.support.orbax_states import save_pytree
from tests.support.processes import start_within

WORDS = "checkpoint convert source new --to train-state --format msgpack"
HUGE = 2**31
MEMORY = 3 * 2**29
SECONDS = 10
LONG = "k" * 10**6


def changed(path: Path, **entries: Any) -> None:
    description = path / "a" / ".zarray"
    description.write_text(json.dumps(json.loads(description.read_text()) | entries))


def zeros_that_are_left_out(path: Path) -> None:
    changed(path, shape=[HUGE // 8], chunks=[HUGE // 8])
    (path / "a" / "0").unlink()
    (path / "other").write_bytes(os.urandom(2**20))


def compressed(path: Path) -> None:
    changed(path, shape=[HUGE // 8], chunks=[HUGE // 8], compressor={"id": "zstd", "level": 1})
    # A frame of blocks that each say: 128 KiB of one byte.
    block = (2 + (2**17 << 3)).to_bytes(3, "little") + b"\0"
    last = (3 + (2**17 << 3)).to_bytes(3, "little") + b"\0"
    frame = b"\x28\xb5\x2f\xfd\x00\x50" + block * (HUGE // 2**17 - 1) + last
    (path / "a" / "0").write_bytes(frame)


def longer_in_blosc(path: Path) -> None:
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 1, "shuffle": 1}
    changed(path, compressor=compressor)
    # A length of nearly 2 GiB, where 24 bytes belong.
    header = bytes([2, 1, 33, 8]) + (2**31 - 2**20).to_bytes(4, "little")
    (path / "a" / "0").write_bytes(header + bytes(2**20))


BOMBS: dict[str, tuple[Callable[[Path], None], str]] = {
    "left out": (zeros_that_are_left_out, "promises arrays of 2,147,483,668 bytes"),
    "compressed": (compressed, "promises arrays of 2,147,483,668 bytes"),
    "blosc": (longer_in_blosc, "a part has 2,146,435,072 bytes instead of 24"),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_what_would_take_much_memory_is_refused(bomb: str, tmp_path: Path) -> None:
    put, problem = BOMBS[bomb]
    kinds = {"target": {"w": np.ones(2)}, "state": {"step": np.int32(1), "param_states": {"w": {}}}}
    write_checkpoint(tmp_path / "source", {"a": np.ones(3), **kinds}, "orbax")
    put(tmp_path / "source")
    done = start_within(MEMORY, WORDS.split(), tmp_path)
    assert done.returncode == 2, done.stderr
    assert problem in " ".join(done.stderr.split())
    assert os.listdir(tmp_path) == ["source"]


def swelling_node(blocks: int) -> bytes:
    """A node of an OCDBT database, of blocks that each say: 128 KiB of one byte."""
    block = (2 + (2**17 << 3)).to_bytes(3, "little") + b"\0"
    last = (3 + (2**17 << 3)).to_bytes(3, "little") + b"\0"
    frame = b"\x28\xb5\x2f\xfd\x00\x50" + block * (blocks - 1) + last
    length = 4 + 8 + 2 + len(frame) + 4
    return b"\x0c\xdb\x20\xde" + length.to_bytes(8, "little") + b"\0\1" + frame + bytes(4)


@pytest.mark.parametrize("before", [0, 2**22 - 2], ids=["first", "between pieces"])
def test_the_index_of_a_database_is_held_to_the_same(before: int, tmp_path: Path) -> None:
    """Tensorstore reads a node as a whole: one of 96 kB took 2 GB, and 10 seconds."""
    path = save_pytree(tmp_path / "x")
    assert set(contents(path)) == {"opt_state", "params", "step"}
    for blocks, problem in ((1000, None), (5000, "promises arrays of ")):
        (path / "d" / "more").write_bytes(bytes(before) + swelling_node(blocks))
        if problem is None:
            assert set(contents(path)) == {"opt_state", "params", "step"}
        else:
            with pytest.raises(CheckpointError, match=problem):
                contents(path)


def test_leaves_that_share_an_array_are_promised_it_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promised, "_WITHOUT_QUESTION", 0)
    monkeypatch.setattr(promised, "_LARGEST_EXPANSION", 10)
    write_checkpoint(tmp_path / "x", {"a": np.ones(2_000)}, "orbax")
    (tmp_path / "x" / "_METADATA").unlink()
    shared = {str(number): "PLACEHOLDER://a" for number in range(100)}
    write_checkpoint(tmp_path / "x" / "checkpoint", shared, "msgpack")
    shutil.copytree(tmp_path / "x", tmp_path / "few")
    (tmp_path / "few" / "checkpoint").unlink()
    write_checkpoint(tmp_path / "few" / "checkpoint", {"0": shared["0"]}, "msgpack")
    assert set(contents(tmp_path / "few")) == {"0"}
    with pytest.raises(CheckpointError, match="promises arrays of 1,600,000 bytes"):
        contents(tmp_path / "x")


def test_a_deflated_npz_is_held_to_the_same(tmp_path: Path) -> None:
    zeros = np.zeros(2**23)
    # One array would still be let pass.
    for number, problem in ((1, None), (5, "promises arrays of 335,544,320 bytes")):
        arrays = {str(each): zeros for each in range(number)}
        np.savez_compressed(tmp_path / f"{number}.npz", **arrays)
        if problem is None:
            assert contents(tmp_path / f"{number}.npz")["0"].nbytes == zeros.nbytes
        else:
            with pytest.raises(CheckpointError, match=problem):
                contents(tmp_path / f"{number}.npz")


def test_what_blosc_has_compressed_is_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "x", {"a": np.ones(3)}, "orbax")
    shutil.rmtree(tmp_path / "x" / "a")
    compressor = {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}
    values = np.arange(10_000.0)
    tensorstore.open(
        {
            "driver": "zarr",
            "kvstore": {"driver": "file", "path": f"{tmp_path}/x/a/"},
            "metadata": {"compressor": compressor, "chunks": [3_000]},
        },
        create=True,
        dtype=tensorstore.float64,
        shape=values.shape,
    ).result().write(values).result()
    (tmp_path / "x" / "a" / ".zattrs").write_text('{"a": 1, "b": 2}')
    np.testing.assert_array_equal(contents(tmp_path / "x")["a"], values)


def sparse(path: Path, begin: bytes, size: int) -> None:
    """A file that is long and takes no room."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.write(begin)
        file.truncate(size)


def text_of_gigabytes(path: Path) -> None:
    length = 2_500_000_000
    sparse(path, b"\x81\xa1a\xdb" + length.to_bytes(4, "big"), length + 8)


def metadata_of_gigabytes(path: Path) -> None:
    sparse(path / "_METADATA", b"", 2**33)


TOO_LARGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "text": (text_of_gigabytes, "a text or bytes of more than 268,435,456 bytes"),
    "metadata": (metadata_of_gigabytes, "8,589,934,592 bytes are more than any checkpoint has"),
}


@pytest.mark.parametrize("kind", TOO_LARGE)
# Either command reads a checkpoint in the same way, but to convert it takes jax.
@pytest.mark.parametrize(
    "words", each(["inspect source", "convert source new --to train-state"], ["inspect source"])
)
def test_what_no_checkpoint_has_is_refused(kind: str, words: str, tmp_path: Path) -> None:
    put, problem = TOO_LARGE[kind]
    put(tmp_path / "source")
    done = start_within(MEMORY, ["checkpoint", *words.split()], tmp_path)
    assert done.returncode == 2, done.stderr
    assert problem in " ".join(done.stderr.split())
    assert done.stderr.count("\n") < 6


def test_a_text_may_be_as_long_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    longest = 2**16
    monkeypatch.setattr(msgpack_reading, "LONGEST_TEXT", longest)
    for length, is_read in ((longest - 5, True), (longest + 1, False)):
        for text in ("x" * length, b"x" * length):
            (tmp_path / "x").write_bytes(msgpack.packb({"a": text}))
            if is_read:
                assert contents(tmp_path / "x") == {"a": text}
            else:
                with pytest.raises(CheckpointError, match="of more than 65,536 bytes"):
                    contents(tmp_path / "x")


def under_a_long_name(entries: Any) -> bytes:
    """A name of a megabyte above them all: to join it with each takes as many megabytes."""
    return serialization.msgpack_serialize({LONG: entries})


def optimizer() -> dict[str, Any]:
    params = {f"w{number:05}": np.ones(1, np.float32) for number in range(5_000)}
    states = {name: {"momentum": array} for name, array in params.items()}
    state = {"step": np.int32(1), "param_states": {LONG: states}}
    return {"target": {LONG: params}, "state": state}


def test_entries_under_a_long_name_are_told_in_short_lines(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(under_a_long_name({str(n): n for n in range(100_000)}))
    done = start_within(MEMORY, ["checkpoint", "inspect", "source"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100,000 entries" in done.stdout
    assert "… and 99,900 more" in done.stdout
    assert max(map(len, done.stdout.splitlines())) < 300


def test_an_optimizer_under_long_names_is_converted(tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(under_a_long_name(optimizer()))
    words = "checkpoint convert source new --to train-state --optimizer Momentum"
    done = start_within(MEMORY, words.split(), tmp_path)
    assert done.returncode == 0, done.stderr
    before, after = (contents(tmp_path / name)[LONG] for name in ("source", "new"))
    assert after["params"] == before["target"]


def seconds_of_children() -> float:
    """Those that a processor worked for them, which others on the machine do not lengthen much."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("number", "leaf"),
    [(999_000, 1), (300_000, np.ones(1, np.float32))],
    ids=["numbers", "arrays"],
)
def test_a_million_entries_are_shown_soon(number: int, leaf: Any, tmp_path: Path) -> None:
    (tmp_path / "source").write_bytes(
        serialization.msgpack_serialize({f"w{place}": leaf for place in range(number)})
    )
    begin = seconds_of_children()
    done = start_within(2 * MEMORY, ["checkpoint", "inspect", "source"], tmp_path)
    assert seconds_of_children() - begin < SECONDS
    assert done.returncode == 0, done.stderr
    assert f"… and {number - 100:,} more" in done.stdout
    assert len(done.stdout) < 10_000
