"""flax.nn, which is gone: what is still served, and what the errors say about the rest."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen

from flaxoptim_compat.legacy.names.of_flax import ENTRIES
from flaxoptim_compat.legacy.stand_ins import flax_nn, flax_nn_deprecated, flax_nn_parts
from flaxoptim_compat.legacy.stand_ins.flax_linen_conv_lstm import ConvLSTM


def names(text):
    return text.split()


# What flax 0.1.0 to 0.3.6 had, without what the modules imported for themselves.
IN_PACKAGE = names(
    """
    BatchNorm Collection Conv ConvLSTM ConvTranspose Dense DenseGeneral Embed GRUCell GroupNorm
    LSTMCell LayerNorm Model Module MultiHeadDotProductAttention OptimizedLSTMCell SelfAttention
    activation attention avg_pool base capture_module_outputs celu dot_product_attention dropout elu
    gelu get_state glu initializers is_stochastic leaky_relu linear log_sigmoid log_softmax make_rng
    max_pool module module_method normalization pooling recurrent relu sigmoid silu soft_sign
    softmax softplus stateful stochastic swish tanh utils
    """
)
ACTIVATIONS = names(
    """
    celu elu gelu glu hard_sigmoid hard_swish hard_tanh leaky_relu log_sigmoid log_softmax normalize
    relu relu6 selu sigmoid silu soft_sign softmax softplus swish tanh
    """
)
INITIALIZERS = names(
    """
    delta_orthogonal kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal ones
    orthogonal uniform variance_scaling xavier_normal xavier_uniform zeros
    """
)
IN_PARTS = names(
    """
    Cache MultiHeadDotProductAttention SelfAttention dot_product_attention make_padding_mask
    scan_in_dim Collection MODULE_CLASSMETHODS Model Module ModuleState TransparentModule
    TruncatedModule capture_module_outputs collection_from_iterable get_state is_stateful
    iterate_collection module module_method stateful Conv ConvTranspose Dense DenseGeneral Embed
    default_embed_init default_kernel_init BatchNorm GroupNorm LayerNorm ConvLSTM GRUCell LSTMCell
    OptimizedLSTMCell RNNCellBase CallStack classproperty
    """
)

KEY = jax.random.PRNGKey(0)
X = jnp.linspace(-2.0, 3.0, 2 * 6 * 8).reshape(2, 6, 8)


@pytest.mark.parametrize("name", IN_PACKAGE)
def test_every_name_of_the_package_is_served_or_says_what_to_do(name):
    assert hasattr(flax_nn, name) != (name in flax_nn.REMOVED)


@pytest.mark.parametrize("name", IN_PARTS)
def test_every_name_of_the_modules_is_served_or_says_what_to_do(name):
    assert hasattr(flax_nn_parts, name) != (name in flax_nn_parts.REMOVED)


def test_a_removed_name_is_missing_and_says_what_to_do():
    assert not hasattr(flax_nn, "Module")
    with pytest.raises(
        AttributeError, match=r"^flax\.nn\.Module was removed in flax 0\.4\.0: "
    ) as e:
        flax_nn.Module  # noqa: B018
    assert str(e.value) == flax_nn.REMOVED["Module"]
    with pytest.raises(AttributeError, match=r"collection 'cache' of the variables\.$"):
        flax_nn.attention.Cache  # noqa: B018


def test_every_message_is_sentences_about_its_name():
    for name, message in flax_nn_parts.REMOVED.items():
        assert message.startswith(f"flax.nn.{name} was removed in flax 0.4.0: ")
        assert message.endswith(".")
        assert "{" not in message.replace("{'dropout': rng}", "")


def test_an_unknown_name_gets_the_error_that_python_has():
    with pytest.raises(AttributeError, match=r"^module 'flax\.nn' has no attribute 'Dens'$"):
        flax_nn.Dens  # noqa: B018
    with pytest.raises(AttributeError, match=r"^module 'flax\.nn' has no attribute 'Dens'$"):
        flax_nn.linear.Dens  # noqa: B018


def test_activations_are_those_of_jax_as_they_always_were():
    for name in ACTIVATIONS:
        served = getattr(flax_nn.activation, name)
        now = {"normalize": jax.nn.standardize, "tanh": jnp.tanh}.get(name)
        assert served is (now or getattr(jax.nn, name))
        if name in IN_PACKAGE:
            assert served is getattr(flax_nn, name)


def test_initializers_are_those_of_jax_as_they_always_were():
    for name in INITIALIZERS:
        assert getattr(flax_nn.initializers, name) is getattr(jax.nn.initializers, name)
    expected = jax.nn.initializers.lecun_normal()(KEY, (8, 4))
    assert (flax_nn.linear.default_kernel_init(KEY, (8, 4)) == expected).all()
    assert flax_nn.linear.default_embed_init(KEY, (9, 4)).shape == (9, 4)


def test_pooling_pads_and_divides_as_it_did():
    x = np.arange(1.0, 6.0, dtype=np.float32).reshape(1, 5, 1)
    assert flax_nn.max_pool(x, (2,)).ravel().tolist() == [2, 3, 4, 5]
    assert flax_nn.max_pool(x, (2,), strides=(2,), padding="SAME").ravel().tolist() == [2, 4, 5]
    # The padding counts: the last window is (5 + 0) / 2.
    same = flax_nn.avg_pool(x, (2,), strides=(2,), padding="SAME")
    assert same.ravel().tolist() == [1.5, 3.5, 2.5]
    padded = flax_nn.pooling.pool(x, 0.0, jax.lax.add, (3,), (3,), [(1, 0)])
    assert padded.ravel().tolist() == [3, 12]


def test_star_imports_what_is_served():
    assert all(hasattr(flax_nn, name) for name in flax_nn.__all__)
    assert set(flax_nn.__all__) <= set(IN_PACKAGE)


def test_flax_deprecated_has_it_too():
    assert flax_nn_deprecated.nn is flax_nn


def test_every_row_of_the_table_is_served():
    for entry in ENTRIES:
        assert entry.serve() is not None
        assert entry.broken_if or entry.gone_since.startswith("flax 0.")
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)


def test_what_the_messages_say_about_cells():
    for name in ("LSTMCell", "OptimizedLSTMCell", "GRUCell"):
        assert f"cell = flax.linen.{name}(features)" in flax_nn.REMOVED[name]
        cell = getattr(linen, name)(4)
        carry = cell.initialize_carry(KEY, X[:, 0].shape)
        (_, y), _ = cell.init_with_output(KEY, carry, X[:, 0])
        assert y.shape == (2, 4)
    assert "cell = flax.linen.ConvLSTMCell(features, kernel_size)" in flax_nn.REMOVED["ConvLSTM"]
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
        assert type(layer).__name__ in flax_nn.REMOVED
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


def test_conv_lstm_has_its_old_names_and_its_old_carry():
    class Encoder(linen.Module):
        @linen.compact
        def __call__(self, carry, x):
            return ConvLSTM(features=6, kernel_size=(3, 3))(carry, x)

    x = jax.random.normal(KEY, (2, 4, 4, 3))
    carry = ConvLSTM.initialize_carry(KEY, (2,), (4, 4, 6))
    (_, y), variables = Encoder().init_with_output(KEY, carry, x)
    params = variables["params"]["ConvLSTM_0"]
    assert y.shape == (2, 4, 4, 6) and set(params) == {"ih", "hh"}
    now = linen.ConvLSTMCell(features=6, kernel_size=(3, 3))
    assert (now.apply({"params": params}, now.initialize_carry(KEY, x.shape), x)[1] == y).all()
    ones = ConvLSTM.initialize_carry(KEY, (2,), (4, 4, 6), linen.initializers.ones)
    assert all((part == 1).all() for part in ones)
