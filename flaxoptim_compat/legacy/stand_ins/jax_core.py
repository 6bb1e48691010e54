"""``jax.core.axis_frame`` and ``raise_to_shaped``."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax


class AxisFrame(NamedTuple):
    """What was left to read of a named axis.

    Args:
      name: its name.
      size: its size.
    """

    name: Any
    size: int


def axis_frame(axis_name: Any) -> AxisFrame:
    """Look up a named axis.

    Args:
      axis_name: its name.

    Raises:
      NameError: there is no axis of this name here, which is what programs asked for.
    """
    return AxisFrame(axis_name, jax.lax.axis_size(axis_name))


def raise_to_shaped(aval: Any, weak_type: bool | None = None) -> Any:
    """Return an abstract value without the concrete one, which none has any more.

    Args:
      aval: the abstract value.
      weak_type: whether it is to be weakly typed, if not as it is.
    """
    return aval if weak_type is None else aval.update(weak_type=weak_type)
