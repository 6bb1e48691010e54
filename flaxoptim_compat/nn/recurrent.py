"""Cells: one step of a recurrent network, from a carry and inputs to the next carry and outputs."""

from __future__ import annotations

import abc
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import random

from flaxoptim_compat.nn import activation, initializers
from flaxoptim_compat.nn.linear import Conv, Dense, default_kernel_init
from flaxoptim_compat.nn.modules import Module

_orthogonal = initializers.orthogonal()


class RNNCellBase(Module):
    """What all cells have: a first carry."""

    @staticmethod
    @abc.abstractmethod
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first carry.

        Args:
          rng: a key.
          batch_dims: the sizes of the axes of the batch.
          size: the size of the memory.
          init_fn: makes it, of a key and a shape.
        """


class _TwoMemories(RNNCellBase):
    """Cells whose carry is two arrays: the memory and the last output."""

    @staticmethod
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first memory and output.

        Args:
          rng: a key.
          batch_dims: the sizes of the axes of the batch.
          size: the size of the memory.
          init_fn: makes both, of a key and a shape.
        """
        first, second = random.split(rng)
        shape = (*batch_dims, size)
        return init_fn(first, shape), init_fn(second, shape)


class LSTMCell(_TwoMemories):
    """Long short-term memory."""

    def apply(
        self,
        carry: Any,
        inputs: Any,
        gate_fn: Any = activation.sigmoid,
        activation_fn: Any = activation.tanh,
        kernel_init: Any = default_kernel_init,
        recurrent_kernel_init: Any = _orthogonal,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """``c' = f·c + i·g`` and ``h' = o·tanh(c')``.

        ``i``, ``f`` and ``o`` are ``sigmoid(W x + U h + b)``, and ``g`` is ``tanh(W x + U h + b)``,
        each with its own ``W``, ``U`` and ``b``.

        Args:
          carry: ``c`` and ``h``.
          inputs: ``x``.
          gate_fn: instead of the sigmoid.
          activation_fn: instead of the hyperbolic tangent.
          kernel_init: makes each ``W``, of a key and a shape.
          recurrent_kernel_init: makes each ``U``, of a key and a shape.
          bias_init: makes each ``b``, of a key and a shape.
        """
        memory, hidden = carry
        size = hidden.shape[-1]

        def gate(name: str) -> Any:
            of_inputs = Dense(inputs, size, bias=False, kernel_init=kernel_init, name=f"i{name}")
            return of_inputs + Dense(
                hidden,
                size,
                kernel_init=recurrent_kernel_init,
                bias_init=bias_init,
                name=f"h{name}",
            )

        return _next_memory(memory, {name: gate(name) for name in "ifgo"}, gate_fn, activation_fn)


def _next_memory(memory: Any, gates: dict[str, Any], gate_fn: Any, activation_fn: Any) -> Any:
    i, f, o = gate_fn(gates["i"]), gate_fn(gates["f"]), gate_fn(gates["o"])
    memory = f * memory + i * activation_fn(gates["g"])
    hidden = o * activation_fn(memory)
    return (memory, hidden), hidden


class OptimizedLSTMCell(_TwoMemories):
    """Long short-term memory with the parameters of ``LSTMCell``, in one product for all gates."""

    class DummyDense(Module):
        """The parameters of a ``Dense``."""

        def apply(
            self, inputs: Any, features: int, kernel_init: Any, bias_init: Any, bias: bool = True
        ) -> Any:
            """The kernel and the bias.

            Args:
              inputs: what it would be multiplied with.
              features: the size of the last axis of the output.
              kernel_init: makes the kernel, of a key and a shape.
              bias_init: makes the bias, of a key and a shape.
              bias: whether the bias is a parameter, and not zeros.
            """
            kernel = self.param("kernel", (inputs.shape[-1], features), kernel_init)
            if not bias:
                return kernel, jnp.zeros((features,))
            return kernel, self.param("bias", (features,), bias_init)

    def apply(
        self,
        carry: Any,
        inputs: Any,
        gate_fn: Any = activation.sigmoid,
        activation_fn: Any = activation.tanh,
        kernel_init: Any = default_kernel_init,
        recurrent_kernel_init: Any = _orthogonal,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """``c' = f·c + i·g`` and ``h' = o·tanh(c')``, as in ``LSTMCell``.

        Args:
          carry: ``c`` and ``h``.
          inputs: ``x``.
          gate_fn: instead of the sigmoid.
          activation_fn: instead of the hyperbolic tangent.
          kernel_init: makes each ``W``, of a key and a shape.
          recurrent_kernel_init: makes each ``U``, of a key and a shape.
          bias_init: makes each ``b``, of a key and a shape.
        """
        memory, hidden = carry
        size = hidden.shape[-1]
        of_inputs, of_hidden = [], []
        for name in "ifgo":
            made: dict[str, Any] = {"features": size, "bias_init": bias_init}
            of_inputs.append(
                self.DummyDense(
                    inputs, kernel_init=kernel_init, bias=False, name=f"i{name}", **made
                )
            )
            of_hidden.append(
                self.DummyDense(hidden, kernel_init=recurrent_kernel_init, name=f"h{name}", **made)
            )
        from_inputs = _in_one_product(inputs, of_inputs, use_bias=False)
        from_hidden = _in_one_product(hidden, of_hidden, use_bias=True)
        gates = {name: h + i for name, h, i in zip("ifgo", from_hidden, from_inputs, strict=True)}
        return _next_memory(memory, gates, gate_fn, activation_fn)


def _in_one_product(inputs: Any, params: list[Any], use_bias: bool) -> Any:
    kernels, biases = zip(*params, strict=True)
    output = jnp.dot(inputs, jnp.asarray(jnp.concatenate(kernels, axis=-1), jnp.float32))
    if use_bias:
        output = output + jnp.asarray(jnp.concatenate(biases, axis=-1), jnp.float32)
    ends = np.cumsum([bias.shape[0] for bias in biases[:-1]])
    return jnp.split(output, ends, axis=-1)


class GRUCell(RNNCellBase):
    """A gated recurrent unit."""

    def apply(
        self,
        carry: Any,
        inputs: Any,
        gate_fn: Any = activation.sigmoid,
        activation_fn: Any = activation.tanh,
        kernel_init: Any = default_kernel_init,
        recurrent_kernel_init: Any = _orthogonal,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        """``h' = (1 - z)·n + z·h``.

        ``r`` and ``z`` are ``sigmoid(W x + b + U h)``, each with its own ``W``, ``b`` and ``U``,
        and ``n`` is ``tanh(W x + b + r·(U h + c))``.

        Args:
          carry: ``h``.
          inputs: ``x``.
          gate_fn: instead of the sigmoid.
          activation_fn: instead of the hyperbolic tangent.
          kernel_init: makes each ``W``, of a key and a shape.
          recurrent_kernel_init: makes each ``U``, of a key and a shape.
          bias_init: makes each ``b`` and ``c``, of a key and a shape.
        """
        hidden = carry
        made: dict[str, Any] = {"features": hidden.shape[-1], "bias_init": bias_init}

        def of_inputs(name: str) -> Any:
            return Dense(inputs, kernel_init=kernel_init, name=f"i{name}", **made)

        def of_hidden(name: str, bias: bool = False) -> Any:
            init = recurrent_kernel_init
            return Dense(hidden, kernel_init=init, bias=bias, name=f"h{name}", **made)

        r = gate_fn(of_inputs("r") + of_hidden("r"))
        z = gate_fn(of_inputs("z") + of_hidden("z"))
        n = activation_fn(of_inputs("n") + r * of_hidden("n", bias=True))
        hidden = (1.0 - z) * n + z * hidden
        return hidden, hidden

    @staticmethod
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first output.

        Args:
          rng: a key.
          batch_dims: the sizes of the axes of the batch.
          size: the size of the memory.
          init_fn: makes it, of a key and a shape.
        """
        return init_fn(rng, (*batch_dims, size))


class ConvLSTM(RNNCellBase):
    """Long short-term memory of images, with convolutions for products.

    Shi et al.: Convolutional LSTM Network, https://arxiv.org/abs/1506.04214
    """

    def apply(
        self,
        carry: Any,
        inputs: Any,
        features: int,
        kernel_size: Any,
        strides: Any = None,
        padding: Any = "SAME",
        bias: bool = True,
        dtype: Any = jnp.float32,
    ) -> Any:
        """``c' = sigmoid(f + 1)·c + sigmoid(i)·tanh(g)`` and ``h' = sigmoid(o)·tanh(c')``.

        ``i``, ``g``, ``f`` and ``o`` are the quarters of two convolutions, of ``x`` and of ``h``.

        Args:
          carry: ``c`` and ``h``.
          inputs: ``x``, of shape ``[batch, *window axes, features]``.
          features: how many the memory has.
          kernel_size: the size of the window.
          strides: the steps from one window to the next; by default 1.
          padding: ``SAME``, ``VALID``, or how much before and after each axis of the window.
          bias: whether the convolutions have biases.
          dtype: of the computation.
        """
        memory, hidden = carry
        conv = Conv.partial(
            features=4 * features,
            kernel_size=kernel_size,
            strides=strides,
            padding=padding,
            bias=bias,
            dtype=dtype,
        )
        gates = conv(inputs, name="ih") + conv(hidden, name="hh")
        i, g, f, o = jnp.split(gates, 4, axis=-1)
        sigmoid = activation.sigmoid
        memory = sigmoid(f + 1) * memory + sigmoid(i) * jnp.tanh(g)
        hidden = sigmoid(o) * jnp.tanh(memory)
        return (memory, hidden), hidden

    @staticmethod
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first memory and output.

        Args:
          rng: a key.
          batch_dims: the sizes of the axes of the batch.
          size: the sizes of the axes of the window, and how many features there are.
          init_fn: makes both, of a key and a shape.
        """
        first, second = random.split(rng)
        shape = (*batch_dims, *size)
        return init_fn(first, shape), init_fn(second, shape)
