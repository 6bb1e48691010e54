"""Linear maps of the features: dense, by convolution, and by index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from flaxoptim_compat.nn import initializers
from flaxoptim_compat.nn.arguments import documented
from flaxoptim_compat.nn.base import Module, module_method

default_kernel_init = initializers.lecun_normal()
default_embed_init = initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)


def as_tuple(value: Any) -> tuple[Any, ...]:
    """The items of an iterable, or a single value, as a tuple."""
    return tuple(value) if isinstance(value, Iterable) else (value,)


class DenseGeneral(Module):
    @documented
    def apply(
        self,
        inputs: Any,
        features: Any,
        axis: Any = -1,
        batch_dims: Any = (),
        bias: bool = True,
        dtype: Any = jnp.float32,
        kernel_init: Any = default_kernel_init,
        bias_init: Any = initializers.zeros,
        precision: Any = None,
    ) -> Any:
        """``inputs · kernel + bias``, summed over some axes."""
        inputs = jnp.asarray(inputs, dtype)
        features, batch_dims = as_tuple(features), as_tuple(batch_dims)
        if batch_dims and set(batch_dims) != set(range(max(batch_dims) + 1)):
            raise ValueError(
                f"`batch_dims` is {batch_dims}. Give the first axes, `(0, 1, ...)`, without a gap."
            )
        axis = tuple(number if number >= 0 else inputs.ndim + number for number in as_tuple(axis))
        batch_shape = tuple(inputs.shape[number] for number in batch_dims)
        summed_shape = tuple(inputs.shape[number] for number in axis)
        batches = tuple(range(len(batch_dims)))
        summed = tuple(range(len(batches), len(batches) + len(axis)))

        def for_each_batch(init: Any, *size: int) -> Any:
            def init_all(rng: Any, shape: Any) -> Any:
                # With the same key, so that all kernels begin with the same numbers.
                one_each = [init(rng, size, jnp.float32) for _ in range(math.prod(batch_shape))]
                return jnp.reshape(jnp.concatenate(one_each, axis=0), shape)

            return init_all

        init = for_each_batch(kernel_init, math.prod(summed_shape), math.prod(features))
        kernel = self.param("kernel", batch_shape + summed_shape + features, init)
        pairs = ((axis, summed), (batch_dims, batches))
        output = lax.dot_general(inputs, jnp.asarray(kernel, dtype), pairs, precision=precision)
        if not bias:
            return output
        init = for_each_batch(bias_init, math.prod(features))
        added = self.param("bias", batch_shape + features, init)
        for kept in sorted(set(range(inputs.ndim)) - {*axis, *batch_dims}):
            added = jnp.expand_dims(added, kept)
        return output + jnp.asarray(added, dtype)


class Dense(Module):
    @documented
    def apply(
        self,
        inputs: Any,
        features: int,
        bias: bool = True,
        dtype: Any = jnp.float32,
        precision: Any = None,
        kernel_init: Any = default_kernel_init,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """``inputs · kernel + bias`` over the last axis."""
        inputs = jnp.asarray(inputs, dtype)
        kernel = self.param("kernel", (inputs.shape[-1], features), kernel_init)
        summed = (((inputs.ndim - 1,), (0,)), ((), ()))
        output = lax.dot_general(inputs, jnp.asarray(kernel, dtype), summed, precision=precision)
        return _with_bias(self, output, features, bias, dtype, bias_init)


def _with_bias(
    module: Module, output: Any, features: int, bias: bool, dtype: Any, bias_init: Any
) -> Any:
    if not bias:
        return output
    return output + jnp.asarray(module.param("bias", (features,), bias_init), dtype)


def _with_batch(inputs: Any, kernel_size: Any) -> tuple[Any, tuple[int, ...], bool]:
    """The inputs with an axis for the batch, the kernel's axes, and whether there was a batch."""
    size = (kernel_size,) if isinstance(kernel_size, int) else kernel_size
    if inputs.ndim == len(size) + 1:
        return jnp.expand_dims(inputs, axis=0), size, False
    return inputs, size, True


