"""What is said about the names of flax.nn that Linen has in another form, and that it works."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
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


def test_what_the_messages_say_about_state():
    norm = linen.BatchNorm(use_running_average=False, use_bias=False, use_scale=True)
    y, changed = norm.apply(norm.init(KEY, X), X, mutable=["batch_stats"])
    assert set(changed) == {"batch_stats"} and y.shape == X.shape

    class Counter(linen.Module):
        @linen.compact
        def __call__(self, x):
            count = self.variable("batch_stats", "mean", lambda: 0)
            if self.is_mutable_collection("batch_stats"):
                count.value += 1
            return x + count.value

    counter = Counter()
    assert counter.apply({"batch_stats": {"mean": 4}}, 0) == 4
    assert counter.apply({"batch_stats": {"mean": 4}}, 0, mutable=["batch_stats"])[0] == 5


def test_what_the_messages_say_about_random_numbers():
    class Noise(linen.Module):
        @linen.compact
        def __call__(self, x):
            random = self.has_rng("dropout")
            if random:
                x = x + jax.random.normal(self.make_rng("dropout"), x.shape)
            return linen.Dropout(0.5, deterministic=not random)(x)

    assert (Noise().apply({}, X) == X).all()
    assert (Noise().apply({}, X, rngs={"dropout": KEY}) != X).all()


def test_what_the_messages_say_about_attention():
    attention = linen.MultiHeadDotProductAttention(num_heads=2)
    causal = linen.make_causal_mask(X[..., 0])
    y, variables = attention.init_with_output(KEY, X, mask=causal)
    changed = attention.apply(variables, X.at[:, -1].add(1.0), mask=causal)
    np.testing.assert_allclose(y[:, :-1], changed[:, :-1], rtol=1e-5)
    segments = jnp.asarray([[1, 1, 1, 2, 2, 2]] * 2)
    mask = linen.combine_masks(
        causal,
        linen.make_attention_mask(segments > 1, segments > 1),
        linen.make_attention_mask(segments, segments, pairwise_fn=jnp.equal),
    )
    assert attention.apply(variables, X, X, mask=mask).shape == X.shape
    decoder = linen.MultiHeadDotProductAttention(num_heads=2, decode=True)
    assert "cache" in decoder.init(KEY, X)


def test_what_the_messages_say_about_intermediates_and_methods():
    class Two(linen.Module):
        def setup(self):
            self.first = linen.Dense(3)

        def __call__(self, x):
            return self.first(x) + 1.0

        def only_first(self, x):
            return self.first(x)

    module = Two()
    variables = module.init(KEY, X)
    y, seen = module.apply(variables, X, capture_intermediates=True, mutable=["intermediates"])
    (first,) = seen["intermediates"]["first"]["__call__"]
    assert (first == module.apply(variables, X, method=module.only_first)).all()
    assert (y == first + 1.0).all()
