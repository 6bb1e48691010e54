"""Extra arguments of a step, such as the loss: which of them a transformation of optax takes.

No transformation says so: a chain hands on whatever it is given, and what nobody in it takes is
lost without a word. So a step is traced with something in the place of an argument that is good for
nothing. Where that does no harm, nobody takes the argument.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Mapping
from typing import Any

import jax
import optax

from flaxoptim_compat.bridge.definition import PyTree

# The names that are known to be taken, so that this is asked in the first step only.
_taken: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()


class _Useless:
    """A value that cannot be computed with, called, compared or tested."""

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
    """The updates and the new state, by a transformation that perhaps takes no extra arguments."""
    try:
        # By the signature: MultiSteps makes a plain GradientTransformation, and takes them.
        inspect.signature(tx.update).bind(grads, opt_state, params, **extra_args)
    except TypeError:
        tx = optax.with_extra_args_support(tx)
    found: tuple[PyTree, PyTree] = tx.update(grads, opt_state, params, **extra_args)
    return found


def ignored(
    owner: object,
    tx: optax.GradientTransformation,
    grads: PyTree,
    opt_state: PyTree,
    params: PyTree,
    extra_args: Mapping[str, Any],
) -> list[str]:
    """The names of the extra arguments that nobody in a transformation takes.

    Args:
      owner: what always makes this transformation, by which the answer is remembered.
      tx: the transformation.
      grads: the gradients of the step.
      opt_state: its state.
      params: the parameters.
      extra_args: the arguments of the step by name.
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
        except Exception:  # whatever a transformation of the user's makes of it
            return False
        return True

    # What fails in any case says for itself what it lacks.
    if not asked or not runs():
        return []
    lost = [name for name in extra_args if name in asked and runs(**{name: _Useless()})]
    taken |= asked.difference(lost)
    return lost
