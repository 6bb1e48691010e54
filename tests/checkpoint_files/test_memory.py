"""Converting needs memory for one array, not for the file."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax import serialization

from flaxoptim_compat.checkpoint_files import chunks, open_checkpoint, write_checkpoint
from tests.support.options import params
from tests.support.processes import output_of

LARGEST = 2**25
MEGABYTE = 2**20

PROGRAM = """
import sys
import tensorstore
from flaxoptim_compat.checkpoint_files import (
    msgpack_writing, npz, open_checkpoint, orbax_reading, orbax_writing, write_checkpoint,
)

def most_so_far():
    # Unlike ru_maxrss, it is not inherited from the process that started this one.
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024

before = most_so_far()
with open_checkpoint("source") as checkpoint:
    write_checkpoint("destination", checkpoint.tree, sys.argv[1])
print(most_so_far() - before)
"""


def arrays() -> dict[str, np.ndarray[Any, Any]]:
    """Arrays of noise, which no compression makes smaller."""
    noise = np.random.default_rng(0).bytes(LARGEST)
    whole = np.frombuffer(noise, np.float32).reshape(-1, 1024)
    return {"a": whole, "b": whole[: len(whole) // 2], "c": whole[len(whole) // 2 :]}


def write_msgpack(path: Path) -> None:
    path.write_bytes(serialization.to_bytes(arrays()))


def write_npz(path: Path, save: Any = np.savez, order: Any = np.ascontiguousarray) -> None:
    with path.open("wb") as file:
        save(file, **{name: order(array) for name, array in arrays().items()})


SOURCES: dict[str, tuple[Callable[[Path], object], float]] = {
    "msgpack": (write_msgpack, 1.0),
    "npz": (write_npz, 1.0),
    "deflated npz": (lambda path: write_npz(path, save=np.savez_compressed), 1.0),
    "npz by columns": (lambda path: write_npz(path, order=np.asfortranarray), 1.0),
    # Tensorstore reads a part of an array and then copies it to its place.
    "orbax": (lambda path: ocp.PyTreeCheckpointer().save(path, arrays()), 2.0),
    "our orbax": (lambda path: write_checkpoint(path, arrays(), "orbax"), 2.0),
}


@pytest.mark.parametrize(
    ("source", "format_"),
    params(
        [("msgpack", "orbax"), *((source, "msgpack") for source in SOURCES)],
        [("msgpack", "orbax"), ("npz by columns", "msgpack"), ("our orbax", "msgpack")],
    ),
)
def test_converting_takes_one_array(source: str, format_: str, tmp_path: Path) -> None:
    save, number = SOURCES[source]
    save(tmp_path / "source")
    taken = int(output_of(["-c", PROGRAM, format_], tmp_path))
    # Beside arrays: 4 MB pieces of a file, the index of a zip file, threads of tensorstore.
    assert taken < number * LARGEST + 20 * MEGABYTE
    # What has been promised: the size of the file and 1.5 arrays.
    assert taken < 2 * LARGEST + 1.5 * LARGEST


def test_opening_reads_no_array(tmp_path: Path) -> None:
    write_msgpack(tmp_path / "source")
    with open_checkpoint(tmp_path / "source"):
        pass
    tracemalloc.start()
    with open_checkpoint(tmp_path / "source") as checkpoint:
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE
        write_checkpoint(tmp_path / "destination", checkpoint.tree, "msgpack")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert LARGEST <= peak < LARGEST + MEGABYTE


def test_arrays_in_chunks_are_joined_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "LARGEST_CHUNK", LARGEST // 2)
    monkeypatch.setattr(serialization, "MAX_CHUNK_SIZE", LARGEST // 2)
    write_msgpack(tmp_path / "source")
    tracemalloc.start()
    with open_checkpoint(tmp_path / "source") as checkpoint:
        write_checkpoint(tmp_path / "destination", checkpoint.tree, "msgpack")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < LARGEST + MEGABYTE
    assert (tmp_path / "destination").read_bytes() == (tmp_path / "source").read_bytes()
