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
from flaxoptim_compat.bridge.trees import leaves_like
from flaxoptim_compat.optim.formula import Chain, Stage, stage
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
        return self.adapt(self._definition.init_param_state(param))

    def adapt(self, state: Any) -> Any:
        """The state of one parameter in the definition as it is with the mistakes."""
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


class _Raw(optim.OptimizerDef):
    """Adds the gradient to the parameter, as ``optax.masked`` has it where the mask is False."""

    formula = Chain(nothing=stage(optax.identity))

    def __init__(self) -> None:
        super().__init__(optim.GradientDescent(0.0).hyper_params)

    def warn_of_removal(self) -> None:
        """Do nothing: nobody wrote this definition."""


class RawWhereUnmatched(optim.MultiOptimizer):
    """A MultiOptimizer that adds the raw gradient to leaves that no traversal selects."""

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """The rest of the leaves have their own definition here."""
        assigned = super().assign(hyper_params, params, eligible)
        taken = {index for each in assigned for index in each.leaves}
        raw = _Raw()
        rest = tuple(index for index in eligible if index not in taken)
        return [*assigned, Assignment(raw, raw.hyper_params, rest, "raw")]


# Which part of a MultiOptimizer, by the indices on the way down to it.
Address = tuple[int, ...]


def parts_of(definition: Any, place: Address = ()) -> list[tuple[Address, Any]]:
    """The definitions of a single kind in a definition, and where they are."""
    if isinstance(definition, optim.MultiOptimizer):
        return [
            part
            for index, each in enumerate(definition.sub_optimizers)
            for part in parts_of(each, (*place, index))
        ]
    if isinstance(definition, optim.WeightNorm):
        return parts_of(definition.wrapped_optimizer, (*place, 0))
    return [(place, definition)]


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
    if isinstance(definition, optim.MultiOptimizer):
        other: Any = copy.copy(definition)
        other.sub_optimizers = tuple(
            with_mistakes(each, mistakes, False, (*place, index))
            for index, each in enumerate(definition.sub_optimizers)
        )
        if raw:
            other.__class__ = RawWhereUnmatched
        return other
    if isinstance(definition, optim.WeightNorm):
        other = copy.copy(definition)
        other.wrapped_optimizer = with_mistakes(
            definition.wrapped_optimizer, mistakes, False, (*place, 0)
        )
        return other
    mine = mistakes.get(place, ())
    return Mistaken(definition, mine) if mine else definition


def with_adapted_state(optimizer: Any, definition: Any) -> Any:
    """An Optimizer that goes on from where it is with a definition that makes mistakes."""
    params, state = optimizer.target, optimizer.state
    leaves = leaves_like(params, state.param_states, "param_states")
    for each in definition.assign(definition.hyper_params, params, range(len(leaves))):
        for index in each.leaves:
            leaves[index] = _adapted(each.definition, leaves[index])
    param_states = jax.tree.unflatten(jax.tree.structure(params), leaves)
    return optim.Optimizer(definition, optim.OptimizerState(state.step, param_states), params)


def _adapted(definition: Any, state: Any) -> Any:
    if isinstance(definition, _Raw):
        return ()
    if isinstance(definition, optim.WeightNorm):
        inner = definition.wrapped_optimizer
        changes = {"direction_state": _adapted(inner, state.direction_state)}
        if not isinstance(state.scale, tuple):
            changes["scale_state"] = _adapted(inner, state.scale_state)
        return state.replace(**changes)
    return definition.adapt(state) if isinstance(definition, Mistaken) else state
