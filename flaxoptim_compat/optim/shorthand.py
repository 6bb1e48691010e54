"""What optax calls stages that often follow one another."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import optax

from flaxoptim_compat.transforms import scale_by_rms

_Function = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Shorthand:
    """One function of optax for several stages.

    Args:
      function: takes the learning rate first, and the arguments of the stages by name.
      renamed: what it calls those arguments that have another name in the stages.
    """

    function: _Function
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)


# By the functions of the stages; the last one, alone, is for a chain of nothing else.
SHORTHANDS: Mapping[tuple[_Function, ...], Shorthand] = {
    (
        optax.scale_by_adam,
        optax.add_decayed_weights,
        optax.scale_by_learning_rate,
    ): Shorthand(optax.adamw),
    (optax.scale_by_adam, optax.scale_by_learning_rate): Shorthand(optax.adam),
    (optax.scale_by_belief, optax.scale_by_learning_rate): Shorthand(optax.adabelief),
    (scale_by_rms, optax.scale_by_learning_rate): Shorthand(optax.rmsprop),
    (optax.trace, optax.scale_by_learning_rate): Shorthand(optax.sgd, {"decay": "momentum"}),
    (optax.scale_by_learning_rate,): Shorthand(optax.sgd),
}
