"""A hyper-parameter that was forgotten, so that optax's default holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.mistake import mistake, settled
from flaxoptim_compat.parity.causes.recipe import Recipe

# {class: (what is taken for the same in optax, {hyper-parameter: its argument there})}
NAMESAKES: dict[type, tuple[Callable[..., Any], dict[str, str]]] = {
    optim.Adam: (optax.adam, {"beta1": "b1", "beta2": "b2", "eps": "eps"}),
    optim.AdaBelief: (
        optax.adabelief,
        {"beta1": "b1", "beta2": "b2", "eps": "eps", "eps_root": "eps_root"},
    ),
    optim.Adadelta: (optax.adadelta, {"rho": "rho", "eps": "eps"}),
    optim.Adagrad: (optax.adagrad, {"eps": "eps"}),
    optim.LAMB: (optax.lamb, {"beta1": "b1", "beta2": "b2", "eps": "eps"}),
    optim.LARS: (
        optax.lars,
        {"beta": "momentum", "trust_coefficient": "trust_coefficient", "eps": "eps"},
    ),
    optim.RMSProp: (optax.rmsprop, {"beta2": "decay", "eps": "eps", "centered": "centered"}),
    optim.Adafactor: (
        optax.adafactor,
        {
            "decay_rate": "decay_rate",
            "step_offset": "decay_offset",
            "min_dim_size_to_factor": "min_dim_size_to_factor",
            "multiply_by_parameter_scale": "multiply_by_parameter_scale",
            "clipping_threshold": "clipping_threshold",
            "epsilon1": "eps",
            "factored": "factored",
        },
    ),
}


def _register(kind: type, namesake: Callable[..., Any], name: str, argument: str) -> None:
    default = inspect.signature(namesake).parameters[argument].default
    called = f"optax.{namesake.__name__}"

    @mistake(
        f"default-{name.replace('_', '-')}",
        (kind,),
        says=(
            f"has {argument}={default!r}, the default of {called}; flax.optim's definition has"
            f" {{{name}!r}}"
        ),
        remedy=f"{called}(..., {argument}=...), with the value of the definition",
    )
    def _forgotten(recipe: Recipe) -> Recipe | None:
        value = recipe.settings[name]
        plain = value is None or isinstance(value, bool) or settled(value)
        if not plain or value == default:
            return None
        return recipe.with_settings(**{name: default})


for _kind, (_namesake, _arguments) in NAMESAKES.items():
    for _name, _argument in _arguments.items():
        _register(_kind, _namesake, _name, _argument)


@mistake(
    "default-epsilon2",
    (optim.Adafactor,),
    says="has the least parameter scale 1e-3, which optax.adafactor does not let you choose",
)
def _least_scale(recipe: Recipe) -> Recipe | None:
    value = recipe.settings["epsilon2"]
    return None if value == 1e-3 else recipe.with_settings(epsilon2=1e-3)
