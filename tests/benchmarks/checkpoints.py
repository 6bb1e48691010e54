"""Saving, loading and converting checkpoints, beside what flax takes for the same."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings
from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import parameters
from tests.benchmarks.subjects import GENUINE, OURS, subjects
from tests.benchmarks.timing import interleaved

BARS = (Bar(OURS, GENUINE, 1.1),)
READ_AND_WRITE = "read + write"
CONVERTED = (Bar(OURS, READ_AND_WRITE, 1.3),)
OPTIMIZERS = ("Adam", "MultiOptimizer")
MODELS: dict[str, tuple[int, tuple[int, ...]]] = {
    "1000 × 8": (1000, (8,)),
    "100 × 64²": (100, (64, 64)),
    "4 × 2048²": (4, (2048, 2048)),
}
# Checkpoints of Adam: three arrays for each leaf.
FILES: dict[str, tuple[int, tuple[int, ...]]] = {
    "22 × 4 MB": (22, (1_000_000,)),
    "1000 × 88 kB": (1000, (22_000,)),
    "1000 × 64 bytes": (1000, (16,)),
}
_SMALL_ARRAYS = (
    "A file of next to nothing but names: the limit is reading and writing those in Python, 0.1 ms"
    " for each parameter, where msgpack has C."
)


def measure(effort: Effort) -> Iterator[Measurement]:
    """Save and load in memory, then from file to file."""
    for model, (leaves, shape) in list(MODELS.items())[: 2 if effort.quick else None]:
        params = parameters(leaves, shape)
        for name in OPTIMIZERS:
            effort.report(f"{name}, {model}")
            objects = {label: each.create(params) for label, each in subjects(name).items()}
            for work, functions in (("save", _saving(objects)), ("load", _loading(objects))):
                setting = f"{name}, {model}, msgpack"
                samples = interleaved(functions, effort.rounds(30))
                yield Measurement("checkpoints", f"{work}, {setting}", "s", samples, BARS)
    for file in list(FILES)[-1:] if effort.quick else FILES:
        effort.report(f"convert, {file}")
        samples = _converting(effort, *FILES[file])
        note = _SMALL_ARRAYS if file == list(FILES)[-1] else ""
        yield Measurement(
            "checkpoints", f"convert, Adam, {file}, msgpack", "s", samples, CONVERTED, note
        )


def _saving(objects: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    return {
        label: functools.partial(serialization.to_bytes, content)
        for label, content in objects.items()
    }


def _loading(objects: Mapping[str, Any]) -> dict[str, Callable[[], Any]]:
    def loading(content: Any) -> Callable[[], None]:
        data = serialization.to_bytes(content)

        def load() -> None:
            # Not returned: to wait for the arrays of a tree is no part of loading it.
            serialization.from_bytes(content, data)

        return load

    return {label: loading(content) for label, content in objects.items()}


def _converting(effort: Effort, leaves: int, shape: tuple[int, ...]) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as folder:
        source, destination = Path(folder, "legacy"), Path(folder, "new")
        legacy = optim.Adam(1e-3).create(parameters(leaves, shape))
        source.write_bytes(serialization.to_bytes(legacy))
        del legacy

        def convert() -> None:
            destination.unlink(missing_ok=True)
            convert_checkpoint(source, destination, ConversionSettings("train-state", name="Adam"))

        def read_and_write() -> None:
            destination.unlink(missing_ok=True)
            tree = serialization.msgpack_restore(source.read_bytes())
            with destination.open("wb") as file:
                file.write(serialization.msgpack_serialize(tree, in_place=True))
                file.flush()
                # As a conversion does, so that nothing is lost if the machine stops.
                os.fsync(file.fileno())

        functions = {OURS: convert, READ_AND_WRITE: read_and_write}
        return interleaved(functions, effort.rounds(15))
