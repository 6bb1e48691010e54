"""Extra arguments of a step, such as the loss, and the names that a transformation ignores.

No transformation tells which extra arguments it takes. A chain passes all of them on, and an
argument that no stage takes is lost without an error. Therefore a step is traced with a useless
value in place of an argument. If the trace succeeds, no stage takes the argument.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from typing import Any

import jax
import optax

from flaxoptim_compat.bridge.definition import PyTree

# {owner: the extra arguments that its transformation takes}, so that only the first step traces.
_taken: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


class _Useless:
    """A value that raises an error if it is computed with, called, compared or tested."""

    def __bool__(self) -> bool:
        raise TypeError

    def __eq__(self, other: object) -> bool:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


def update(
    tx: optax.GradientTransformation,
    grads: PyTree,
    opt_state: PyTree,
    params: PyTree = None,
    /,
    **extra_args: Any,
) -> tuple[PyTree, PyTree]:
    """The updates and the new state; a transformation without extra arguments gets none."""
    try:
        # The type does not tell: MultiSteps makes a plain GradientTransformation that takes them.
        inspect.signature(tx.update).bind(grads, opt_state, params, **extra_args)
    except TypeError:
        tx = optax.with_extra_args_support(tx)
    updates_and_state: tuple[PyTree, PyTree] = tx.update(grads, opt_state, params, **extra_args)
    return updates_and_state


def ignored(
    owner: object,
    tx: optax.GradientTransformation,
    grads: PyTree,
    opt_state: PyTree,
    params: PyTree,
    extra_args: Mapping[str, Any],
) -> list[str]:
    """The names of the extra arguments that no stage of a transformation takes.

    The result is remembered for the owner, an object that always makes this transformation.
    """
    taken = _taken.setdefault(owner, set())
    asked = extra_args.keys() - taken

    def runs(**useless: Any) -> bool:
        try:
            jax.eval_shape(
                lambda *args: update(tx, *args, **{**extra_args, **useless}),
                grads,
                opt_state,
                params,
            )
        except Exception:  # a transformation of the user's may raise anything
            return False
        return True

    # A step that fails with the real arguments, too, will raise its own error.
    if not asked or not runs():
        return []
    lost = [name for name in extra_args if name in asked and runs(**{name: _Useless()})]
    taken |= asked.difference(lost)
    return lost
