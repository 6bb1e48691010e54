"""The genuine ``flax.nn`` of Flax 0.3.4 running in this process, on the installed jax and flax."""

from __future__ import annotations

import functools
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import jax

from .private_package import WithOldNames, load_private_package
from .wheel import genuine_wheel

# What its files import by names that would lead elsewhere today.
_SUBSTITUTIONS = {
    "from flax.nn.": "from .",
    "from jax.nn import normalize": "from jax.nn import standardize as normalize",
}


@functools.cache
def genuine_nn() -> ModuleType:
    """Return the genuine ``flax.nn`` 0.3.4, loaded as ``genuine_flax_034.nn``."""
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "nn"
        package.mkdir()
        for path in (genuine_wheel("0.3.4") / "flax" / "nn").glob("*.py"):
            source = path.read_text()
            for old, new in _SUBSTITUTIONS.items():
                source = source.replace(old, new)
            (package / path.name).write_text(source)
        nn = load_private_package("genuine_flax_034.nn", package, {})
    for name, module in sys.modules.items():
        if name.startswith("genuine_flax_034.nn"):
            _give_back_what_it_called(module)
    return nn


def _give_back_what_it_called(module: Any) -> None:
    for name, value in (("lax", _LAX), ("random", _RANDOM)):
        if getattr(module, name, None) is getattr(jax, name):
            setattr(module, name, value)
    if hasattr(module, "jax"):
        module.jax = WithOldNames(module.jax, {"lax": _LAX})


def _tie_in(_: Any, value: Any) -> Any:
    """It has done nothing since jax 0.2."""
    return value


def _dynamic_update_slice(operand: Any, update: Any, start_indices: Any) -> Any:
    """It took indices of several dtypes."""
    indices = [jax.numpy.asarray(each, jax.numpy.int32) for each in start_indices]
    return jax.lax.dynamic_update_slice(operand, update, indices)


def _fold_in(key: Any, data: Any) -> Any:
    """It took negative numbers, modulo 2³²: measured with jax 0.4.13."""
    return jax.random.fold_in(key, data % 2**32)


_LAX = WithOldNames(jax.lax, {"tie_in": _tie_in, "dynamic_update_slice": _dynamic_update_slice})
_RANDOM = WithOldNames(jax.random, {"fold_in": _fold_in})
