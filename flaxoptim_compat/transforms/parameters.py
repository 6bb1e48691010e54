"""The error of an update without parameters."""

from __future__ import annotations

from typing import Any


def require_parameters(name: str, params: Any) -> None:
    """Refuse an update without the parameters.

    Raises:
      ValueError: ``params`` is None; the message begins with the name of the transformation.
    """
    if params is None:
        raise ValueError(
            f"{name} needs the parameters: call `tx.update(grads, state, params)` with them."
        )
