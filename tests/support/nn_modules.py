"""Modules written in the style of flax.nn, for ours and the genuine one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp

NORMAL = jax.nn.initializers.normal(1.0)


def modules(nn: Any) -> SimpleNamespace:
    """Make them with a namespace."""

    class Bias(nn.Module):
        """Adds a number to each feature."""

        def apply(self, x, init=NORMAL):
            """Adds a bias."""
            return x + self.param("bias", (x.shape[-1],), init)

        @nn.module_method
        def negative(self, x, **kwargs):
            del kwargs
            return x - self.get_param("bias")

    class Net(nn.Module):
        def apply(self, x, features=(4, 3), train=True):
            for size in features[:-1]:
                x = nn.relu(nn.Dense(x, size))
                x = nn.BatchNorm(x, use_running_average=not train, momentum=0.9)
                x = nn.dropout(x, 0.5, deterministic=not train)
            return nn.Dense(x, features[-1], name="head")

    class Tied(nn.Module):
        def apply(self, x):
            bias = Bias.shared(name="tied")
            embed = nn.Embed.shared(num_embeddings=x.shape[-1], features=3)
            code = embed(jnp.arange(2))
            return bias.negative(bias(bias(x))) + embed.attend(code).sum()

    @nn.module
    def block(x, features):
        return nn.Dense(nn.LayerNorm(x), features) + Bias(x)

    class Blocks(nn.Module):
        def apply(self, x, depth=2):
            for number in range(depth):
                x = block(x, x.shape[-1], name=f"block_{number}")
            return Net(x, train=False) if nn.base.is_stateful() else x

    class Scanned(nn.Module):
        def apply(self, xs):
            cell = nn.LSTMCell.shared(name="cell")
            carry = nn.LSTMCell.initialize_carry(jax.random.PRNGKey(0), xs.shape[1:2], 4)
            return jax.lax.scan(lambda carry, x: cell(carry, x), carry, xs)

    class Counter(nn.Module):
        def apply(self, x, calls=None):
            count = self.state("count", (), jax.nn.initializers.zeros, collection=calls)
            if not self.is_initializing():
                count.value = count.value + 1
            return x + count.value + self.param("scale", None, lambda rng, shape: 2.0)

    return SimpleNamespace(**{k: v for k, v in locals().items() if k != "nn"})
