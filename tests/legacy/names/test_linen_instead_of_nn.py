"""What is said about the names of flax.nn that Linen has in another form, and that it works."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from flax import linen

from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN as ADVICE

KEY = jax.random.PRNGKey(0)
X = jnp.linspace(-2.0, 3.0, 2 * 6 * 8).reshape(2, 6, 8)


def test_every_message_is_sentences():
    for message in ADVICE.values():
        assert message.endswith(".")
        assert "{" not in message.replace("{'dropout': rng}", "")


def test_what_the_messages_say_about_cells():
    for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell"):
        assert f"cell = flax.linen.{name}(features)" in ADVICE[name]
        cell = getattr(linen, name)(4)
        carry = cell.initialize_carry(KEY, X[:, 0].shape)
        (_, y), _ = cell.init_with_output(KEY, carry, X[:, 0])
        assert y.shape == (2, 4)
    assert "cell = flax.linen.ConvLSTMCell(features, kernel_size)" in ADVICE["ConvLSTM"]
    cell = linen.ConvLSTMCell(4, (3,))
    (_, y), _ = cell.init_with_output(KEY, cell.initialize_carry(KEY, X.shape), X)
    assert y.shape == (2, 6, 4)


def test_what_the_messages_say_about_layers():
    ids = jnp.arange(5)
    embed = linen.Embed(5, 3)
    y, variables = embed.init_with_output(KEY, ids)
    assert embed.apply(variables, y, method=embed.attend).shape == (5, 5)
    for layer in (
        linen.Dense(3, use_bias=False),
        linen.DenseGeneral((3, 2), use_bias=False),
        linen.Conv(3, (2,), use_bias=False),
        linen.ConvTranspose(3, (2,), use_bias=False),
        linen.LayerNorm(use_bias=False, use_scale=True),
        linen.GroupNorm(num_groups=2, use_bias=False, use_scale=True),
    ):
        assert type(layer).__name__ in ADVICE
        assert "bias" not in layer.init(KEY, X)["params"]
