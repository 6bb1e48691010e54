"""Mistakes of forgotten hyper-parameters, for which the default of optax holds."""

from __future__ import annotations

import inspect

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.catalogue import DTYPE, PLAIN, RATE, OptimizerRow
from flaxoptim_compat.parity.causes.mistake import Mistake, settled
from flaxoptim_compat.parity.causes.recipe import Recipe

# To forget these is a mistake in another file.
_ELSEWHERE = frozenset({RATE, DTYPE, "weight_decay", "weight_decay_rate", "nesterov"})


def _arguments(row: OptimizerRow, name: str) -> list[str]:
    """The arguments of the optax function for a hyper-parameter that have a default there."""
    if not row.namesake or name in _ELSEWHERE:
        return []
    parameters = inspect.signature(getattr(optax, row.namesake)).parameters
    names = [row.called.get(name, name)]
    if name in row.repeated:
        stages = getattr(optim, row.name).formula.stages.values()
        names = [key for each in stages for key, value in each.arguments.items() if value == name]
    return [each for each in names if each in parameters and parameters[each].default is not None]


def _forgotten(row: OptimizerRow, name: str, argument: str) -> Mistake:
    """The mistake of leaving out an argument of the optax function."""
    function = getattr(optax, row.namesake)
    default = inspect.signature(function).parameters[argument].default
    called = f"optax.{row.namesake}"

    def made(recipe: Recipe) -> Recipe | None:
        value = recipe.settings[name]
        plain = value is None or isinstance(value, bool) or settled(value)
        if not plain or value == default:
            return None
        if name in row.repeated:
            return recipe.with_arguments("moments", **{argument: default})
        return recipe.with_settings(**{name: default})

    # Where two arguments are one hyper-parameter, each can be forgotten by itself.
    forgotten = argument if name in row.repeated else name
    return Mistake(
        f"default-{forgotten.replace('_', '-')}",
        (getattr(optim, row.name),),
        says=(
            f"has {argument}={default!r}, the default of {called}; flax.optim's definition has"
            f" {{{name}!r}}"
        ),
        remedy=f"{called}(..., {argument}=...), with the value of the definition",
        made=made,
    )


MISTAKES = (
    *(
        _forgotten(row, name, argument)
        for row in PLAIN
        for name in row.hyper_params
        for argument in _arguments(row, name)
    ),
    Mistake(
        "default-epsilon2",
        (optim.Adafactor,),
        says="has the least parameter scale 1e-3, which optax.adafactor does not let you choose",
        made=lambda recipe: (
            None if recipe.settings["epsilon2"] == 1e-3 else recipe.with_settings(epsilon2=1e-3)
        ),
    ),
)
