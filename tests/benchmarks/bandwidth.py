"""How much of the memory's bandwidth a step reaches: of Adam, and on a GPU of each optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

from flaxoptim_compat import catalogue, optim
from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import GENUINE, OURS, subjects
from tests.benchmarks.timing import Loop, interleaved

LEAVES = 4
ONE_EXPRESSION = "one expression"
ADDITION = "addition in place"
# Parameter, both moments and gradient are read, all but the gradient are written; float32.
BYTES = 7 * 4


class Moved:
    """Parameters and moments, under the name that parameters have in an optimizer."""

    def __init__(self, target: Any, *moments: Any) -> None:
        self.target = target
        self.moments = moments


jax.tree_util.register_pytree_node(
    Moved, lambda moved: ((moved.target, *moved.moments), None), lambda _, parts: Moved(*parts)
)


def one_expression(moved: Moved, grads: Any) -> Moved:
    """The same reads and writes as Adam, with as little arithmetic as possible."""

    def leaf(param: Any, first: Any, second: Any, grad: Any) -> Any:
        first, second = 0.9 * first + grad, 0.9 * second - grad
        return param - 1e-3 * (first + second), first, second

    each = jax.tree.map(leaf, moved.target, *moved.moments, grads)
    outer, inner = jax.tree.structure(moved.target), jax.tree.structure((0, 0, 0))
    return Moved(*jax.tree.transpose(outer, inner, each))


def measure(effort: Effort) -> Iterator[Measurement]:
    """Gigabytes a second of ours, beside an expression that XLA fuses into one loop.

    A GPU waits for its memory in nearly every step. There each optimizer has a row, beside the
    addition of a number to the parameters.
    """
    if jax.default_backend() == "gpu":
        params = parameters(128, (512, 512) if effort.quick else (2048, 2048))
        grads = gradients(params)
        for row in catalogue.PLAIN:
            effort.report(row.name)
            yield _beside_an_addition(effort, row.name, params, grads)
        del params, grads
    millions = 8 if effort.quick else 64
    effort.report(f"Adam, {millions} M parameters")
    params = parameters(LEAVES, (millions * 1024, 1024 // LEAVES))
    grads = gradients(params)
    zeros = jax.tree.map(jnp.zeros_like, params)
    starts: dict[str, Any] = {
        label: (each.step, each.create(params))
        for label, each in subjects("Adam").items()
        if label != GENUINE
    }
    starts[ONE_EXPRESSION] = (one_expression, Moved(params, zeros, zeros))
    loops = {
        # Every one its own arrays, to be overwritten in place.
        label: Loop(jax.jit(step, donate_argnums=0), jax.tree.map(jnp.copy, state), grads)
        for label, (step, state) in starts.items()
    }
    interleaved(loops, 2)
    seconds = interleaved(loops, effort.rounds(25))
    total = BYTES * sum(leaf.size for leaf in jax.tree.leaves(params))
    samples = {label: [total / each / 1e9 for each in values] for label, values in seconds.items()}
    bars = (Bar(OURS, ONE_EXPRESSION, 0.9, at_least=True),)
    yield Measurement("bandwidth", f"Adam, {millions} M parameters", "GB/s", samples, bars)


def _beside_an_addition(effort: Effort, name: str, params: Any, grads: Any) -> Measurement:
    optimizer = getattr(optim, name)(learning_rate=1e-3).create(params)
    # All that a step overwrites, and the gradient, which it reads.
    state = jax.tree.leaves(jax.tree.map(jnp.copy, optimizer))
    bytes_read = sum(leaf.nbytes for leaf in [*state, *jax.tree.leaves(grads)])
    moved = {
        OURS: bytes_read + sum(leaf.nbytes for leaf in state),
        ADDITION: 2 * sum(leaf.nbytes for leaf in jax.tree.leaves(params)),
    }
    del state
    step = jax.jit(lambda optimizer, grads: optimizer.apply_gradient(grads), donate_argnums=0)
    add = jax.jit(
        lambda moved, grads: Moved(jax.tree.map(lambda leaf: leaf + 1, moved.target)),
        donate_argnums=0,
    )
    loops = {
        OURS: Loop(step, jax.tree.map(jnp.copy, optimizer), grads),
        ADDITION: Loop(add, Moved(jax.tree.map(jnp.copy, params)), grads),
    }
    interleaved(loops, 2)
    seconds = interleaved(loops, effort.rounds(25), 4)
    samples = {
        label: [moved[label] / each / 1e9 for each in values] for label, values in seconds.items()
    }
    millions = sum(leaf.size for leaf in jax.tree.leaves(params)) // 1_000_000
    return Measurement("bandwidth", f"{name}, {millions} M parameters", "GB/s", samples)
