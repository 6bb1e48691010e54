"""Which optimizer keeps which fields, so that a checkpoint can be read without importing jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

# {fields of the state of one parameter: the optimizers that have exactly these}
LEGACY_KINDS: dict[frozenset[str], tuple[str, ...]] = {
    frozenset(): ("GradientDescent",),
    frozenset({"grad_ema", "grad_sq_ema"}): ("Adam", "AdaBelief", "LAMB"),
    frozenset({"momentum"}): ("Momentum", "LARS"),
    frozenset({"v", "mg"}): ("RMSProp",),
    frozenset({"v"}): ("RMSProp",),  # up to Flax 0.2.2, which knew no centering
    frozenset({"sq_avg", "acc_delta"}): ("Adadelta",),
    frozenset({"G"}): ("Adagrad",),
    frozenset({"v_row", "v_col", "v", "m"}): ("Adafactor",),
}

# {fields of an optax state: those of them that hold a value for every parameter}
OPTAX_STATES: dict[frozenset[str], tuple[str, ...]] = {
    frozenset({"count", "mu", "nu"}): ("mu", "nu"),
    frozenset({"trace"}): ("trace",),
    frozenset({"nu"}): ("nu",),
    frozenset({"mu", "nu"}): ("mu", "nu"),
    frozenset({"e_g", "e_x"}): ("e_g", "e_x"),
    frozenset({"sum_of_squares"}): ("sum_of_squares",),
    frozenset({"count", "v_row", "v_col", "v"}): ("v_row", "v_col", "v"),
    frozenset({"count", "ema"}): ("ema",),
    frozenset({"count", "param_states"}): ("param_states",),
}

# {those fields, of all optax states that a parameter has a part in: the optimizers they belong to}
OPTAX_KINDS: dict[frozenset[tuple[str, ...]], tuple[str, ...]] = {
    frozenset(): ("GradientDescent",),
    frozenset({("count", "mu", "nu")}): ("Adam", "AdaBelief", "LAMB"),
    frozenset({("trace",)}): ("Momentum", "LARS"),
    frozenset({("nu",)}): ("RMSProp",),
    frozenset({("mu", "nu")}): ("RMSProp",),
    frozenset({("e_g", "e_x")}): ("Adadelta",),
    frozenset({("sum_of_squares",)}): ("Adagrad",),
    frozenset({("count", "v", "v_col", "v_row")}): ("Adafactor",),
    frozenset({("count", "v", "v_col", "v_row"), ("count", "ema")}): ("Adafactor",),
}

WEIGHT_NORM_STATE = frozenset({"direction", "scale", "inner_state"})
# Flax before 0.4.0 kept mult in place of the two factors.
WEIGHT_NORM_ENTRIES = (
    frozenset({"direction_state", "scale_state", "direction", "scale"}),
    frozenset({"direction_state", "scale_state", "mult"}),
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """What optimizes a parameter, as far as the fields of its state tell.

    Args:
      names: the optimizers that have these fields; none, if no optimizer of flax.optim does.
      weight_norm: whether they are wrapped in WeightNorm.
      fields: those that are in use, of what WeightNorm wraps if it does.
    """

    names: tuple[str, ...]
    weight_norm: bool = False
    fields: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.names:
            fields = ", ".join(self.fields) or "none"
            return f"no optimizer of flax.optim (fields of its state: {fields})"
        return (
            f"WeightNorm over {alternatives(self.names)}"
            if self.weight_norm
            else (alternatives(self.names))
        )


def alternatives(names: Iterable[str]) -> str:
    """The names in a sentence: ``Adam, AdaBelief or LAMB``."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last
