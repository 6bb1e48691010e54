"""The two training runs of the demo: the same one, with and without leaving flax.optim halfway."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import linen as nn
from flax.training.train_state import TrainState

from flaxoptim_compat import optim

PEAK = 0.02


class Step(NamedTuple):
    """What one step leaves behind."""

    loss: jax.Array
    params: Any


class Classifier(nn.Module):
    """Two hidden layers and one logit."""

    @nn.compact
    def __call__(self, x: jax.Array) -> jax.Array:
        """The logits of a batch of points."""
        for width in (32, 32):
            x = nn.tanh(nn.Dense(width)(x))
        return nn.Dense(1)(x)[..., 0]


def spirals(seed: int, points: int = 256) -> tuple[jax.Array, jax.Array]:
    """Points of two noisy interleaved spirals, and which of the two each is on."""
    rng = np.random.default_rng(seed)
    label = np.arange(points) % 2
    turn = 3 * np.sqrt(rng.uniform(size=points))
    angle = turn * math.pi / 2 + label * math.pi
    x = np.stack([turn * np.cos(angle), turn * np.sin(angle)], axis=-1)
    x += rng.normal(scale=0.05, size=x.shape)
    return jnp.asarray(x, jnp.float32), jnp.asarray(label, jnp.float32)


def rate(number: int, steps: int) -> float:
    """The learning rate of a step: up in the first tenth, then down along a cosine."""
    done = (number + 1) / steps
    return PEAK * min(10 * done, 0.5 * (1 + math.cos(math.pi * done)) + 0.01)


def trained(seed: int, steps: int, switch: int) -> Iterator[Step]:
    """Train with flax.optim as programs up to Flax 0.5.3 did, but only so many of the steps.

    The rest is done with a TrainState and optax.
    """
    model, params, data = _start(seed)
    optimizer = optim.Adam(learning_rate=PEAK, weight_decay=1e-3).create(params)
    for number in range(switch):
        optimizer, loss = _legacy_step(model.apply, optimizer, data, rate(number, steps))
        yield Step(loss, optimizer.target)

    state = optimizer.to_train_state(apply_fn=model.apply)
    for number in range(switch, steps):
        state.opt_state.hyperparams["learning_rate"] = jnp.float32(rate(number, steps))
        state, loss = _train_state_step(state, data)
        yield Step(loss, state.params)


def _start(seed: int) -> tuple[Classifier, Any, tuple[jax.Array, jax.Array]]:
    model, data = Classifier(), spirals(seed)
    return model, model.init(jax.random.PRNGKey(seed), data[0])["params"], data


@partial(jax.jit, static_argnums=0)
def _legacy_step(
    apply_fn: Callable[..., Any], optimizer: optim.Optimizer, data: Any, learning_rate: Any
) -> tuple[optim.Optimizer, jax.Array]:
    loss, grads = jax.value_and_grad(_loss)(optimizer.target, apply_fn, data)
    return optimizer.apply_gradient(grads, learning_rate=learning_rate), loss


@jax.jit
def _train_state_step(state: TrainState, data: Any) -> tuple[TrainState, jax.Array]:
    loss, grads = jax.value_and_grad(_loss)(state.params, state.apply_fn, data)
    return state.apply_gradients(grads=grads), loss


def _loss(params: Any, apply_fn: Callable[..., Any], data: Any) -> jax.Array:
    x, label = data
    logits = apply_fn({"params": params}, x)
    return jnp.mean(optax.sigmoid_binary_cross_entropy(logits, label))


def distance(params: Any, other: Any) -> tuple[float, float]:
    """The largest difference of any two values, and the largest in units in the last place.

    The unit is that of the largest value in the same array: a value that happens to be near zero
    would otherwise count as far off.
    """
    worst = worst_ulps = 0.0
    for mine, theirs in zip(jax.tree.leaves(params), jax.tree.leaves(other), strict=True):
        a, b = np.asarray(mine), np.asarray(theirs)
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return math.inf, math.inf
        difference = float(np.max(np.abs(a.astype(np.float64) - b)))
        worst = max(worst, difference)
        worst_ulps = max(worst_ulps, difference / float(np.spacing(np.max(np.abs(a)))))
    return worst, worst_ulps
