"""Definitions with known mistakes, which can stand on a side of a comparison."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.definition import Assignment, Values
from flaxoptim_compat.optim.formula import Chain, Stage
from flaxoptim_compat.parity.causes.mistake import Mistake
from flaxoptim_compat.parity.causes.recipe import Recipe, recipe_of


class Mistaken(optim.OptimizerDef):
    """A definition with mistakes in it.

    Args:
      definition: a definition of a single kind, not a MultiOptimizer or WeightNorm.
      mistakes: the mistakes.
    """

    def __init__(self, definition: optim.OptimizerDef, mistakes: Sequence[Mistake]) -> None:
        self._definition = definition
        self._mistakes = tuple(mistakes)
        super().__init__(definition.hyper_params)

    def warn_of_removal(self) -> None:
        """Do nothing: nobody wrote this definition."""

    @property
    def formula(self) -> Chain:  # type: ignore[override]
        """The formula of the definition, with the mistakes."""
        plain: Any = self._definition.formula
        usual = self.recipe(self.values(self.hyper_params))
        return _WithMistakes(self.recipe, plain.state, **usual.stages)

    def recipe(self, values: Values) -> Recipe:
        """The recipe of the definition with the mistakes, and the values of a step."""
        recipe = recipe_of(self._definition, values)
        for mistake in self._mistakes:
            recipe = mistake.made(recipe) or recipe
        return recipe

    def values(self, hyper_params: Any) -> Values:
        """The values for the formula of the definition."""
        return self._definition.values(hyper_params)

    def init_param_state(self, param: Any) -> Any:
        """The state of one parameter, with the changes by the mistakes."""
        state = self._definition.init_param_state(param)
        recipe = self.recipe(self.values(self.hyper_params))
        fields = {name: getattr(state, name) for name in {*recipe.dtypes, *recipe.starts}}
        for name, value in recipe.starts.items():
            fields[name] = fields[name] + jnp.asarray(value, jnp.result_type(fields[name]))
        for name, dtype in recipe.dtypes.items():
            fields[name] = fields[name].astype(dtype)
        return dataclasses.replace(state, **fields) if fields else state


class _WithMistakes(Chain):
    """A formula with mistakes that depend on the values of a step."""

    def __init__(self, recipe: Callable[[Values], Recipe], state: Any, /, **stages: Stage) -> None:
        super().__init__(state, **stages)
        self._recipe = recipe

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The chain with the mistakes."""
        return self._recipe(values).chain()


# ``RawWhereUnmatched`` makes this mistake, which is in no single definition.
RAW = Mistake(
    "raw-gradient-on-unmatched",
    (optim.MultiOptimizer,),
    says=(
        "adds the raw gradient to parameters that no traversal selects, as a chain of optax.masked"
        " does; flax.optim leaves them alone"
    ),
    remedy='optax.partition({..., "frozen": optax.set_to_zero()}, labels)',
    slot="raw",
)


# The rate -1 adds the gradient, as ``optax.masked`` does where the mask is False.
_UP = optim.GradientDescent(-1.0)


class RawWhereUnmatched(optim.MultiOptimizer):
    """A MultiOptimizer that adds the raw gradient to leaves that no traversal selects."""

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """The assignments of the traversals, and one more for the leaves that none selects."""
        assigned = super().assign(hyper_params, params, eligible)
        taken = {index for each in assigned for index in each.leaves}
        unmatched = tuple(index for index in eligible if index not in taken)
        return [*assigned, Assignment(_UP, _UP.hyper_params, unmatched, "raw")]


# The indices that lead to a part of a MultiOptimizer.
Address = tuple[int, ...]


def _inner(definition: Any) -> Sequence[Any]:
    """The definitions inside a definition; none in one of a single kind."""
    if isinstance(definition, optim.WeightNorm):
        return [definition.wrapped_optimizer]
    return definition.sub_optimizers if isinstance(definition, optim.MultiOptimizer) else []


def parts_of(definition: Any, place: Address = ()) -> list[tuple[Address, Any]]:
    """The definitions of a single kind in a definition, with their addresses."""
    inner = _inner(definition)
    parts = [part for i, each in enumerate(inner) for part in parts_of(each, (*place, i))]
    return parts if inner else [(place, definition)]


def with_mistakes(
    definition: Any, mistakes: Mapping[Address, Sequence[Mistake]], raw: bool, place: Address = ()
) -> Any:
    """A definition with mistakes in its parts.

    Args:
      definition: the definition.
      mistakes: the mistakes in each part.
      raw: whether to add the raw gradient where no traversal selects a leaf.
      place: the address of the definition.
    """
    inner = [
        with_mistakes(each, mistakes, False, (*place, index))
        for index, each in enumerate(_inner(definition))
    ]
    if not inner:
        made_here = mistakes.get(place, ())
        return Mistaken(definition, made_here) if made_here else definition
    mistaken: Any = copy.copy(definition)
    if isinstance(definition, optim.WeightNorm):
        (mistaken.wrapped_optimizer,) = inner
    else:
        mistaken.sub_optimizers = tuple(inner)
    if raw:
        mistaken.__class__ = RawWhereUnmatched
    return mistaken


def with_adapted_state(optimizer: Any, definition: Any) -> Any:
    """The Optimizer, continued with a definition that makes mistakes."""
    params, state = optimizer.target, optimizer.state
    begins, usual = (
        each.init_state(params).param_states for each in (definition, optimizer.optimizer_def)
    )
    rows = zip(*map(jax.tree.leaves, (begins, usual, state.param_states)), strict=True)
    # A mistake changes a later state by as much as the first one.
    leaves = [
        (old + (begin - plain)).astype(old.dtype if begin.dtype == plain.dtype else begin.dtype)
        for begin, plain, old in rows
    ]
    param_states = jax.tree.unflatten(jax.tree.structure(begins), leaves)
    return optim.Optimizer(definition, optim.OptimizerState(state.step, param_states), params)
