"""A known difference between flax.optim and what is taken for it: a mistake that people make."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from flaxoptim_compat.parity.causes.recipe import Recipe

EXACTLY = "flaxoptim_compat.to_optax(definition, params), which is exactly flax.optim's"


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A known difference between flax.optim and what is taken for the same.

    Args:
      key: a short name that does not change.
      kinds: the classes of flax.optim that it can happen to.
      says: what the side with the mistake does, and what flax.optim does; its subject is left out.
      remedy: what to write instead.
      made: the recipe with the mistake in it; None where it makes no sense. By
        default as it is, for a mistake that is made elsewhere.
      slot: two mistakes in one slot exclude each other; that of its own key if it is empty.
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
        """True if it can happen to an optimizer with these settings."""
        return recipe.kind in self.kinds and self.made(recipe) is not None


def settled(value: Any) -> bool:
    """True for a setting that is a number to compare, and not an array or None."""
    return isinstance(value, int | float) and not isinstance(value, bool)
