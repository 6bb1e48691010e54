"""The three that are measured: this package, the genuine flax.optim 0.5.3, and optax by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import optax
from flax import traverse_util
from flax.training.train_state import TrainState

from flaxoptim_compat import optim, transforms
from tests.support.oracle.in_process import genuine_optim

OURS, GENUINE, BY_HAND = "ours", "genuine", "by hand"

# The optimizers that are measured, by what makes the definition out of a namespace.
DEFINITIONS: dict[str, Callable[[Any], Any]] = {
    "Adam": lambda namespace: namespace.Adam(1e-3),
    "Momentum": lambda namespace: namespace.Momentum(1e-2),
    "LAMB": lambda namespace: namespace.LAMB(1e-3, weight_decay=0.01),
    "Adafactor": lambda namespace: namespace.Adafactor(1e-3),
    "MultiOptimizer": lambda namespace: namespace.MultiOptimizer(
        (_named(namespace, "kernel"), namespace.Adam(1e-3)),
        (_named(namespace, "bias"), namespace.Momentum(1e-2)),
    ),
}

# Those that are measured where all would take long.
SOME = ("Adam", "MultiOptimizer")


def optimizers(quick: bool) -> Iterable[str]:
    """The names of the optimizers that are measured: all, or some."""
    return SOME if quick else DEFINITIONS


# The same arithmetic as someone would write it in optax. Optax has no trust ratio that is 0 for a
# parameter of zeros, and no product of rate and size in flax's order: these two are ours.
TRANSFORMATIONS: dict[str, Callable[[], optax.GradientTransformation]] = {
    "Adam": lambda: optax.adam(1e-3),
    "Momentum": lambda: optax.sgd(1e-2, momentum=0.9),
    "LAMB": lambda: optax.chain(
        optax.scale_by_adam(eps=1e-6),
        optax.add_decayed_weights(0.01),
        transforms.scale_by_lamb_trust_ratio(),
        optax.scale_by_learning_rate(1e-3),
    ),
    "Adafactor": lambda: optax.chain(
        optax.scale_by_factored_rms(decay_rate=0.8, epsilon=1e-30),
        optax.clip_by_block_rms(1.0),
        transforms.scale_by_rate_and_parameter_rms(1e-3),
        optax.scale(-1.0),
    ),
    "MultiOptimizer": lambda: optax.partition(
        {"kernel": optax.adam(1e-3), "bias": optax.sgd(1e-2, momentum=0.9)}, _last_names
    ),
}


@dataclass(frozen=True)
class Subject:
    """One of the three: how its state is made, and the function that does a step.

    ``step(state, grads)`` returns the new state. Ours and the genuine one may be called without
    ``jax.jit``; the one by hand is meant to be compiled.
    """

    label: str
    create: Callable[[Any], Any]
    step: Callable[[Any, Any], Any]


def subjects(optimizer: str) -> dict[str, Subject]:
    """The three subjects of an optimizer of ``DEFINITIONS``, by label."""
    define = DEFINITIONS[optimizer]

    def by_hand(params: Any) -> TrainState:
        tx = TRANSFORMATIONS[optimizer]()
        state: TrainState = TrainState.create(apply_fn=None, params=params, tx=tx)
        return state

    return {
        OURS: Subject(OURS, lambda params: define(optim).create(params), _legacy_step),
        GENUINE: Subject(
            GENUINE, lambda params: define(genuine_optim()).create(params), _legacy_step
        ),
        BY_HAND: Subject(BY_HAND, by_hand, _modern_step),
    }


def parameters_of(state: Any) -> Any:
    """The parameters in the state of any subject."""
    return state.params if isinstance(state, TrainState) else state.target


def _legacy_step(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


def _modern_step(state: TrainState, grads: Any) -> Any:
    return state.apply_gradients(grads=grads)


def _named(namespace: Any, part: str) -> Any:
    return namespace.ModelParamTraversal(lambda path, _: part in path)


def _last_names(params: Any) -> Any:
    return traverse_util.path_aware_map(lambda path, _: path[-1], params)
