"""Attention: weighted means of values, with weights computed from queries and keys."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from jax import lax, random

from flaxoptim_compat.nn import initializers
from flaxoptim_compat.nn.activation import softmax
from flaxoptim_compat.nn.arguments import documented
from flaxoptim_compat.nn.base import Module
from flaxoptim_compat.nn.collection import Collection, collection_from_iterable, iterate_collection
from flaxoptim_compat.nn.linear import DenseGeneral, as_tuple, default_kernel_init
from flaxoptim_compat.nn.stochasticity import make_rng

# Flax had another copy of this function in this module.
scan_in_dim = jax_utils.scan_in_dim

# Added before the softmax to a weight that must become 0.
_MASKED = -1e10


@documented
def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    dtype: Any = jnp.float32,
    bias: Any = None,
    axis: Any = None,
    broadcast_dropout: bool = True,
    dropout_rng: Any = None,
    dropout_rate: float = 0.0,
    deterministic: bool = False,
    precision: Any = None,
) -> Any:
    """``softmax(query · keyᵀ / √channels + bias) · value``.

    Vaswani et al.: Attention Is All You Need, https://arxiv.org/abs/1706.03762
    """
    _compare_shapes(query, key, value)
    ndim = key.ndim
    attended = _attended(axis, ndim)
    others = tuple(number for number in range(ndim - 1) if number not in attended)
    batched = tuple(range(len(others)))
    # The dimensions that are attended over come last, and the channels after or before them.
    order = (*others, *attended, ndim - 1)
    query = query.transpose(order) / jnp.sqrt(query.shape[-1]).astype(dtype)
    key = key.transpose(order)
    value = value.transpose((*others, ndim - 1, *attended))
    last = ((ndim - 1,), (ndim - 1,))
    weights = lax.dot_general(query, key, (last, (batched, batched)), precision=precision)
    if bias is not None:
        weights = weights + bias
    normalized = tuple(range(weights.ndim - len(attended), weights.ndim))
    weights = softmax(weights, axis=normalized).astype(dtype)
    if not deterministic and dropout_rate > 0.0:
        shape = weights.shape
        if broadcast_dropout:
            shape = (*(1,) * len(others), *shape[len(shape) - 2 * len(attended) :])
        kept = 1.0 - dropout_rate
        mask = random.bernoulli(make_rng() if dropout_rng is None else dropout_rng, kept, shape)
        weights = weights * (mask.astype(weights.dtype) / jnp.asarray(kept, dtype=dtype))
    summed = (normalized, tuple(range(ndim - len(attended), ndim)))
    output = lax.dot_general(weights, value, (summed, (batched, batched)), precision=precision)
    return output.transpose(tuple(map(int, np.argsort(order))))


def _compare_shapes(query: Any, key: Any, value: Any) -> None:
    if (
        not (key.ndim == query.ndim == value.ndim)
        or key.shape[:-1] != value.shape[:-1]
        or (query.shape[0], query.shape[-1]) != (key.shape[0], key.shape[-1])
    ):
        raise AssertionError(
            f"The shapes of query {query.shape}, key {key.shape} and value {value.shape} do not"
            " fit. Key and value may differ in the last axis only; query and key must have as many"
            " axes, batches and channels."
        )


def _attended(axis: Any, ndim: int) -> tuple[int, ...]:
    """The axes that are attended over, in an array with heads and channels as last axes."""
    if axis is None:
        return tuple(range(1, ndim - 2))
    attended = as_tuple(axis)
    for number in attended:
        if not 1 <= number < ndim - 2:
            raise ValueError(
                f"Attention over axis {number} of {ndim} is not possible. Give axes between the"
                f" batch, which is axis 0, and the heads, which are axis {ndim - 2}."
            )
    return attended


@struct.dataclass
class _CacheEntry:
    """The keys and values of earlier tokens in one attention, and the number of these tokens."""

    key: Any
    value: Any
    i: Any


class Cache(Collection):
    """The keys and values of earlier tokens, so that decoding computes those of one token only."""

    def initialize_cache(self, shape: tuple[int, ...], dtype: Any = None) -> Cache:
        """An empty cache for inputs of some shape.

        Args:
          shape: the sizes of the batch and of the axes that are attended over.
          dtype: the dtype of keys and values; float32 by default.
        """

        def empty(heads: Any) -> _CacheEntry:
            ndim, *tail = map(int, heads)
            if len(shape) + len(tail) != ndim:
                raise ValueError(
                    f"The cache is of {ndim - len(tail)} axes, those of the batch and of the"
                    f" tokens, and the shape {shape} has {len(shape)}. Give the size of each axis."
                )
            zeros = jnp.zeros((*shape, *tail), dtype=jnp.float32 if dtype is None else dtype)
            return _CacheEntry(key=zeros, value=zeros, i=jnp.zeros((), jnp.uint32))

        return Cache(jax.tree.map(empty, self.state))


jax.tree_util.register_pytree_node(Cache, iterate_collection, collection_from_iterable)


class MultiHeadDotProductAttention(Module):
    @documented
    def apply(
        self,
        inputs_q: Any,
        inputs_kv: Any,
        num_heads: int,
        dtype: Any = jnp.float32,
        qkv_features: int | None = None,
        out_features: int | None = None,
        attention_axis: Any = None,
        causal_mask: bool = False,
        padding_mask: Any = None,
        key_padding_mask: Any = None,
        segmentation: Any = None,
        key_segmentation: Any = None,
        cache: Any = None,
        broadcast_dropout: bool = True,
        dropout_rng: Any = None,
        dropout_rate: float = 0.0,
        deterministic: bool = False,
        precision: Any = None,
        kernel_init: Any = default_kernel_init,
        bias_init: Any = initializers.zeros,
        bias: bool = True,
        attention_fn: Any = dot_product_attention,
    ) -> Any:
        """Attention with several heads, each with its own queries, keys and values."""
        if cache and not causal_mask:
            raise AssertionError("A cache is for decoding: give causal_mask=True.")
        inputs_kv = inputs_q if inputs_kv is None else inputs_kv
        between = tuple(range(1, inputs_q.ndim - 1))
        axes = between if attention_axis is None else attention_axis
        features = out_features or inputs_q.shape[-1]
        channels = qkv_features or inputs_q.shape[-1]
        if channels % num_heads:
            raise AssertionError(
                f"{channels} channels are not {num_heads} heads of one size. Give `qkv_features`"
                " that `num_heads` divides."
            )
        settled = {
            "kernel_init": kernel_init,
            "bias_init": bias_init,
            "bias": bias,
            "precision": precision,
            "dtype": dtype,
        }
        project = DenseGeneral.partial(features=(num_heads, channels // num_heads), **settled)
        query = project(inputs_q, name="query")
        key, value = project(inputs_kv, name="key"), project(inputs_kv, name="value")

        tokens: Any = None
        if cache:
            if not isinstance(cache, Cache):
                raise AssertionError(
                    f"The argument `cache` must be a flax.nn.attention.Cache, not {type(cache)}."
                )
            if self.is_initializing():
                # initialize_cache reads the shapes from these numbers.
                cache.store(np.array((key.ndim, *key.shape[-2:]), dtype=np.int32))
            else:
                key, value, tokens = _with_next_token(cache, inputs_q, key, value, axes)

        masks = []
        if causal_mask and tokens is None:
            masks.append(_make_causal_mask(key, axes))
        elif causal_mask:
            known = tuple(key.shape[axis] for axis in axes)
            so_far = jnp.arange(math.prod(known), dtype=jnp.uint32) < tokens
            masks.append(so_far.reshape((1,) * (key.ndim - 1) + known))
        shapes = {"query_shape": query.shape, "key_shape": key.shape, "attention_axis": axes}
        if not cache and (padding_mask is not None or key_padding_mask is not None):
            of_queries = _or_all_of(padding_mask, key_padding_mask, inputs_q, inputs_kv, axes)
            of_keys = _or_all_of(key_padding_mask, padding_mask, inputs_kv, inputs_q, axes)
            masks.append(make_padding_mask(of_queries, of_keys, **shapes))
        if segmentation is not None:
            if key_segmentation is None:
                if inputs_kv is not inputs_q:
                    raise AssertionError(
                        "With `inputs_kv`, segmentation=... needs key_segmentation=...: give both."
                    )
                key_segmentation = segmentation
            masks.append(
                make_padding_mask(segmentation, key_segmentation, segmentation_mask=True, **shapes)
            )

        output = attention_fn(
            query,
            key,
            value,
            dtype=dtype,
            axis=axes,
            bias=_as_bias(masks, dtype),
            precision=precision,
            dropout_rng=dropout_rng,
            dropout_rate=dropout_rate,
            broadcast_dropout=broadcast_dropout,
            deterministic=deterministic,
        )
        return DenseGeneral(output, features=features, axis=(-2, -1), name="out", **settled)


def _with_next_token(
    cache: Cache, inputs: Any, key: Any, value: Any, axes: Sequence[int]
) -> tuple[Any, Any, Any]:
    """Store keys and values of the next token; returns those of all tokens, and their number."""
    entry = cache.retrieve(None)
    if not isinstance(entry, _CacheEntry):
        raise ValueError(
            "The cache is not initialized: call `init` in a block of `with"
            " flax.nn.attention.Cache().mutate() as cache:`, and pass"
            " `cache.initialize_cache(shape)`."
        )
    known = entry.key.shape
    expected = tuple(1 if axis in axes else size for axis, size in enumerate(known[:-2]))
    if inputs.shape[:-1] != expected:
        raise ValueError(
            f"With a cache for {known[:-2]} the inputs are one token, of shape"
            f" {(*expected, inputs.shape[-1])}, not {inputs.shape}."
        )
    # Jax requires indices of one dtype.
    at: list[Any] = [jnp.zeros((), entry.i.dtype)] * len(known)
    token, size = entry.i, math.prod(known[axis] for axis in axes)
    for axis in axes:
        size //= known[axis]
        at[axis], token = token // size, token % size
    key = lax.dynamic_update_slice(entry.key, key, at)
    value = lax.dynamic_update_slice(entry.value, value, at)
    tokens = entry.i + jnp.array(1, jnp.uint32)
    cache.store(_CacheEntry(key=key, value=value, i=tokens))
    return key, value, tokens


def _or_all_of(
    mask: Any, other_mask: Any, inputs: Any, other_inputs: Any, axes: Sequence[int]
) -> Any:
    """The mask; without one, the other mask if both inputs are the same, or a mask of True."""
    if mask is not None:
        return mask
    if inputs is other_inputs:
        return other_mask
    return jnp.full([inputs.shape[axis] for axis in axes], True)


def _as_bias(masks: list[Any], dtype: Any) -> Any:
    if not masks:
        return None
    mask = functools.reduce(jnp.logical_and, masks)
    zeros = jnp.full(mask.shape, 0.0).astype(dtype)
    return lax.select(mask > 0, zeros, jnp.full(mask.shape, _MASKED).astype(dtype))


SelfAttention = MultiHeadDotProductAttention.partial(inputs_kv=None)


@documented
def make_padding_mask(
    padding_mask_query: Any,
    padding_mask_key: Any,
    query_shape: Sequence[int],
    key_shape: Sequence[int],
    attention_axis: Any = None,
    segmentation_mask: bool = False,
) -> Any:
    """The mask of queries and keys: 1 if neither is padding, or if both are in one segment."""
    if query_shape[0] != key_shape[0] or len(query_shape) != len(key_shape):
        raise AssertionError(
            f"Queries of shape {tuple(query_shape)} and keys of shape {tuple(key_shape)} must have"
            " as many axes, and as many batches."
        )
    axes = _attended(attention_axis, len(key_shape))
    of_query, of_key = padding_mask_query[..., None], padding_mask_key[..., None]
    # The axes of the keys in the reverse order, behind the batch.
    of_key = of_key.transpose((0, *range(of_key.ndim - 1, 0, -1)))
    mask = jnp.equal(of_query, of_key) if segmentation_mask else jnp.multiply(of_query, of_key)
    shape = (*(query_shape[axis] for axis in axes), *(key_shape[axis] for axis in axes))
    mask = mask.reshape((query_shape[0], 1, *shape))
    return lax.convert_element_type(mask, jnp.float32)


def _make_causal_mask(key: Any, attention_axis: Any = None, self_mask: bool = False) -> Any:
    """The mask of queries and keys: True for keys up to a query; with ``self_mask`` before it."""
    axes = _attended(attention_axis, key.ndim)
    sizes = tuple(key.shape[axis] for axis in axes)
    tokens = jnp.arange(math.prod(sizes), dtype=jnp.int32)
    mask = tokens[:, None] - int(self_mask) >= tokens[None, :]
    return mask.reshape((1,) * (key.ndim - len(axes) - 1) + sizes + sizes)
