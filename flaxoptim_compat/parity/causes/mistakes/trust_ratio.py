"""Mistakes of the trust ratio, by which LAMB and LARS scale the update of a parameter."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.optim.formula import DECAY_STAGE, stage
from flaxoptim_compat.parity.causes.mistake import Mistake, settled
from flaxoptim_compat.parity.causes.recipe import Recipe


def _still_where_zero() -> optax.GradientTransformation:
    """Set the updates of parameters that are all zeros to zero."""

    def still(update: jax.Array, param: jax.Array) -> jax.Array:
        return jnp.where(jnp.any(param != 0), update, jnp.zeros_like(update))

    return optax.stateless(lambda updates, params: jax.tree.map(still, updates, params))


def _of_the_sum(recipe: Recipe) -> Recipe | None:
    decay = recipe.settings["weight_decay"]
    if settled(decay) and decay == 0:
        return None
    trust = stage(optax.scale_by_trust_ratio, trust_coefficient="trust_coefficient", eps="eps")
    rest = recipe.without("layer_rate").stages
    return recipe.with_stages(decay=DECAY_STAGE, trust=trust, **rest)


MISTAKES = (
    Mistake(
        "zero-parameter-trust-ratio",
        (optim.LAMB,),
        says=(
            "gives a parameter that is all zeros the trust ratio 1; with flax.optim it is 0, and"
            " such a parameter never moves"
        ),
        remedy="flaxoptim_compat.transforms.scale_by_lamb_trust_ratio() for scale_by_trust_ratio()",
        made=lambda recipe: recipe.replaced("trust", function=optax.scale_by_trust_ratio),
    ),
    Mistake(
        "zero-parameter-trust-ratio",
        (optim.LARS,),
        says=(
            "never moves a parameter that is all zeros; with flax.optim it moves at the plain"
            " learning rate"
        ),
        made=lambda recipe: recipe.with_stages(still=stage(_still_where_zero), **recipe.stages),
    ),
    Mistake(
        "trust-ratio-of-the-sum",
        (optim.LARS,),
        says=(
            "divides by ‖g + weight_decay·p‖, as optax.lars does; flax.optim divides by ‖g‖ +"
            " weight_decay·‖p‖"
        ),
        remedy="flaxoptim_compat.transforms.scale_by_lars_rate(...) for scale_by_trust_ratio(...)",
        made=_of_the_sum,
        slot="trust",
    ),
    Mistake(
        "trust-ratio-missing",
        (optim.LAMB,),
        says="has no trust ratio, so it is Adam; flax.optim's LAMB has one",
        remedy="optax.scale_by_trust_ratio after the weight decay, or optax.lamb",
        made=lambda recipe: recipe.without("trust"),
        slot="zero-parameter-trust-ratio",
    ),
)
