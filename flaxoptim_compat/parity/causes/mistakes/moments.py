"""How the moments start, how they are corrected, and what they are kept in."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.blocks import with_count
from flaxoptim_compat.parity.causes.mistake import EXACTLY, mistake
from flaxoptim_compat.parity.causes.recipe import Recipe

_CORRECTED = (optim.Adam, optim.AdaBelief, optim.LAMB)
# After so many steps beta^t is 0, and there is nothing left to correct.
_FOREVER = 2**30


@mistake(
    "initial-accumulator",
    (optim.Adagrad,),
    says="starts the sum of squares at 0.1, as optax.adagrad does; flax.optim starts at 0",
    remedy=f"initial_accumulator_value=0.0; for eps outside the root as well, {EXACTLY}",
)
def _sum_of_squares(recipe: Recipe) -> Recipe | None:
    return recipe.with_starts(G=0.1)


@mistake(
    "initial-accumulator",
    (optim.RMSProp,),
    says="starts the average of squares at 1, as TensorFlow does; flax.optim starts at 0",
    remedy="optax.rmsprop(..., initial_scale=0.0)",
)
def _average_of_squares(recipe: Recipe) -> Recipe | None:
    return recipe.with_starts(v=1.0)


def _shifted(steps: int) -> Callable[[Recipe], Recipe | None]:
    def made(recipe: Recipe) -> Recipe | None:
        within = recipe.stages["moments"].within
        shifted = functools.partial(with_count, shift=steps)
        return recipe.replaced("moments", within=(*within, shifted))

    return made


for _steps, _which in (
    (1, "after step t with that of step t + 1"),
    (-1, "with that of step t - 1"),
):
    mistake(
        "bias-correction-off-by-a-step",
        _CORRECTED,
        says=f"corrects the bias of the moments {_which}; flax.optim counts the first step as 1",
        remedy="a count of 0 in the state before the first step, as init makes it",
        slot="correction",
    )(_shifted(_steps))
    mistake(
        "decay-rate-off-by-a-step",
        (optim.Adafactor,),
        says=f"takes the decay of the second moment {_which}; flax.optim counts from 1",
        remedy="a count of 0 in the state before the first step, and decay_offset=0",
        slot="correction",
    )(_shifted(_steps))

mistake(
    "bias-correction-missing",
    _CORRECTED,
    says="does not correct the bias of the moments; flax.optim divides them by 1 - beta^t",
    remedy="optax's own adam, adamw, adabelief or lamb, which do",
    slot="correction",
)(_shifted(_FOREVER))


@mistake(
    "bias-correction-added",
    (optim.RMSProp,),
    says="corrects the bias of the average of squares; flax.optim's RMSProp does not",
    remedy="optax.rmsprop(..., bias_correction=False)",
    slot="correction",
)
def _added(recipe: Recipe) -> Recipe | None:
    # Optax does not export the types of these states.
    averages, deviations = (
        type(scale(bias_correction=True).init(()))
        for scale in (optax.scale_by_rms, optax.scale_by_stddev)
    )
    keeps = {averages: {"nu": "v"}, deviations: {"nu": "v", "mu": "mg"}}
    return recipe.replaced("moments", keeps=keeps).with_arguments("moments", bias_correction=True)


def _fields(*of_optax: str) -> dict[Any, str]:
    """{class: its field that optax keeps under one of these names}"""
    found = {}
    for kind in KINDS:
        for each in kind.formula.stages.values():
            names: Mapping[str, str] = next(iter(each.keeps.values()), {})
            for name in of_optax:
                if name in names:
                    found[kind] = names[name]
    return found


_FIRST = _fields("mu", "trace")
_SECOND = _fields("nu", "sum_of_squares")


def _kept_in(dtype: str, *fields: str) -> Callable[[Recipe], Recipe | None]:
    return lambda recipe: recipe.with_dtypes(**dict.fromkeys(fields, jnp.dtype(dtype)))


def _register_low_precision(dtype: str) -> None:
    for which, fields in (("first", _FIRST), ("second", _SECOND)):
        for kind, field in fields.items():
            mistake(
                "low-precision-moments",
                (kind,),
                says=f"keeps the {which} moment, {field}, in {dtype}",
                remedy="no mu_dtype and no accumulator_dtype, and moments cast to nothing else",
                slot="precision",
                slight=True,
            )(_kept_in(dtype, field))
    for kind in (each for each in KINDS if each in _FIRST and each in _SECOND):
        mistake(
            "low-precision-moments",
            (kind,),
            says=f"keeps both moments in {dtype}",
            remedy="no mu_dtype, and moments cast to nothing else",
            slot="precision",
            slight=True,
        )(_kept_in(dtype, _FIRST[kind], _SECOND[kind]))

    @mistake(
        "low-precision-moments",
        (optim.Adafactor,),
        says=f"keeps the momentum, m, in {dtype}",
        remedy="optax.adafactor(..., dtype_momentum=jnp.float32)",
        slot="precision",
        slight=True,
    )
    def _momentum_of_adafactor(recipe: Recipe) -> Recipe | None:
        return _with_momentum_in(recipe, dtype)


def _with_momentum_in(recipe: Recipe, dtype: str) -> Recipe | None:
    if recipe.settings["beta1"] is None or recipe.settings["dtype_momentum"] == dtype:
        return None
    return recipe.with_settings(dtype_momentum=jnp.dtype(dtype)).with_dtypes(m=jnp.dtype(dtype))


for _dtype in ("bfloat16", "float16"):
    _register_low_precision(_dtype)


@mistake(
    "full-precision-moments",
    (optim.Adafactor,),
    says="keeps the momentum in float32; the definition of flax.optim has another dtype_momentum",
    remedy="optax.adafactor(..., dtype_momentum=...)",
    slot="precision",
    slight=True,
)
def _full_precision(recipe: Recipe) -> Recipe | None:
    return _with_momentum_in(recipe, "float32")
