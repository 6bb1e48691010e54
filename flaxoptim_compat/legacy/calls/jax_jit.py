"""Old calls of functions of jax that need more than other names for their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Before jax 0.4.7 numbers of arguments came first, and after it shardings.
_ORDERS = (
    "static_argnums device backend donate_argnums inline",
    "in_shardings out_shardings static_argnums static_argnames donate_argnums keep_unused device"
    " backend inline abstracted_axes",
)


def has_numbers_first(*args: Any, **_: Any) -> bool:
    """Whether numbers come after the function, where a jax of this time takes shardings."""
    return len(args) > 1 and _numbers(args[1])


def jit(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``jax.jit`` with positional arguments after the function, of which there were two orders."""
    fun, *others = args or (kwargs.pop("fun"),)
    order = _ORDERS[0 if has_numbers_first(fun, *others) else 1].split()
    named = dict(zip(order, others, strict=False))
    if len(named) < len(others) or named.keys() & kwargs.keys():
        return original(*args, **kwargs)
    named.update(kwargs)
    if named.get("abstracted_axes") is None:
        named.pop("abstracted_axes", None)
    return original(fun, **named)


def _numbers(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(isinstance(each, int) for each in value)
    return isinstance(value, int)
