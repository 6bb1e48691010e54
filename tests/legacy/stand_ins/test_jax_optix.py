"""``jax.experimental.optix``."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest

from flaxoptim_compat.legacy.stand_ins import jax_optix

# What the module had, by its documentation.
NAMES = (
    "GradientTransformation InitUpdate OptState adam add_noise additive_weight_decay apply_every"
    " apply_updates chain clip clip_by_global_norm global_norm noisy_sgd rmsprop scale"
    " scale_by_adam scale_by_rms scale_by_schedule scale_by_stddev sgd trace"
)


@pytest.mark.parametrize("name", NAMES.split())
def test_it_has_what_it_had(name: str) -> None:
    assert getattr(jax_optix, name) is not None


def test_noise_is_seeded() -> None:
    grads = {"a": jnp.ones(3)}
    steps = [
        optimizer.update(grads, optimizer.init(grads))[0]
        for optimizer in (jax_optix.noisy_sgd(0.1, seed=3), optax.noisy_sgd(0.1, 0.01, 0.55, 3))
    ]
    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), *steps))


def test_what_it_never_had_is_no_name() -> None:
    with pytest.raises(AttributeError):
        _ = jax_optix.never
