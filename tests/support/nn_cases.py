"""The layers of flax.nn with arguments, for ours and the genuine ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

KEY = jax.random.PRNGKey(7)


class Case(NamedTuple):
    """A module of a namespace, its inputs and its keyword arguments.

    Args:
      module: its name in ``flax.nn``, ours or the genuine one.
      inputs: the arrays.
      settings: the other arguments.
    """

    module: str
    inputs: tuple[Any, ...]
    settings: dict[str, Any]


def numbers(*shape: int, dtype: Any = np.float32) -> Any:
    values = np.random.RandomState(sum(shape)).randn(*shape)
    return jnp.asarray(values, dtype)


def case(name: str, *inputs: Any, **settings: Any) -> Case:
    return Case(name, inputs, settings)


IMAGES, TOKENS = numbers(2, 8, 6, 4), numbers(2, 5, 8)
SEGMENTS = jnp.asarray([[1, 1, 2, 2, 2], [1, 2, 2, 3, 3]])[..., None]
REAL = jnp.asarray([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0]], bool)[..., None]
CARRY = numbers(2, 5), numbers(2, 5) / 2
IMAGE_CARRY = numbers(2, 8, 6, 3), numbers(2, 8, 6, 3) / 2


CASES = {
    "Dense": case("Dense", TOKENS, features=3),
    "Dense without bias": case("Dense", TOKENS, features=3, bias=False),
    "Dense in bfloat16": case("Dense", TOKENS, features=3, dtype=jnp.bfloat16),
    "Dense, precise": case("Dense", TOKENS, features=3, precision=jax.lax.Precision.HIGHEST),
    "Dense with initializers": case(
        "Dense",
        TOKENS,
        features=3,
        kernel_init=jax.nn.initializers.xavier_uniform(),
        bias_init=jax.nn.initializers.normal(1e-2),
    ),
    "DenseGeneral": case("DenseGeneral", TOKENS, features=(2, 3)),
    "DenseGeneral over two axes": case("DenseGeneral", TOKENS, features=4, axis=(1, -1)),
    "DenseGeneral with batches": case(
        "DenseGeneral",
        TOKENS,
        features=(3,),
        batch_dims=0,
        bias_init=jax.nn.initializers.normal(),
    ),
    "DenseGeneral without bias": case("DenseGeneral", TOKENS, features=(2,), bias=False),
    "Conv": case("Conv", IMAGES, features=3, kernel_size=(3, 2)),
    "Conv with strides": case(
        "Conv", IMAGES, features=3, kernel_size=(3, 3), strides=(2, 2), padding="VALID"
    ),
    "Conv with dilations": case(
        "Conv",
        IMAGES,
        features=3,
        kernel_size=(3, 3),
        padding=((1, 1), (2, 0)),
        kernel_dilation=(2, 1),
        input_dilation=(1, 2),
    ),
    "Conv in groups": case(
        "Conv", IMAGES, features=4, kernel_size=(3, 3), feature_group_count=2, bias=False
    ),
    "Conv of one axis": case("Conv", TOKENS, features=3, kernel_size=3),
    "Conv of one image": case("Conv", IMAGES[0], features=3, kernel_size=(3, 3)),
    "ConvTranspose": case("ConvTranspose", IMAGES, features=3, kernel_size=(3, 3), strides=(2, 2)),
    "ConvTranspose of one image": case(
        "ConvTranspose", IMAGES[0], features=3, kernel_size=(2, 2), padding="VALID"
    ),
    "ConvTranspose of one axis": case(
        "ConvTranspose", TOKENS, features=3, kernel_size=2, kernel_dilation=(2,), bias=False
    ),
    "Embed": case("Embed", jnp.asarray([[1, 2], [0, 6]]), num_embeddings=7, features=4),
    "Embed with an initializer": case(
        "Embed",
        jnp.asarray([1, 6], jnp.uint8),
        num_embeddings=7,
        features=4,
        embedding_init=jax.nn.initializers.normal(stddev=1.0),
    ),
    "BatchNorm": case("BatchNorm", IMAGES),
    "BatchNorm over other axes": case(
        "BatchNorm", IMAGES, axis=(-2, -1), scale=False, epsilon=1e-3, dtype=jnp.bfloat16
    ),
    "BatchNorm without bias": case("BatchNorm", TOKENS, bias=False),
    "LayerNorm": case("LayerNorm", TOKENS),
    "LayerNorm in bfloat16": case("LayerNorm", TOKENS, dtype=jnp.bfloat16, epsilon=1e-5),
    "LayerNorm without both": case("LayerNorm", TOKENS, bias=False, scale=False),
    "GroupNorm": case("GroupNorm", IMAGES, num_groups=2),
    "GroupNorm by size": case("GroupNorm", IMAGES, num_groups=None, group_size=1, bias=False),
    "GroupNorm without scale": case("GroupNorm", TOKENS, num_groups=4, scale=False),
    "SelfAttention": case("SelfAttention", TOKENS, num_heads=2),
    "SelfAttention, causal": case(
        "SelfAttention", TOKENS, num_heads=4, causal_mask=True, qkv_features=12, out_features=6
    ),
    "SelfAttention with padding": case(
        "SelfAttention", TOKENS, num_heads=2, padding_mask=REAL, bias=False
    ),
    "SelfAttention with padding of keys": case(
        "SelfAttention", TOKENS, num_heads=2, key_padding_mask=REAL, causal_mask=True
    ),
    "SelfAttention in segments": case(
        "SelfAttention", TOKENS, num_heads=2, segmentation=SEGMENTS, causal_mask=True
    ),
    "SelfAttention over two axes": case("SelfAttention", IMAGES, num_heads=2, causal_mask=True),
    "SelfAttention over one of two axes": case(
        "SelfAttention", IMAGES, num_heads=2, attention_axis=(2,), causal_mask=True
    ),
    "SelfAttention in bfloat16": case(
        "SelfAttention", TOKENS, num_heads=2, dtype=jnp.bfloat16, causal_mask=True
    ),
    "SelfAttention with dropout": case(
        "SelfAttention", TOKENS, num_heads=2, dropout_rate=0.3, dropout_rng=KEY
    ),
    "SelfAttention with dropout of its own for each": case(
        "SelfAttention",
        TOKENS,
        num_heads=2,
        dropout_rate=0.3,
        broadcast_dropout=False,
    ),
    "MultiHeadDotProductAttention": case(
        "MultiHeadDotProductAttention", TOKENS, numbers(2, 3, 8), num_heads=2
    ),
    "MultiHeadDotProductAttention with both masks": case(
        "MultiHeadDotProductAttention",
        TOKENS,
        numbers(2, 5, 8) + 1,
        num_heads=2,
        padding_mask=REAL,
        key_padding_mask=REAL[::-1],
        segmentation=SEGMENTS,
        key_segmentation=SEGMENTS[::-1],
    ),
    "LSTMCell": case("LSTMCell", CARRY, TOKENS[:, 0]),
    "LSTMCell with other functions": case(
        "LSTMCell", CARRY, TOKENS[:, 0], gate_fn=jax.nn.relu, activation_fn=jnp.sin
    ),
    "OptimizedLSTMCell": case("OptimizedLSTMCell", CARRY, TOKENS[:, 0]),
    "OptimizedLSTMCell with initializers": case(
        "OptimizedLSTMCell",
        CARRY,
        TOKENS[:, 0],
        kernel_init=jax.nn.initializers.normal(),
        bias_init=jax.nn.initializers.normal(),
    ),
    "GRUCell": case("GRUCell", CARRY[0], TOKENS[:, 0]),
    "GRUCell with initializers": case(
        "GRUCell",
        CARRY[0],
        TOKENS[:, 0],
        recurrent_kernel_init=jax.nn.initializers.normal(),
        bias_init=jax.nn.initializers.normal(),
    ),
    "ConvLSTM": case("ConvLSTM", IMAGE_CARRY, IMAGES, features=3, kernel_size=(3, 3)),
    "ConvLSTM without bias": case(
        "ConvLSTM", IMAGE_CARRY, IMAGES, features=3, kernel_size=(2, 3), bias=False
    ),
}
