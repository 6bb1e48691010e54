"""Likely mistakes that flax.optim accepted: accepted with a warning, or refused with an error."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from flaxoptim_compat import deprecation

_strict = os.environ.get("FLAXOPTIM_COMPAT_STRICT", "0") != "0"

_HOW = "For an error instead, use `flaxoptim_compat.strict()` or set FLAXOPTIM_COMPAT_STRICT=1."


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """Refuse, in a block, likely mistakes that flax.optim accepted.

    The block refuses a checkpoint with surplus entries or with arrays of other shapes, gradients of
    other shapes than their parameters, and a list of hyper-parameters of another length than the
    list of optimizers; and the old names of a DualTrainState. Under ``jit`` the setting at the time
    of the trace counts. The environment variable ``FLAXOPTIM_COMPAT_STRICT=1`` does the same for a
    whole program.
    """
    global _strict
    before, _strict = _strict, True
    try:
        yield
    finally:
        _strict = before


def is_strict() -> bool:
    """True if likely mistakes are refused."""
    return _strict


def let_pass(message: str) -> None:
    """Warn of a likely mistake that is accepted, once for each line of the program.

    Args:
      message: sentences that say what is wrong, where, and how the program continues.
    """
    deprecation.warn(
        f"{message} {_HOW}", deprecation.FlaxOptimLeniencyWarning, on_behalf=("flax", "jax")
    )
