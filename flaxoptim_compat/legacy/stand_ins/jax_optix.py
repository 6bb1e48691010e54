"""``jax.experimental.optix``, from which optax came: optax, and names that optax changed."""

from __future__ import annotations

from typing import Any

import optax

additive_weight_decay = optax.add_decayed_weights
# The first name of the class.
InitUpdate = optax.GradientTransformation


def noisy_sgd(
    learning_rate: float, eta: float = 0.01, gamma: float = 0.55, seed: int = 0
) -> optax.GradientTransformation:
    """Return stochastic gradient descent with noise on the gradients.

    Args:
      learning_rate: the learning rate.
      eta: the variance of the noise at the start.
      gamma: how fast the noise fades.
      seed: the seed of the noise.
    """
    return optax.noisy_sgd(learning_rate, eta, gamma, seed)


def __getattr__(name: str) -> Any:
    return getattr(optax, name)
