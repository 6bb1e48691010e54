"""Linear maps of the features: dense, by convolution, and by index."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax

from flaxoptim_compat.nn import initializers
from flaxoptim_compat.nn.modules import Module, module_method

default_kernel_init = initializers.lecun_normal()
default_embed_init = initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Iterable) else (value,)


class DenseGeneral(Module):
    """``inputs · kernel + bias``, summed over some axes."""

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
        """``inputs · kernel + bias``, summed over some axes.

        Args:
          inputs: an array.
          features: the sizes of the axes that take the place of those summed over, at the end.
          axis: those summed over.
          batch_dims: the first axes, if each index of theirs has a kernel of its own.
          bias: whether there is a bias.
          dtype: of the computation.
          kernel_init: makes the kernel, of a key and the shape as a matrix.
          bias_init: makes the bias, of a key and its size.
          precision: of the product; see ``jax.lax.Precision``.
        """
        inputs = jnp.asarray(inputs, dtype)
        features, batch_dims = _as_tuple(features), _as_tuple(batch_dims)
        if batch_dims and set(batch_dims) != set(range(max(batch_dims) + 1)):
            raise ValueError(f"batch_dims is {batch_dims}: it must be the first axes, (0, 1, ...).")
        axis = tuple(each if each >= 0 else inputs.ndim + each for each in _as_tuple(axis))
        batch_shape = tuple(inputs.shape[each] for each in batch_dims)
        summed_shape = tuple(inputs.shape[each] for each in axis)
        batches, summed = len(batch_dims), len(axis)

        def init_kernel(rng: Any, shape: Any, dtype: Any = jnp.float32) -> Any:
            matrix = (math.prod(summed_shape), math.prod(features))
            # The same key for all, so that they begin with the same numbers.
            one_each = [kernel_init(rng, matrix, dtype) for _ in range(math.prod(batch_shape))]
            return jnp.reshape(jnp.concatenate(one_each, axis=0), shape)

        def init_bias(rng: Any, shape: Any, dtype: Any = jnp.float32) -> Any:
            size = (math.prod(features),)
            one_each = [bias_init(rng, size, dtype) for _ in range(math.prod(batch_shape))]
            return jnp.reshape(jnp.concatenate(one_each, axis=0), shape)

        kernel = self.param("kernel", batch_shape + summed_shape + features, init_kernel)
        of_kernel = tuple(range(batches, batches + summed)), tuple(range(batches))
        output = lax.dot_general(
            inputs,
            jnp.asarray(kernel, dtype),
            ((axis, of_kernel[0]), (batch_dims, of_kernel[1])),
            precision=precision,
        )
        if not bias:
            return output
        added = self.param("bias", batch_shape + features, init_bias)
        for kept in sorted(set(range(inputs.ndim)) - {*axis, *batch_dims}):
            added = jnp.expand_dims(added, kept)
        return output + jnp.asarray(added, dtype)


class Dense(Module):
    """``inputs · kernel + bias`` over the last axis."""

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
        """``inputs · kernel + bias`` over the last axis.

        Args:
          inputs: an array.
          features: the size of the last axis of the output.
          bias: whether there is a bias.
          dtype: of the computation.
          precision: of the product; see ``jax.lax.Precision``.
          kernel_init: makes the kernel, of a key and a shape.
          bias_init: makes the bias, of a key and a shape.
        """
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
    """Features last, in the inputs, the kernel and the outputs."""
    window = tuple(range(1, len(input_shape) - 1))
    last = len(input_shape) - 1
    data = (0, last, *window)
    return lax.ConvDimensionNumbers(data, (last, last - 1, *range(last - 1)), data)


class Conv(Module):
    """A convolution with a kernel, and a bias."""

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
        """A convolution with a kernel, and a bias.

        Args:
          inputs: of shape ``[batch, *window axes, features]``, or without the batch.
          features: how many the output has.
          kernel_size: the size of the window; a number for one axis.
          strides: the steps from one window to the next; by default 1.
          padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
          input_dilation: the steps between inputs, with zeros between them.
          kernel_dilation: the steps between the inputs that one window takes.
          feature_group_count: in how many groups the features are, each seen by its own kernel.
          bias: whether there is a bias.
          dtype: of the computation.
          precision: of the products; see ``jax.lax.Precision``.
          kernel_init: makes the kernel, of a key and a shape.
          bias_init: makes the bias, of a key and a shape.
        """
        inputs, kernel_size, has_batch = _with_batch(jnp.asarray(inputs, dtype), kernel_size)
        if inputs.shape[-1] % feature_group_count:
            raise AssertionError(
                f"{inputs.shape[-1]} features are not {feature_group_count} groups of one size."
            )
        seen = inputs.shape[-1] // feature_group_count
        kernel = self.param("kernel", (*kernel_size, seen, features), kernel_init)
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
    """The transpose of a convolution, and a bias: it makes images larger."""

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
        """The transpose of a convolution, and a bias: it makes images larger.

        Args:
          inputs: of shape ``[batch, *window axes, features]``, or without the batch.
          features: how many the output has.
          kernel_size: the size of the window; a number for one axis.
          strides: how many times larger the output is; by default 1.
          padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
          kernel_dilation: the steps between the outputs that one window reaches.
          bias: whether there is a bias.
          dtype: of the computation.
          precision: of the products; see ``jax.lax.Precision``.
          kernel_init: makes the kernel, of a key and a shape.
          bias_init: makes the bias, of a key and a shape.
        """
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
    """A vector for each of some numbers."""

    def apply(
        self,
        inputs: Any,
        num_embeddings: int,
        features: int,
        embedding_init: Any = default_embed_init,
    ) -> Any:
        """A vector for each of some numbers.

        Args:
          inputs: numbers from 0 on, of an integer dtype.
          num_embeddings: how many vectors there are.
          features: the size of a vector.
          embedding_init: makes the vectors, of a key and a shape.
        """
        if not jnp.issubdtype(inputs.dtype, jnp.integer):
            raise ValueError(f"Embed takes integers, not {inputs.dtype}.")
        return self.param("embedding", (num_embeddings, features), embedding_init)[inputs]

    @module_method
    def attend(self: Any, query: Any, **unused_kwargs: Any) -> Any:
        """The product of vectors with each embedding.

        Args:
          query: the vectors, in the last axis.
          unused_kwargs: arguments of ``apply`` that are settled.
        """
        del unused_kwargs
        summed = (((query.ndim - 1,), (1,)), ((), ()))
        return lax.dot_general(query, self.get_param("embedding"), summed)
