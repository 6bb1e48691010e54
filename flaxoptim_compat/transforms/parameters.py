"""The error of an update that is not given the parameters."""

from __future__ import annotations

from typing import Any


def require_parameters(name: str, params: Any) -> None:
    """Raise the ValueError of a transformation that cannot do without parameters."""
    if params is None:
        raise ValueError(
            f"{name} needs the parameters: give them to update, tx.update(grads, state, params)."
        )
