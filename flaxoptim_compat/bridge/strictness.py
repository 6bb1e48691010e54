"""Likely mistakes that flax.optim let pass: let pass with a warning, or an error."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator

from flaxoptim_compat import deprecation


@dataclasses.dataclass
class _Settings:
    strict: bool


_settings = _Settings(strict=os.environ.get("FLAXOPTIM_COMPAT_STRICT", "0") != "0")

_HOW = "To make it an error, use flaxoptim_compat.strict() or set FLAXOPTIM_COMPAT_STRICT=1."


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Refuse, for a block, what flax.optim let pass and is likely a mistake.

    A block refuses a checkpoint with surplus entries or with arrays of other shapes, gradients of
    other shapes than their parameters, and a list of hyper-parameters of another length than that
    of the optimizers. Under ``jit`` it counts what is set when a step is traced. The environment
    variable ``FLAXOPTIM_COMPAT_STRICT=1`` does the same for a whole program.
    """
    before = _settings.strict
    _settings.strict = True
    try:
        yield
    finally:
        _settings.strict = before


def is_strict() -> bool:
    """True if likely mistakes are refused."""
    return _settings.strict


def let_pass(message: str) -> None:
    """Warn of what is let pass, once for each line of the program.

    Args:
      message: sentences that say what is wrong, where, and what is done with it.
    """
    deprecation.warn(
        f"{message} {_HOW}", deprecation.FlaxOptimLeniencyWarning, on_behalf=("flax", "jax")
    )
