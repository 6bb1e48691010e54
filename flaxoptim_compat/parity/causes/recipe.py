"""An optimizer of flax.optim taken apart, so that a mistake is a change of its settings or order.

The stages are the blocks that the definitions themselves are made of; nothing is computed here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Self

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.parity.causes import blocks
from flaxoptim_compat.transforms import (
    in_float32,
    scale_by_lars_rate,
    scale_by_rate_and_parameter_rms,
    scale_by_sum_of_squares,
    weight_decay,
)

Stage = Callable[[Mapping[str, Any]], optax.GradientTransformation]


@dataclasses.dataclass(frozen=True)
class Recipe:
    """Named stages in their order, and the settings that they are made of.

    Args:
      kind: the class of the definition.
      stages: what is done to a gradient, first to last; ``descent`` is the change of sign.
      settings: the hyper-parameters, and the switches of the blocks of optax.
      dtypes: in which dtype to keep fields of the per-parameter state, if not in their own.
      starts: what to add to fields of the per-parameter state before the first step.
    """

    kind: type
    stages: tuple[str, ...]
    settings: Mapping[str, Any]
    dtypes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    starts: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def with_settings(self, **settings: Any) -> Self:
        """The same with other settings."""
        return dataclasses.replace(self, settings={**self.settings, **settings})

    def with_dtypes(self, **dtypes: Any) -> Self:
        """The same with fields of the state kept in other dtypes."""
        return dataclasses.replace(self, dtypes={**self.dtypes, **dtypes})

    def with_starts(self, **starts: float) -> Self:
        """The same with fields of the state that start higher."""
        return dataclasses.replace(self, starts={**self.starts, **starts})

    def without(self, stage: str) -> Self:
        """The same without a stage."""
        return self.with_stages(*(each for each in self.stages if each != stage))

    def with_stages(self, *stages: str) -> Self:
        """The same with other stages."""
        return dataclasses.replace(self, stages=stages)

    def moved(self, stage: str, after: str | None) -> Self:
        """The same with one stage right after another one; None puts it first."""
        rest = [each for each in self.stages if each != stage]
        rest.insert(0 if after is None else rest.index(after) + 1, stage)
        return self.with_stages(*rest)

    def chain(self) -> optax.GradientTransformation:
        """The optax transformation."""
        made = {**_COMMON, **_STAGES[self.kind]}
        return optax.chain(*(made[stage](self.settings) for stage in self.stages))


def recipe_of(definition: Any, hyper_params: Any) -> Recipe:
    """The recipe of a definition with these hyper-parameters."""
    kind = type(definition)
    settings = {**_SWITCHES.get(kind, {}), **hp.flatten(hyper_params), "count_shift": 0}
    if kind is optim.AdaBelief:
        settings["eps_root"] = settings["eps"]
    if kind is optim.Adafactor:
        settings["dtype_momentum"] = definition.dtype_momentum
        return Recipe(kind, _adafactor_stages(settings), settings)
    return Recipe(kind, _ORDER[kind], settings)


def is_known(kind: type) -> bool:
    """Whether there is a recipe of a class."""
    return kind in _STAGES


def _adafactor_stages(settings: Mapping[str, Any]) -> tuple[str, ...]:
    optional = {
        "momentum": settings["beta1"] is not None,
        "decay": settings["weight_decay_rate"] is not None,
    }
    order = ("moments", "clip", "rate", "momentum", "decay", "descent")
    return tuple(stage for stage in order if optional.get(stage, True))


def _adam(s: Mapping[str, Any]) -> optax.GradientTransformation:
    return blocks.with_count(
        optax.scale_by_adam(b1=s["beta1"], b2=s["beta2"], eps=s["eps"], eps_root=s["eps_root"]),
        s["count_shift"],
    )


def _adabelief(s: Mapping[str, Any]) -> optax.GradientTransformation:
    return blocks.with_count(
        optax.scale_by_belief(b1=s["beta1"], b2=s["beta2"], eps=s["eps"], eps_root=s["eps_root"]),
        s["count_shift"],
    )


def _rmsprop(s: Mapping[str, Any]) -> optax.GradientTransformation:
    scale = optax.scale_by_stddev if s["centered"] else optax.scale_by_rms
    return scale(
        decay=s["beta2"],
        eps=s["eps"],
        eps_in_sqrt=s["eps_in_sqrt"],
        bias_correction=s["bias_correction"],
    )


def _adagrad(s: Mapping[str, Any]) -> optax.GradientTransformation:
    if s["eps_in_sqrt"]:
        return optax.scale_by_rss(initial_accumulator_value=0.0, eps=s["eps"])
    return scale_by_sum_of_squares(1.0, s["eps"])


def _adafactor(s: Mapping[str, Any]) -> optax.GradientTransformation:
    moments = optax.scale_by_factored_rms(
        factored=s["factored"],
        decay_rate=s["decay_rate"],
        step_offset=s["step_offset"],
        min_dim_size_to_factor=s["min_dim_size_to_factor"],
        epsilon=s["epsilon1"],
    )
    return blocks.with_count(in_float32(moments), s["count_shift"])


def _clip(s: Mapping[str, Any]) -> optax.GradientTransformation:
    threshold = s["clipping_threshold"]
    return optax.identity() if threshold is None else optax.clip_by_block_rms(threshold)


def _adafactor_rate(s: Mapping[str, Any]) -> optax.GradientTransformation:
    if not s["multiply_by_parameter_scale"]:
        return optax.scale(s["learning_rate"])
    return scale_by_rate_and_parameter_rms(s["learning_rate"], s["epsilon2"])


def _layer_rate(s: Mapping[str, Any]) -> optax.GradientTransformation:
    return scale_by_lars_rate(1.0, s["weight_decay"], s["trust_coefficient"], s["eps"])


def _decay(s: Mapping[str, Any]) -> optax.GradientTransformation:
    return weight_decay(s["weight_decay"])


_COMMON: dict[str, Stage] = {
    "decay": _decay,
    "rate": lambda s: optax.scale(s["learning_rate"]),
    "descent": lambda s: optax.scale(-1.0),
    "momentum": lambda s: optax.trace(decay=s["beta"], nesterov=s["nesterov"]),
    "scheduled_rate": lambda s: blocks.scale_by_table(s["rates"], s["rates_from"]),
}
_STAGES: dict[type, dict[str, Stage]] = {
    optim.GradientDescent: {},
    optim.Momentum: {},
    optim.Adam: {"moments": _adam},
    optim.AdaBelief: {"moments": _adabelief},
    optim.RMSProp: {"moments": _rmsprop},
    optim.Adagrad: {"moments": _adagrad},
    optim.Adadelta: {"moments": lambda s: optax.scale_by_adadelta(rho=s["rho"], eps=s["eps"])},
    optim.LAMB: {
        "moments": _adam,
        "trust": lambda s: blocks.lamb_trust_ratio(s["zero_parameters_move"]),
    },
    optim.LARS: {
        "layer_rate": _layer_rate,
        "trust": lambda s: optax.scale_by_trust_ratio(
            trust_coefficient=s["trust_coefficient"], eps=s["eps"]
        ),
        "still_where_zero": lambda s: blocks.still_where_zero(),
    },
    optim.Adafactor: {
        "moments": _adafactor,
        "clip": _clip,
        "rate": _adafactor_rate,
        "momentum": lambda s: optax.ema(
            s["beta1"], debias=False, accumulator_dtype=s["dtype_momentum"]
        ),
        "decay": lambda s: optax.add_decayed_weights(s["weight_decay_rate"]),
    },
}
_ORDER: dict[type, tuple[str, ...]] = {
    optim.GradientDescent: ("rate", "descent"),
    optim.Momentum: ("decay", "momentum", "rate", "descent"),
    optim.Adam: ("moments", "decay", "rate", "descent"),
    optim.AdaBelief: ("moments", "decay", "rate", "descent"),
    optim.RMSProp: ("moments", "rate", "descent"),
    optim.Adagrad: ("moments", "rate", "descent"),
    optim.Adadelta: ("moments", "decay", "rate", "descent"),
    optim.LAMB: ("moments", "decay", "trust", "rate", "descent"),
    optim.LARS: ("layer_rate", "rate", "momentum", "descent"),
}
# What the blocks of optax can also do, as flax.optim has it.
_SWITCHES: dict[type, dict[str, Any]] = {
    optim.Adam: {"eps_root": 0.0},
    optim.LAMB: {"eps_root": 0.0, "zero_parameters_move": False},
    optim.RMSProp: {"eps_in_sqrt": False, "bias_correction": False},
    optim.Adagrad: {"eps_in_sqrt": False},
}
