"""Losses of both sides; a name gives a pair."""

import flax.linen as nn
import jax.numpy as jnp


def _non_saturating(logits_real, logits_fake):
    return jnp.mean(nn.softplus(-logits_real)) + jnp.mean(nn.softplus(logits_fake))


def _hinge(logits_real, logits_fake):
    return jnp.mean(nn.relu(1.0 - logits_real)) + jnp.mean(nn.relu(1.0 + logits_fake))


def _generator_non_saturating(logits_fake):
    return jnp.mean(nn.softplus(-logits_fake))


def _generator_hinge(logits_fake):
    return -jnp.mean(logits_fake)


LOSSES = {
    "non_saturating": (_generator_non_saturating, _non_saturating),
    "hinge": (_generator_hinge, _hinge),
}


def get_losses(name):
    if name not in LOSSES:
        raise ValueError("loss is one of %s" % ", ".join(LOSSES))
    return LOSSES[name]
