"""Cells: one step of a recurrent network, from a carry and inputs to the next carry and outputs."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import random

from flaxoptim_compat.nn import activation, initializers
from flaxoptim_compat.nn.arguments import documented
from flaxoptim_compat.nn.base import Module
from flaxoptim_compat.nn.linear import Conv, Dense, as_tuple, default_kernel_init

_orthogonal = initializers.orthogonal()


class RNNCellBase(Module):
    """The base class of all cells, with a method that makes the first carry."""

    @staticmethod
    @abc.abstractmethod
    @documented
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first carry."""


class _TwoMemories(RNNCellBase):
    """The base class of cells whose carry is two arrays: the memory and the last output."""

    @staticmethod
    @documented
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first memory and the first output."""
        shape = (*batch_dims, *as_tuple(size))
        first, second = random.split(rng)
        return init_fn(first, shape), init_fn(second, shape)


def _cell(step: Callable[..., Any]) -> Callable[..., Any]:
    """The ``apply`` of a cell with gates; its arguments are the same for all such cells.

    Args:
      step: computes one step, and takes these arguments in their order.
    """

    def apply(
        self: Any,
        carry: Any,
        inputs: Any,
        gate_fn: Any = activation.sigmoid,
        activation_fn: Any = activation.tanh,
        kernel_init: Any = default_kernel_init,
        recurrent_kernel_init: Any = _orthogonal,
        bias_init: Any = initializers.zeros,
    ) -> Any:
        inits = (kernel_init, recurrent_kernel_init, bias_init)
        return step(self, carry, inputs, gate_fn, activation_fn, *inits)

    apply.__doc__ = step.__doc__
    return documented(apply)


def _next_memory(memory: Any, gates: dict[str, Any], gate_fn: Any, activation_fn: Any) -> Any:
    i, f, o = gate_fn(gates["i"]), gate_fn(gates["f"]), gate_fn(gates["o"])
    memory = f * memory + i * activation_fn(gates["g"])
    hidden = o * activation_fn(memory)
    return (memory, hidden), hidden


class LSTMCell(_TwoMemories):
    @_cell
    def apply(self, carry: Any, inputs: Any, gate_fn: Any, activation_fn: Any, *inits: Any) -> Any:
        """Long short-term memory: ``c' = f·c + i·g`` and ``h' = o·tanh(c')``.

        ``i``, ``f`` and ``o`` are ``sigmoid(W x + U h + b)``, and ``g`` is ``tanh(W x + U h + b)``,
        each with its own ``W``, ``U`` and ``b``.
        """
        memory, hidden = carry
        of_inputs = functools.partial(Dense, inputs, hidden.shape[-1], bias=False)
        of_hidden = functools.partial(Dense, hidden, hidden.shape[-1], bias_init=inits[2])
        gates = {
            name: of_inputs(kernel_init=inits[0], name=f"i{name}")
            + of_hidden(kernel_init=inits[1], name=f"h{name}")
            for name in "ifgo"
        }
        return _next_memory(memory, gates, gate_fn, activation_fn)


class OptimizedLSTMCell(_TwoMemories):
    class DummyDense(Module):  # noqa: D106
        @documented
        def apply(
            self, inputs: Any, features: int, kernel_init: Any, bias_init: Any, bias: bool = True
        ) -> Any:
            """The kernel and the bias of a ``Dense``."""
            kernel = self.param("kernel", (inputs.shape[-1], features), kernel_init)
            if not bias:
                return kernel, jnp.zeros((features,))
            return kernel, self.param("bias", (features,), bias_init)

    @_cell
    def apply(self, carry: Any, inputs: Any, gate_fn: Any, activation_fn: Any, *inits: Any) -> Any:
        """``LSTMCell`` with the same parameters, in one product for all gates."""
        memory, hidden = carry
        made = {"features": hidden.shape[-1], "bias_init": inits[2]}
        of_inputs, of_hidden = [], []
        for name in "ifgo":
            kernel = self.DummyDense.partial(**made, name=f"i{name}")
            of_inputs.append(kernel(inputs, kernel_init=inits[0], bias=False))
            kernel = self.DummyDense.partial(**made, name=f"h{name}")
            of_hidden.append(kernel(hidden, kernel_init=inits[1]))
        from_inputs = _in_one_product(inputs, of_inputs, use_bias=False)
        from_hidden = _in_one_product(hidden, of_hidden, use_bias=True)
        gates = {name: h + i for name, h, i in zip("ifgo", from_hidden, from_inputs, strict=True)}
        return _next_memory(memory, gates, gate_fn, activation_fn)


def _in_one_product(inputs: Any, params: list[Any], use_bias: bool) -> Any:
    kernels, biases = zip(*params, strict=True)
    output = jnp.dot(inputs, jnp.asarray(jnp.concatenate(kernels, axis=-1), jnp.float32))
    if use_bias:
        output = output + jnp.asarray(jnp.concatenate(biases, axis=-1), jnp.float32)
    return jnp.split(output, len(kernels), axis=-1)


class GRUCell(RNNCellBase):
    @_cell
    def apply(self, carry: Any, inputs: Any, gate_fn: Any, activation_fn: Any, *inits: Any) -> Any:
        """A gated recurrent unit: ``h' = (1 - z)·n + z·h``.

        ``r`` and ``z`` are ``sigmoid(W x + b + U h)``, each with its own ``W``, ``b`` and ``U``,
        and ``n`` is ``tanh(W x + b + r·(U h + c))``.
        """
        hidden = carry
        dense = Dense.partial(features=hidden.shape[-1], bias_init=inits[2])
        of_inputs = dense.partial(inputs=inputs, kernel_init=inits[0])
        of_hidden = dense.partial(inputs=hidden, kernel_init=inits[1])
        r = gate_fn(of_inputs(name="ir") + of_hidden(bias=False, name="hr"))
        z = gate_fn(of_inputs(name="iz") + of_hidden(bias=False, name="hz"))
        n = activation_fn(of_inputs(name="in") + r * of_hidden(name="hn"))
        hidden = (1.0 - z) * n + z * hidden
        return hidden, hidden

    @staticmethod
    @documented
    def initialize_carry(
        rng: Any, batch_dims: Any, size: Any, init_fn: Any = initializers.zeros
    ) -> Any:
        """The first output."""
        return init_fn(rng, (*batch_dims, size))


class ConvLSTM(_TwoMemories):
    @documented
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
        """Long short-term memory of images, with convolutions for products.

        Shi et al.: Convolutional LSTM Network, https://arxiv.org/abs/1506.04214

        ``c' = sigmoid(f + 1)·c + sigmoid(i)·tanh(g)`` and ``h' = sigmoid(o)·tanh(c')``, where
        ``i``, ``g``, ``f`` and ``o`` are the quarters of two convolutions, of ``x`` and of ``h``.
        """
        memory, hidden = carry
        window = {"kernel_size": kernel_size, "strides": strides, "padding": padding}
        conv = Conv.partial(features=4 * features, **window, bias=bias, dtype=dtype)
        gates = conv(inputs, name="ih") + conv(hidden, name="hh")
        i, g, f, o = jnp.split(gates, 4, axis=-1)
        sigmoid = activation.sigmoid
        memory = sigmoid(f + 1) * memory + sigmoid(i) * jnp.tanh(g)
        hidden = sigmoid(o) * jnp.tanh(memory)
        return (memory, hidden), hidden
