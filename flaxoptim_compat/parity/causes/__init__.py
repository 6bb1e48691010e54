"""The cause of a difference: known mistakes, tried until one or two explain the difference.

The mistakes are in ``mistakes``, in files named for their subject, such as ``eps``. Each mistake is
a change of the ``recipe`` of an optimizer of flax.optim. ``mistaken`` makes a definition with
mistakes, which can stand on a side; ``race`` runs many such definitions beside the other side, and
``search`` says which of them keeps up with that side. Where no side is of flax.optim, ``of_optax``
finds the definition that a side could be, and ``starts`` compares the first states of both sides.
"""

from __future__ import annotations

import warnings
from typing import Any

import optax

from flaxoptim_compat.parity.causes.context import Context, Legacy, fitting, legacy_side
from flaxoptim_compat.parity.causes.of_optax import definition_of
from flaxoptim_compat.parity.causes.search import explained
from flaxoptim_compat.parity.causes.starts import from_starts
from flaxoptim_compat.parity.findings import Cause

__all__ = ["Context", "find", "fitting"]


def find(first: Any, second: Any, context: Context) -> tuple[Cause, ...]:
    """The causes that together explain why two sides part; empty if no known mistake does.

    A mistake is made in the side whose settings are known, one of flax.optim. The mistake is a
    cause if the result keeps up with the other side, and parts from the side without the mistake.
    Where no side is of flax.optim, the first states are compared, and then the definition that a
    transformation of optax could be is taken for the known side.

    Args:
      first: the first side of the comparison, as it was given.
      second: the second side.
      context: the comparison.
    """
    try:
        return _causes((first, second), context)
    except Exception as error:  # the user's code may run in the comparison, but not here
        text = f"The search for a cause failed: {type(error).__name__}: {error}"
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return ()


def _causes(subjects: tuple[Any, Any], context: Context) -> tuple[Cause, ...]:
    known = [legacy_side(each) for each in subjects]
    to_optax = None in known
    if known == [None, None]:
        causes = from_starts(subjects, context)
        if causes:
            return causes
        known = [_on_optax(*each) for each in zip(subjects, ("first", "second"), strict=True)]
        to_optax = False
    for index, side in enumerate(known):
        causes = () if side is None else explained(subjects, index, side, context, to_optax)
        if causes:
            return causes
    return ()


def _on_optax(subject: Any, ordinal: str) -> Legacy | None:
    """A transformation of optax as it would be in flax.optim."""
    if not isinstance(subject, optax.GradientTransformation):
        return None
    definition = definition_of(subject)
    return None if definition is None else Legacy(definition, called=f"the {ordinal} side")
