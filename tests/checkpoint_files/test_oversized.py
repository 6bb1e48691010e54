"""Checkpoints with something in them that is far too large: an answer soon, of a few lines."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat.checkpoint_files import CheckpointError, msgpack_reading
from tests.support.checkpoint_trees import contents
from tests.support.options import each
from tests.support.processes import start_within

MEMORY = 3 * 2**29
SECONDS = 10
LONG = "k" * 10**6


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
