"""A known difference between flax.optim and code that is taken for the same: a mistake."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from flaxoptim_compat.parity.causes.recipe import Recipe

EXACTLY = "flaxoptim_compat.to_optax(definition, params), which is exactly flax.optim's"


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A known difference between flax.optim and code that is taken for the same.

    Args:
      key: a short name that does not change.
      kinds: the classes of flax.optim in which the mistake can be made.
      says: the sentence on what the side with the mistake does, and what flax.optim does, without
        its subject.
      remedy: the code to write instead.
      made: the recipe with the mistake; None where the mistake makes no sense. The default leaves
        the recipe as it is, for a mistake that is made elsewhere.
      slot: two mistakes in one slot exclude each other; "" is a slot named as ``key``.
      slight: whether the effect is no more than rounding to half precision.
    """

    key: str
    kinds: tuple[type, ...]
    _: dataclasses.KW_ONLY
    says: str
    remedy: str = EXACTLY
    made: Callable[[Recipe], Recipe | None] = lambda recipe: recipe
    slot: str = ""
    slight: bool = False

    def concerns(self, recipe: Recipe) -> bool:
        """True if the mistake can be made in an optimizer with these settings."""
        return recipe.kind in self.kinds and self.made(recipe) is not None


def settled(value: Any) -> bool:
    """True for a setting that is a Python number, and not an array or None."""
    return isinstance(value, int | float) and not isinstance(value, bool)
