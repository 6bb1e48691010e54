"""``flax.nn``, ``flax.deprecated``, and what single modules of Flax have lost."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import ERA, STAND_INS, group, stand_ins

_NN = "flaxoptim_compat.nn"
# Modules of flax.nn, and what serves them.
_PARTS_OF_NN = {
    **{
        part: f"{_NN}.{part}"
        for part in (
            "activation",
            "attention",
            "base",
            "initializers",
            "linear",
            "normalization",
            "pooling",
            "recurrent",
        )
    },
    "stochastic": f"{_NN}.stochasticity",
    "utils": f"{_NN}.base",
}
# Those that Linen has as well.
_IN_LINEN = frozenset(
    {"activation", "attention", "initializers", "linear", "normalization", "pooling", "recurrent"}
)


def _nn(name: str) -> tuple[Entry, ...]:
    # Flax 0.3.6 still had it, as flax.deprecated.nn and, by `from flax import nn`, as flax.nn.
    gone_since = "flax 0.4.0"
    return (
        Entry(name, _NN, gone_since, instead="flax.linen"),
        *(
            Entry(
                f"{name}.{part}",
                served_by,
                gone_since,
                instead=f"flax.linen.{part}" if part in _IN_LINEN else "flax.linen",
            )
            for part, served_by in _PARTS_OF_NN.items()
        ),
    )


_CONV_LSTM = {
    "ConvLSTM": "flax.linen.ConvLSTMCell, whose initialize_carry takes the shape of the input"
}

ENTRIES: tuple[Entry, ...] = (
    *_nn("flax.nn"),
    Entry(
        "flax.deprecated",
        f"{ERA}flax_deprecated",
        "flax 0.4.0",
        instead="flax.linen",
    ),
    *_nn("flax.deprecated.nn"),
    *stand_ins("flax.linen", "flax_linen_conv_lstm", "flax 0.6.4", _CONV_LSTM),
    *stand_ins("flax.linen.recurrent", "flax_linen_conv_lstm", "flax 0.6.4", _CONV_LSTM),
    # What modules of Linen had imported for themselves, and others took from there.
    *group("flax.linen.attention", "jax.nn.initializers", "flax 0.6.5", "zeros"),
    *group(
        "flax.linen.linear",
        "jax.nn.initializers",
        "flax 0.6.5",
        "lecun_normal variance_scaling zeros",
    ),
    *group("flax.linen.recurrent", "jax.nn.initializers", "flax 0.6.5", "orthogonal zeros"),
    Entry("flax.linen.recurrent.Shape", "flax.typing:Shape", "flax 0.8.1"),
    Entry("flax.linen.dtypes.Array", "flax.typing:Array", "flax 0.8.1"),
    Entry("flax.linen.module.Array", "flax.typing:Array", "flax 0.8.1"),
    Entry("flax.core.scope.jax_config", "jax:config", "flax 0.7.5"),
    Entry("flax.jax_utils.config", "jax:config", "flax 0.6.6"),
    *stand_ins(
        "flax.training.checkpoints",
        ERA + "global_device_array",
        "flax 0.6.7",
        {"GlobalDeviceArray": "jax.Array"},
    ),
    *stand_ins("flax.core.lift", "flax_core_lift", "flax 0.6.0", {"named_call": "jax.named_call"}),
    Entry(
        "flax.config",
        f"{STAND_INS}flax_config",
        "flax 0.6.4",
        instead="the object flax.config",
    ),
)
