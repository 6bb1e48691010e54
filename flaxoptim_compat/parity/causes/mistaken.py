"""A definition with known mistakes in it: a side to compare with like any other."""

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
      definition: of a single kind, not a MultiOptimizer or WeightNorm.
      mistakes: what to do wrong.
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
        """The definition's state of one parameter, with what the mistakes make of it."""
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


# ``RawWhereUnmatched`` makes this one: it is in no single optimizer.
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


# Down the gradient at the rate -1 is up it, as ``optax.masked`` has it where the mask is False.
_UP = optim.GradientDescent(-1.0)


class RawWhereUnmatched(optim.MultiOptimizer):
    """A MultiOptimizer that adds the raw gradient to leaves that no traversal selects."""

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """The rest of the leaves have their own definition here."""
        assigned = super().assign(hyper_params, params, eligible)
        taken = {index for each in assigned for index in each.leaves}
        rest = tuple(index for index in eligible if index not in taken)
        return [*assigned, Assignment(_UP, _UP.hyper_params, rest, "raw")]


# Which part of a MultiOptimizer, by the indices on the way down to it.
Address = tuple[int, ...]


def _inner(definition: Any) -> Sequence[Any]:
    """The definitions inside of one; none in one of a single kind."""
    if isinstance(definition, optim.WeightNorm):
        return [definition.wrapped_optimizer]
    return definition.sub_optimizers if isinstance(definition, optim.MultiOptimizer) else []


def parts_of(definition: Any, place: Address = ()) -> list[tuple[Address, Any]]:
    """The definitions of a single kind in a definition, and where they are."""
    inner = _inner(definition)
    parts = [part for i, each in enumerate(inner) for part in parts_of(each, (*place, i))]
    return parts if inner else [(place, definition)]


def with_mistakes(
    definition: Any, mistakes: Mapping[Address, Sequence[Mistake]], raw: bool, place: Address = ()
) -> Any:
    """A definition with mistakes in its parts.

    Args:
      definition: the definition.
      mistakes: what to do wrong in which part.
      raw: whether to add the raw gradient where no traversal selects a leaf.
      place: where the definition is.
    """
    inner = [
        with_mistakes(each, mistakes, False, (*place, index))
        for index, each in enumerate(_inner(definition))
    ]
    if not inner:
        mine = mistakes.get(place, ())
        return Mistaken(definition, mine) if mine else definition
    other: Any = copy.copy(definition)
    if isinstance(definition, optim.WeightNorm):
        (other.wrapped_optimizer,) = inner
    else:
        other.sub_optimizers = tuple(inner)
    if raw:
        other.__class__ = RawWhereUnmatched
    return other


def with_adapted_state(optimizer: Any, definition: Any) -> Any:
    """An Optimizer that goes on from where it is with a definition that makes mistakes."""
    params, state = optimizer.target, optimizer.state
    begins, usual = (
        each.init_state(params).param_states for each in (definition, optimizer.optimizer_def)
    )
    rows = zip(*map(jax.tree.leaves, (begins, usual, state.param_states)), strict=True)
    # A mistake that shows in the first state is in a later one by as much.
    leaves = [
        (old + (begin - plain)).astype(old.dtype if begin.dtype == plain.dtype else begin.dtype)
        for begin, plain, old in rows
    ]
    param_states = jax.tree.unflatten(jax.tree.structure(begins), leaves)
    return optim.Optimizer(definition, optim.OptimizerState(state.step, param_states), params)
