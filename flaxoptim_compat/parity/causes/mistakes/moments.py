"""Mistakes of moments: how they start, how they are corrected, and their dtype."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.parity.causes.mistake import EXACTLY, Mistake
from flaxoptim_compat.parity.causes.recipe import Recipe

_CORRECTED = (optim.Adam, optim.AdaBelief, optim.LAMB)
# After so many steps beta^t is 0, and there is nothing left to correct.
_FOREVER = 2**30


def _with_count(inner: optax.GradientTransformation, shift: int) -> optax.GradientTransformation:
    """The transformation, with a count that is so many steps ahead."""

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        ahead = state._replace(count=state.count + shift)
        new_updates, new_state = inner.update(updates, ahead, params)
        return new_updates, new_state._replace(count=state.count + 1)

    return optax.GradientTransformation(inner.init, update)


def _shifted(recipe: Recipe, steps: int) -> Recipe:
    within = recipe.stages["moments"].within
    return recipe.replaced("moments", within=(*within, functools.partial(_with_count, shift=steps)))


def _off_by(steps: int, which: str) -> Iterator[Mistake]:
    """The mistakes of counting so many steps more than there were."""
    yield Mistake(
        "bias-correction-off-by-a-step",
        _CORRECTED,
        says=f"corrects the bias of the moments {which}; flax.optim counts the first step as 1",
        remedy="a count of 0 in the state before the first step, as init makes it",
        made=lambda recipe: _shifted(recipe, steps),
        slot="correction",
    )
    yield Mistake(
        "decay-rate-off-by-a-step",
        (optim.Adafactor,),
        says=f"takes the decay of the second moment {which}; flax.optim counts from 1",
        remedy="a count of 0 in the state before the first step, and decay_offset=0",
        made=lambda recipe: _shifted(recipe, steps),
        slot="correction",
    )


def _corrected(recipe: Recipe) -> Recipe:
    # Optax does not export the types of these states.
    averages, deviations = (
        type(scale(bias_correction=True).init(()))
        for scale in (optax.scale_by_rms, optax.scale_by_stddev)
    )
    keeps = {averages: {"nu": "v"}, deviations: {"nu": "v", "mu": "mg"}}
    return recipe.replaced("moments", keeps=keeps).with_arguments("moments", bias_correction=True)


def _fields(*of_optax: str) -> dict[Any, str]:
    """{class: its field that optax keeps under one of some names}"""
    return {
        kind: names[name]
        for kind in KINDS
        for each in kind.formula.stages.values()
        # The first state that a stage may have is the plain one.
        for names in [*each.keeps.values()][:1]
        for name in of_optax
        if name in names
    }


def _with_momentum_in(recipe: Recipe, dtype: str) -> Recipe | None:
    if recipe.settings["beta1"] is None or recipe.settings["dtype_momentum"] == dtype:
        return None
    return recipe.with_settings(dtype_momentum=jnp.dtype(dtype)).with_dtypes(m=jnp.dtype(dtype))


def _in_low_precision(dtype: str) -> Iterator[Mistake]:
    """The mistakes of keeping one moment, or both, in a dtype of half the size."""

    def kept(which: str, kind: type, fields: list[str], no_dtype: str) -> Mistake:
        return Mistake(
            "low-precision-moments",
            (kind,),
            says=f"keeps {which} in {dtype}",
            remedy=f"{no_dtype}, and moments that are cast to no other dtype",
            made=lambda recipe: recipe.with_dtypes(**dict.fromkeys(fields, jnp.dtype(dtype))),
            slot="precision",
            slight=True,
        )

    first, second = _fields("mu", "trace"), _fields("nu", "sum_of_squares")
    for which, moments in (("first", first), ("second", second)):
        for kind, field in moments.items():
            name = f"the {which} moment, {field},"
            yield kept(name, kind, [field], "no mu_dtype and no accumulator_dtype")
    for kind, field in first.items():
        if kind in second:
            yield kept("both moments", kind, [field, second[kind]], "no mu_dtype")
    yield Mistake(
        "low-precision-moments",
        (optim.Adafactor,),
        says=f"keeps the momentum, m, in {dtype}",
        remedy="optax.adafactor(..., dtype_momentum=jnp.float32)",
        made=lambda recipe: _with_momentum_in(recipe, dtype),
        slot="precision",
        slight=True,
    )


MISTAKES = (
    Mistake(
        "initial-accumulator",
        (optim.Adagrad,),
        says="starts the sum of squares at 0.1, as optax.adagrad does; flax.optim starts at 0",
        remedy=f"initial_accumulator_value=0.0; for eps outside the root as well, {EXACTLY}",
        made=lambda recipe: recipe.with_starts(G=0.1),
    ),
    Mistake(
        "initial-accumulator",
        (optim.RMSProp,),
        says="starts the average of squares at 1, as TensorFlow does; flax.optim starts at 0",
        remedy="optax.rmsprop(..., initial_scale=0.0)",
        made=lambda recipe: recipe.with_starts(v=1.0),
    ),
    *_off_by(1, "after step t with that of step t + 1"),
    *_off_by(-1, "with that of step t - 1"),
    Mistake(
        "bias-correction-missing",
        _CORRECTED,
        says="does not correct the bias of the moments; flax.optim divides them by 1 - beta^t",
        remedy="optax.adam, optax.adamw, optax.adabelief or optax.lamb, which correct the bias",
        made=lambda recipe: _shifted(recipe, _FOREVER),
        slot="correction",
    ),
    Mistake(
        "bias-correction-added",
        (optim.RMSProp,),
        says="corrects the bias of the average of squares; flax.optim's RMSProp does not",
        remedy="optax.rmsprop(..., bias_correction=False)",
        made=_corrected,
        slot="correction",
    ),
    *_in_low_precision("bfloat16"),
    *_in_low_precision("float16"),
    Mistake(
        "full-precision-moments",
        (optim.Adafactor,),
        says=(
            "keeps the momentum in float32; the definition of flax.optim has another dtype_momentum"
        ),
        remedy="optax.adafactor(..., dtype_momentum=...)",
        made=lambda recipe: _with_momentum_in(recipe, "float32"),
        slot="precision",
        slight=True,
    ),
)