def _conv_dimension_numbers(input_shape: Sequence[int]) -> lax.ConvDimensionNumbers:
    """Dimension numbers with the features last, in inputs, kernel and outputs."""
    window = tuple(range(1, len(input_shape) - 1))
    last = len(input_shape) - 1
    data = (0, last, *window)
    return lax.ConvDimensionNumbers(data, (last, last - 1, *range(last - 1)), data)


class Conv(Module):
    @documented
    def apply(
        self,
        inputs: Any,
        features: int,
        kernel_size: Any,
        strides: Any = None,
        padding: Any = "SAME",
        input_dilation: Any = None,
        kernel_dilation: Any = None,
        feature_group_count: int = 1,
        bias: bool = True,
        dtype: Any = jnp.float32,
        precision: Any = None,
        kernel_init: Any = default_kernel_init,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """The convolution of the inputs with a kernel, plus a bias."""
        inputs, kernel_size, has_batch = _with_batch(jnp.asarray(inputs, dtype), kernel_size)
        if inputs.shape[-1] % feature_group_count:
            raise AssertionError(
                f"{inputs.shape[-1]} features are not {feature_group_count} groups of one size."
                " Give a `feature_group_count` that divides the features of the inputs."
            )
        in_group = inputs.shape[-1] // feature_group_count
        kernel = self.param("kernel", (*kernel_size, in_group, features), kernel_init)
        output = lax.conv_general_dilated(
            inputs,
            jnp.asarray(kernel, dtype),
            (1,) * (inputs.ndim - 2) if strides is None else strides,
            padding,
            lhs_dilation=input_dilation,
            rhs_dilation=kernel_dilation,
            dimension_numbers=_conv_dimension_numbers(inputs.shape),
            feature_group_count=feature_group_count,
            precision=precision,
        )
        output = output if has_batch else jnp.squeeze(output, axis=0)
        return _with_bias(self, output, features, bias, dtype, bias_init)


class ConvTranspose(Module):
    @documented
    def apply(
        self,
        inputs: Any,
        features: int,
        kernel_size: Any,
        strides: Any = None,
        padding: Any = "SAME",
        kernel_dilation: Any = None,
        bias: bool = True,
        dtype: Any = jnp.float32,
        precision: Any = None,
        kernel_init: Any = default_kernel_init,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """The transposed convolution of the inputs with a kernel, plus a bias: images grow."""
        inputs, kernel_size, has_batch = _with_batch(jnp.asarray(inputs, dtype), kernel_size)
        kernel = self.param("kernel", (*kernel_size, inputs.shape[-1], features), kernel_init)
        output = lax.conv_transpose(
            inputs,
            jnp.asarray(kernel, dtype),
            strides or (1,) * (inputs.ndim - 2),
            padding,
            rhs_dilation=kernel_dilation,
            precision=precision,
        )
        output = output if has_batch else jnp.squeeze(output, axis=0)
        return _with_bias(self, output, features, bias, dtype, bias_init)


class Embed(Module):
    @documented
    def apply(
        self,
        inputs: Any,
        num_embeddings: int,
        features: int,
        embedding_init: Any = default_embed_init,
    ) -> Any:
        """The vectors at the indices in ``inputs``."""
        if not jnp.issubdtype(inputs.dtype, jnp.integer):
            raise ValueError(f"Embed takes integers, not {inputs.dtype}: convert the inputs.")
        return self.param("embedding", (num_embeddings, features), embedding_init)[inputs]

    @module_method
    @documented
    def attend(self: Any, query: Any, **unused_kwargs: Any) -> Any:
        """The product of vectors with each embedding."""
        del unused_kwargs
        summed = (((query.ndim - 1,), (1,)), ((), ()))
        return lax.dot_general(query, self.get_param("embedding"), summed)
