"""``jax.custom_transforms`` and its rules, which became ``custom_jvp`` and ``custom_vjp``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp


class CustomTransformsFunction:
    """A function whose derivative can be given afterwards."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.with_rule: Callable[..., Any] = fun

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.with_rule(*args)


def custom_transforms(fun: Callable[..., Any]) -> CustomTransformsFunction:
    """Prepare a function for a derivative of its own; it has its natural one until then."""
    return CustomTransformsFunction(fun)


def defjvp_all(fun: CustomTransformsFunction, custom_jvp: Callable[..., Any]) -> None:
    """Give a function its derivative in forward mode.

    Args:
      fun: the function.
      custom_jvp: takes arguments and tangents, as tuples; returns the value and its tangent.
    """
    with_rule = jax.custom_jvp(_checked("defjvp_all", fun).fun)
    with_rule.defjvp(custom_jvp)
    fun.with_rule = with_rule


def defjvp(fun: CustomTransformsFunction, *jvprules: Callable[..., Any] | None) -> None:
    """Give a function its derivative in forward mode, one argument at a time.

    Args:
      fun: the function.
      *jvprules: for each argument a function of its tangent, the value and all arguments, which
        returns a tangent of the value; None if there is none.
    """
    with_rule = jax.custom_jvp(_checked("defjvp", fun).fun)
    with_rule.defjvps(*jvprules)
    fun.with_rule = with_rule


def defvjp_all(fun: CustomTransformsFunction, custom_vjp: Callable[..., Any]) -> None:
    """Give a function its derivative in reverse mode.

    Args:
      fun: the function.
      custom_vjp: takes the arguments; returns the value and a function from its cotangent to a
        tuple of those of the arguments.
    """

    def forward(*args: Any) -> tuple[Any, Any]:
        return custom_vjp(*args)[0], args

    def backward(args: Any, cotangent: Any) -> Any:
        # What goes from one pass to the other must be arrays today, and a function is none:
        # it is made a second time.
        return tuple(custom_vjp(*args)[1](cotangent))

    with_rule = jax.custom_vjp(_checked("defvjp_all", fun).fun)
    with_rule.defvjp(forward, backward)
    fun.with_rule = with_rule


def defvjp(fun: CustomTransformsFunction, *vjprules: Callable[..., Any] | None) -> None:
    """Give a function its derivative in reverse mode, one argument at a time.

    Args:
      fun: the function.
      *vjprules: for each argument a function of the value's cotangent, the value and all
        arguments, which returns the argument's cotangent; None if that is zero.
    """

    def custom_vjp(*args: Any) -> tuple[Any, Callable[[Any], Any]]:
        value = fun.fun(*args)

        def pull_back(cotangent: Any) -> tuple[Any, ...]:
            return tuple(
                jax.tree.map(jnp.zeros_like, arg) if rule is None else rule(cotangent, value, *args)
                for arg, rule in zip(args, vjprules, strict=False)
            )

        return value, pull_back

    defvjp_all(_checked("defvjp", fun), custom_vjp)


def _checked(name: str, fun: Any) -> CustomTransformsFunction:
    if not isinstance(fun, CustomTransformsFunction):
        raise TypeError(f"{name} takes a function made by custom_transforms, not {type(fun)}.")
    return fun
