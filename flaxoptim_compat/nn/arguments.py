"""The arguments of layers: each meaning stands here once, for all layers that take it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Documented = TypeVar("Documented", bound=Callable[..., Any])

# An argument of one layer or function alone has its name before the dot.
_TEXT = """
axis: those summed over.
bias: whether there is a bias.
bias_init: makes the bias, of a key and a shape.
dtype: of the computation.
epsilon: what is added to the variance.
features: how many the output has.
inputs: an array.
kernel_init: makes the kernel, of a key and a shape.
kernel_size: the size of the window; a number for one axis.
padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
precision: of the products; see ``jax.lax.Precision``.
scale: whether there is a scale.
scale_init: makes the scale, of a key and a shape.
strides: the steps from one window to the next; by default 1.
window_shape: the size of a window.

DenseGeneral.features: the sizes of the axes that take the place of those summed over, at the end.
DenseGeneral.batch_dims: the first axes, if each index of theirs has a kernel of its own.
DenseGeneral.kernel_init: makes the kernel, of a key and the shape as a matrix.
Conv.inputs: of shape ``[batch, *window axes, features]``, or without the batch.
Conv.input_dilation: the steps between inputs, with zeros between them.
Conv.kernel_dilation: the steps between the inputs that one window takes.
Conv.feature_group_count: in how many groups the features are, each seen by its own kernel.
ConvTranspose.inputs: of shape ``[batch, *window axes, features]``, or without the batch.
ConvTranspose.strides: how many times larger the output is; by default 1.
ConvTranspose.kernel_dilation: the steps between the outputs that one window reaches.
Embed.inputs: numbers from 0 on, of an integer dtype.
Embed.num_embeddings: how many vectors there are.
Embed.features: the size of a vector.
Embed.embedding_init: makes the vectors, of a key and a shape.
attend.query: the vectors, in the last axis.
attend.unused_kwargs: arguments of ``apply`` that are settled.

BatchNorm.x: an array.
BatchNorm.batch_stats: the collection of the averages; by default that of ``stateful``, if any.
BatchNorm.use_running_average: whether mean and variance are those averages, not of ``x``.
BatchNorm.axis: those of the features; mean and variance are over all others.
BatchNorm.momentum: how much of an average stays with each step.
BatchNorm.dtype: of the output.
BatchNorm.axis_name: the axis of ``pmap`` over which means are taken as well.
BatchNorm.axis_index_groups: groups of devices on that axis, each with its own mean.
LayerNorm.x: an array with the features in the last axis.
LayerNorm.dtype: of the output.
GroupNorm.x: of shape ``[batch, ..., features]``.
GroupNorm.num_groups: how many groups there are.
GroupNorm.group_size: how many features each has; then ``num_groups`` is None.
GroupNorm.dtype: of the output.

carry: ``c`` and ``h``; of a GRUCell ``h``.
gate_fn: instead of the sigmoid.
activation_fn: instead of the hyperbolic tangent.
recurrent_kernel_init: makes each ``U``, of a key and a shape.
rng: a key.
batch_dims: the sizes of the axes of the batch.
size: the size of the memory; of a ConvLSTM those of the axes of the window, and of the features.
init_fn: makes each array of the carry, of a key and a shape.
_cell.inputs: ``x``.
_cell.kernel_init: makes each ``W``, of a key and a shape.
_cell.bias_init: makes each bias, of a key and a shape.
DummyDense.inputs: what it would be multiplied with.
DummyDense.bias: whether the bias is a parameter, and not zeros.
ConvLSTM.inputs: ``x``, of shape ``[batch, *window axes, features]``.

query: of shape ``[batch, *axes, heads, channels]``.
key: likewise.
value: likewise, where the number of channels may be another one.
broadcast_dropout: whether all batches and heads drop the same weights.
dropout_rng: the key of the dropout; by default one of ``make_rng``.
dropout_rate: which part of the weights becomes zero.
deterministic: whether none does.
attention_axis: the axes that are attended over; by default all between the batch and the heads.
dot_product_attention.bias: added before the softmax.
dot_product_attention.axis: the axes that are attended over, as ``attention_axis`` elsewhere.
inputs_q: what the queries are made of, of shape ``[batch, *axes, features]``.
inputs_kv: what the keys and values are made of; None if that is ``inputs_q``.
num_heads: how many heads there are.
qkv_features: how many channels all heads have; by default the features of ``inputs_q``.
out_features: the features of the output; by default those of ``inputs_q``.
causal_mask: whether nothing attends to what comes after it.
padding_mask: False for the queries that are padding, of shape ``[batch, *axes, 1]``.
key_padding_mask: False for the keys that are padding.
segmentation: which segment a query is of; it attends to that segment only.
key_segmentation: which segment a key is of.
cache: the keys and values so far, if the input is one token, the next one.
attention_fn: instead of ``dot_product_attention``.
padding_mask_query: of the queries, of shape ``[batch, *axes]``.
padding_mask_key: of the keys, likewise.
query_shape: the shape of the queries, with heads and channels.
key_shape: that of the keys.
segmentation_mask: whether the masks are numbers of segments.

pool.init: what each reduction begins with.
pool.reduce_fn: reduces two numbers to one.
_rng: the key of the parameters.
name: of the module.
input_specs: ``(shape, dtype)`` for each of the first inputs.
args: those of ``apply`` that are not named here.
kwargs: those of ``apply``.
params: as ``init`` returned them.
"""
_MEANINGS = {name: text for name, _, text in (line.partition(": ") for line in _TEXT.split("\n"))}


def documented(function: Documented) -> Documented:
    """A function, whose documentation now explains its arguments.

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
