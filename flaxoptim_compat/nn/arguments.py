"""The documentation of layers' arguments: one text for all layers that take an argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

# A text for a single layer or function has its name before the dot.
_TEXT = """
axis: the axes to sum over.
bias: whether there is a bias.
bias_init: makes the bias from a key and a shape.
dtype: the dtype of the computation.
epsilon: added to the variance.
features: the number of features of the output.
inputs: an array.
kernel_init: makes the kernel from a key and a shape.
kernel_size: the size of the window; a number for one axis.
padding: ``SAME``, ``VALID``, or the padding before and after each axis of the window.
precision: the precision of the products; see ``jax.lax.Precision``.
scale: whether there is a scale.
scale_init: makes the scale from a key and a shape.
strides: the steps from one window to the next; by default 1.
window_shape: the size of a window.

DenseGeneral.features: the sizes of the new axes, at the end, in place of the axes summed over.
DenseGeneral.batch_dims: the first axes, if each index of these axes has a kernel of its own.
DenseGeneral.kernel_init: makes the kernel from a key and the shape of a matrix.
Conv.inputs: an array of shape ``[batch, *window axes, features]``, or without the batch.
Conv.input_dilation: the steps between inputs, with zeros between them.
Conv.kernel_dilation: the steps between the inputs of one window.
Conv.feature_group_count: the number of groups of features, each with its own kernel.
ConvTranspose.inputs: an array of shape ``[batch, *window axes, features]``, or without the batch.
ConvTranspose.strides: the factor by which the output is larger; by default 1.
ConvTranspose.kernel_dilation: the steps between the outputs of one window.
Embed.inputs: indices of vectors, in an integer dtype.
Embed.num_embeddings: the number of vectors.
Embed.features: the size of a vector.
Embed.embedding_init: makes the vectors from a key and a shape.
attend.query: the vectors, in the last axis.
attend.unused_kwargs: arguments of ``apply`` that ``partial`` or ``shared`` settled.

BatchNorm.x: an array.
BatchNorm.batch_stats: the collection of the averages; by default that of ``stateful``, if any.
BatchNorm.use_running_average: whether to use the averages, not mean and variance of ``x``.
BatchNorm.axis: the axes of the features; mean and variance are over all other axes.
BatchNorm.momentum: the part of an average that stays in each step.
BatchNorm.dtype: the dtype of the output.
BatchNorm.axis_name: the axis of a ``pmap`` over which means are taken too.
BatchNorm.axis_index_groups: groups of devices on that axis, each with its own mean.
LayerNorm.x: an array with the features in the last axis.
LayerNorm.dtype: the dtype of the output.
GroupNorm.x: an array of shape ``[batch, ..., features]``.
GroupNorm.num_groups: the number of groups.
GroupNorm.group_size: the number of features in a group; then ``num_groups`` is None.
GroupNorm.dtype: the dtype of the output.

carry: ``c`` and ``h``; for a GRUCell ``h``.
gate_fn: the function in place of the sigmoid.
activation_fn: the function in place of the hyperbolic tangent.
recurrent_kernel_init: makes each ``U`` from a key and a shape.
rng: a key.
batch_dims: the sizes of the axes of the batch.
size: the size of the memory; for a ConvLSTM the sizes of the window axes and of the features.
init_fn: makes each array of the carry from a key and a shape.
_cell.inputs: ``x``.
_cell.kernel_init: makes each ``W`` from a key and a shape.
_cell.bias_init: makes each bias from a key and a shape.
DummyDense.inputs: the inputs of the layer whose kernel and bias are made.
DummyDense.bias: whether the bias is a parameter; otherwise the bias is zeros.
ConvLSTM.inputs: ``x``, of shape ``[batch, *window axes, features]``.

query: an array of shape ``[batch, *axes, heads, channels]``.
key: an array of shape ``[batch, *axes, heads, channels]``.
value: an array of the shape of ``key``, but perhaps with another number of channels.
broadcast_dropout: whether all batches and heads drop the same weights.
dropout_rng: the key of the dropout; by default a key of ``make_rng``.
dropout_rate: the part of the weights that becomes zero.
deterministic: whether no weight becomes zero.
attention_axis: the axes that are attended over; by default all between the batch and the heads.
dot_product_attention.bias: added before the softmax.
dot_product_attention.axis: the axes that are attended over, like ``attention_axis`` elsewhere.
inputs_q: the array from which queries are made, of shape ``[batch, *axes, features]``.
inputs_kv: the array from which keys and values are made; None for ``inputs_q``.
num_heads: the number of heads.
qkv_features: the number of channels of all heads; by default the features of ``inputs_q``.
out_features: the features of the output; by default the features of ``inputs_q``.
causal_mask: whether no token attends to later tokens.
padding_mask: False for queries that are padding, of shape ``[batch, *axes, 1]``.
key_padding_mask: False for keys that are padding.
segmentation: the segment of each query, which attends to keys of the same segment only.
key_segmentation: the segment of each key.
cache: the keys and values of earlier tokens, if the input is one token, the next one.
attention_fn: the function in place of ``dot_product_attention``.
padding_mask_query: the mask of the queries, of shape ``[batch, *axes]``.
padding_mask_key: the mask of the keys, of shape ``[batch, *axes]``.
query_shape: the shape of the queries, with heads and channels.
key_shape: the shape of the keys, with heads and channels.
segmentation_mask: whether the masks are numbers of segments.

pool.init: the first value of each reduction.
pool.reduce_fn: reduces two numbers to one.
_rng: the key of the parameters.
name: the name of the module.
input_specs: ``(shape, dtype)`` for each of the first inputs.
args: positional arguments of ``apply``.
kwargs: arguments of ``apply`` by name.
params: the parameters that ``init`` returned.
"""
_MEANINGS = {name: text for name, _, text in (line.partition(": ") for line in _TEXT.split("\n"))}


def documented(function: Documented) -> Documented:
    """The function with a docstring that explains its arguments.

    Args:
      function: a method of a layer, or another function.
    """
    lines = ["Args:"]
    for argument in inspect.signature(function).parameters:
        if argument in ("self", "cls"):
            continue
        own = (f"{place}.{argument}" for place in function.__qualname__.split("."))
        meaning = next(_MEANINGS[key] for key in (*own, argument) if key in _MEANINGS)
        lines.append(f"  {argument}: {meaning}")
    function.__doc__ = "\n".join([inspect.cleandoc(function.__doc__ or ""), "", *lines])
    return function
