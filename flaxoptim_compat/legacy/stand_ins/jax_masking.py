"""``jax.mask`` and ``jax.interpreters.masking``: computing with padded arrays of unknown sizes.

Jax has no such function any more. Packages with rules for it can be imported; the call of a masked
function raises an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

masking_rules: dict[Any, Any] = {}


def mask(fun: Callable[..., Any], in_shapes: Any, out_shape: Any = None) -> Callable[..., Any]:
    """Return a function that raises an error with advice."""
    del in_shapes, out_shape

    def masked(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"{getattr(fun, '__name__', fun)} is a function of jax.mask, which is gone since"
            " jax 0.2.27. Pad the arrays, and pass their lengths along."
        )

    return masked


def defvectorized(primitive: Any) -> None:
    """Do nothing: the primitive worked on each element, of one array or of several."""


defnaryop = defvectorized


def shape_as_value(shape: Any) -> Any:
    """Return the shape, which has no unknown sizes."""
    return shape


padded_shape_as_value = shape_as_value
