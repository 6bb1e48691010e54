"""Calls of a SummaryWriter, with every form of argument that Flax's takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np


def random(*shape: int) -> np.ndarray[Any, Any]:
    """Numbers from -0.1 to 1.1, the same in every run."""
    return np.random.RandomState(sum(shape)).rand(*shape) * 1.2 - 0.1


IMAGES = {
    "[H,W]": random(3, 4),
    "[H,W,1]": random(3, 4, 1),
    "[H,W,3]": random(3, 4, 3).astype(np.float32),
    "[K,H,W]": random(2, 3, 4),
    "[K,H,W,1]": random(2, 3, 4, 1),
    "[K,H,W,2]": random(1, 3, 4, 2),
    "[K,H,W,3]": random(5, 2, 3, 3),
    "[K,H,W,4]": random(1, 3, 4, 4).astype(np.float16),
    "none": np.zeros((0, 2, 3, 3)),
    "uint8": np.arange(0, 256, 5, dtype=np.uint8).reshape(4, 13),
    "int8": np.arange(-128, 127, 5, dtype=np.int8).reshape(3, 17),
    "int16": np.arange(-32768, 32767, 1213, dtype=np.int16).reshape(5, 11),
    "uint16": np.arange(0, 65535, 1213, dtype=np.uint16).reshape(5, 11),
    "int64": np.array([[0, 255, 2**40], [2**56, 2**62, 2**63 - 1]]),
    "halves": np.arange(0, 256, 5).reshape(4, 13) / 255,
    "not finite": np.array([[np.inf, -np.inf], [np.nan, 1e30]]),
}
SOUNDS = {
    "mono": random(4, 5, 1) * 2 - 1,
    "stereo": random(1, 5, 2),
    "too loud": np.array([[[-7.0], [-1.0], [1.0], [7.0], [np.nan]]]),
    "halves": np.arange(-9, 9).reshape(1, -1, 1) / 65536,
    "none": np.zeros((0, 5, 1)),
}
VALUES = {
    "numbers": random(5, 7),
    "float16": np.array([0.1, 0.2, 0.3, 0.7], np.float16),
    "integers": np.arange(31),
    "booleans": np.array([True, False, True]),
    "a list": [1, 2, 2.5],
    "one number": 3.0,
    "equal numbers": np.full(7, 0.1),
    "nothing": np.array([]),
    "NaN": np.array([0.0, np.nan]),
    "infinity": np.array([0.0, 1.0, np.inf]),
}
NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
TENSORS = {
    "int": 1,
    "large int": 2**40,
    "float": 0.1,
    "bool": True,
    "str": "é",
    "bytes": b"\xff",
    "strings": ["a", "bb"],
    "strings in an array": np.array([["a", "bb"]]),
    "list": [[1, 2], [3, 4]],
    "nothing": np.zeros((0, 3)),
    **{name: np.array([0, 1]).astype(name) for name in NUMBERS},
}
HPARAMS: dict[str, Any] = {
    "int": 1,
    "float": 0.5,
    "str": "x",
    "bool": True,
    "None": None,
    "list": [1, "x"],
    "array": np.array([1, 2]),
    "numpy": {"float32": np.float32(0.1), "int64": np.int64(3), "bool": np.bool_(True)},
    "nested": {"a": {"b": {"c": 1}, "d": (1, 2)}, "empty": {}},
}


def calls() -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """Methods, their positional arguments and their named ones."""
    for step, value in enumerate([1, 0.1, np.float32(0.1), np.array(3), np.nan, 1e-40, "7.5"]):
        yield "scalar", ("train/loss é", value, step), {}
    for number in (np.int32(7), np.array(8), np.array([9]), -1, 2**40):
        yield "scalar", ("step", 1.0, number), {}
    for name, image in IMAGES.items():
        yield "image", (name, image, 1), {}
    yield "image", ("max_outputs", random(5, 2, 3, 3), 1), {"max_outputs": 4}
    for name, sound in SOUNDS.items():
        yield "audio", (name, sound, 2), {}
    yield "audio", ("named", random(4, 5, 1), 2), {"sample_rate": 8000, "max_outputs": 1}
    for name, values in VALUES.items():
        yield "histogram", (name, values, 3), {}
        yield "histogram", (f"{name} in 4", values, 3), {"bins": 4}
    yield "histogram", ("no bins", random(4, 4), 3), {"bins": 0}
    for text in ("**bold** é\n\n| a | b |\n|---|---|\n| 1 | 2 |", b"\xff", ""):
        yield "text", ("text", text, 4), {}
    for name, tensor in TENSORS.items():
        yield "write", (name, tensor, 5), {}
    yield "write", ("metadata", 1.0, 5), {"metadata": b"\n\x06\n\x04mine"}
    yield "hparams", (HPARAMS,), {}
    yield "hparams", ({},), {}
