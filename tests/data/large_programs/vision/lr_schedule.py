"""Learning rates as products of factors, which are named in one string."""

import jax.numpy as jnp


def create_learning_rate_fn(hparams):
    factors = [n.strip() for n in hparams["factors"].split("*")]
    base, warmup, total = hparams["base"], hparams["warmup"], hparams["total"]

    def step_fn(step):
        ret = 1.0
        for name in factors:
            if name == "constant":
                ret *= base
            elif name == "linear_warmup":
                ret *= jnp.minimum(1.0, (step + 1) / warmup)
            elif name == "cosine_decay":
                progress = jnp.clip((step - warmup) / (total - warmup), 0.0, 1.0)
                ret *= 0.5 * (1.0 + jnp.cos(jnp.pi * progress))
            elif name == "decay_every":
                ret *= 0.5 ** (step // 2)
            else:
                raise ValueError("Unknown factor %s." % name)
        return jnp.asarray(ret, dtype=jnp.float32)

    return step_fn
