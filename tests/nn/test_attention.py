"""Decoding with a cache, masks, and attention by itself."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import nn
from tests.support.nn_cases import KEY, REAL, SEGMENTS, numbers
from tests.support.options import each
from tests.support.side_by_side import assert_same


def decoder(served: Any) -> Any:
    class Decoder(served.Module):
        def apply(self, x, cache=None, axes=None):
            for _ in range(2):
                x = x + served.SelfAttention(
                    x, num_heads=2, causal_mask=True, cache=cache, attention_axis=axes
                )
            return x

    return Decoder


def decoded(served: Any, shape: tuple[int, ...], jit: bool) -> Any:
    module, x = decoder(served), numbers(*shape, 8)
    with served.attention.Cache().mutate() as stored:
        _, params = module.init(KEY, x, cache=stored)
    cache = stored.initialize_cache(shape)
    model = served.Model(module, params)

    def step(cache: Any, token: Any) -> Any:
        with cache.mutate() as after:
            return model(token, cache=after), after

    step = jax.jit(step) if jit else step
    tokens = x.reshape(shape[0], -1, 8)
    outputs = []
    for number in range(tokens.shape[1]):
        token = tokens[:, number].reshape((shape[0],) + (1,) * (len(shape) - 1) + (8,))
        output, cache = step(cache, token)
        outputs.append(output.reshape(shape[0], 8))
    full = model(x).reshape(shape[0], -1, 8)
    np.testing.assert_allclose(np.stack(outputs, axis=1), full, rtol=1e-5, atol=1e-5)
    return [params, outputs, cache.as_dict(), full]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", each([(2, 5), (2, 3, 2)], [(2, 5)]))
def test_token_by_token_it_is_the_same_as_all_at_once(
    shape: tuple[int, ...], jit: bool, genuine_nn: Any
) -> None:
    assert_same(decoded(nn, shape, jit), decoded(genuine_nn, shape, jit))


def test_a_cache_can_be_made_from_shapes() -> None:
    module = decoder(nn)
    with nn.attention.Cache().mutate() as stored:
        module.init_by_shape(KEY, [((2, 5, 8), jnp.float32)], cache=stored)
    cache = stored.initialize_cache((2, 5), dtype=jnp.bfloat16)
    assert set(cache.as_dict()) == {
        "/MultiHeadDotProductAttention_0",
        "/MultiHeadDotProductAttention_1",
    }
    entry = cache["/MultiHeadDotProductAttention_0"]
    assert entry.key.shape == (2, 5, 2, 4) and entry.value.dtype == jnp.bfloat16
    with pytest.raises(ValueError, match=r"is of 2 axes"):
        stored.initialize_cache((2,))


def test_what_is_wrong_with_a_cache() -> None:
    module, x = decoder(nn), numbers(2, 5, 8)
    with nn.attention.Cache().mutate() as stored:
        _, params = module.init(KEY, x, cache=stored)
    with (
        stored.initialize_cache((2, 5)).mutate() as cache,
        pytest.raises(ValueError, match=r"one token, of shape \(2, 1, 8\), not \(2, 5, 8\)"),
    ):
        module.call(params, x, cache=cache)
    with stored.mutate() as cache, pytest.raises(ValueError, match="is not initialized"):
        module.call(params, x[:, :1], cache=cache)
    attention = nn.SelfAttention.partial(num_heads=2)
    with pytest.raises(AssertionError, match="causal_mask=True"):
        attention.init(KEY, x, cache=cache)
    with pytest.raises(AssertionError, match=r"Cache, not <class"):
        attention.init(KEY, x, cache=nn.Collection(), causal_mask=True)
    with pytest.raises(AssertionError, match="8 channels are not 3 heads"):
        nn.SelfAttention.init(KEY, x, num_heads=3)
    with pytest.raises(AssertionError, match="needs key_segmentation"):
        nn.MultiHeadDotProductAttention.init(KEY, x, x + 1, num_heads=2, segmentation=SEGMENTS)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"axis": (2,)},
        {"dropout_rate": 0.4, "dropout_rng": KEY},
        {"dropout_rate": 0.4, "dropout_rng": KEY, "broadcast_dropout": False, "axis": (1,)},
        {"dropout_rate": 0.4, "deterministic": True, "dtype": jnp.bfloat16},
    ],
)
def test_attention_by_itself(settings: Any, genuine_nn: Any) -> None:
    query, key, value = numbers(2, 4, 3, 2, 5), numbers(2, 4, 3, 2, 5) + 1, numbers(2, 4, 3, 2, 7)
    ours = nn.dot_product_attention(query, key, value, **settings)
    assert_same(ours, genuine_nn.dot_product_attention(query, key, value, **settings))


def test_shapes_and_axes_of_attention() -> None:
    query, value = numbers(2, 4, 2, 5), numbers(2, 4, 2, 5)
    assert nn.dot_product_attention(query, query, value, axis=1).shape == query.shape
    with pytest.raises(AssertionError, match="as many axes, batches and channels"):
        nn.dot_product_attention(query, query[:1], value[:1])
    with pytest.raises(ValueError, match="over axis 2 of 4"):
        nn.dot_product_attention(query, query, value, axis=2)
    with pytest.raises(AssertionError, match="as many axes"):
        nn.attention.make_padding_mask(REAL, REAL, (2, 5, 2, 4), (3, 5, 2, 4))


@pytest.mark.parametrize("self_mask", [False, True])
def test_masks(self_mask: bool, genuine_nn: Any) -> None:
    ours, theirs = nn.attention, genuine_nn.attention
    key, shape = numbers(2, 3, 4, 2, 5), (2, 5, 2, 4)
    for axes in (None, (1,), (2,), (1, 2)):
        assert_same(
            ours._make_causal_mask(key, axes, self_mask),
            theirs._make_causal_mask(key, axes, self_mask),
        )
    for masks in ((REAL, REAL[::-1]), (SEGMENTS, SEGMENTS[::-1])):
        arguments = (*(mask[..., 0] for mask in masks), shape, shape, None, self_mask)
        assert_same(ours.make_padding_mask(*arguments), theirs.make_padding_mask(*arguments))
