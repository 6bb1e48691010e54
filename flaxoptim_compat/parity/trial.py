"""A small model and its gradients, on which every known difference of optimizers shows.

The leaves are zero-initialised, single-element and wide. The gradients change their sign and their
size from step to step, and some are far below the usual eps.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_SHAPES = {
    "conv": {"kernel": (3, 3, 4, 8)},
    "dense": {"kernel": (24, 10), "bias": (10,)},
    "embed": {"embedding": (32, 16)},
    "norm": {"scale": (16,)},
    "temperature": (),
}
# The scales of the gradients at successive steps, which have both signs and a period of five.
_SCALES = (1.0, -0.03, 8.0, -0.3, 2.5)


def parameters(dtype: Any = jnp.float32) -> Any:
    """The parameters: random, but the bias is zero and the scale is one."""
    rng = np.random.default_rng(0)

    def leaf(path: tuple[Any, ...], shape: tuple[int, ...]) -> jax.Array:
        name = path[-1].key
        constant = {"bias": 0.0, "scale": 1.0}.get(name)
        values = rng.uniform(-1.0, 1.0, shape) if constant is None else np.full(shape, constant)
        return jnp.asarray(values, dtype)

    return jax.tree_util.tree_map_with_path(leaf, _SHAPES, is_leaf=lambda node: type(node) is tuple)


def drawn(shapes: Any) -> Any:
    """Parameters between -1 and 1 of any shapes, which may be arrays."""
    leaves, treedef = jax.tree.flatten(shapes)
    numbers = [2.0 * _uniform(leaf, number, 0) - 1.0 for number, leaf in enumerate(leaves)]
    pairs = zip(numbers, leaves, strict=True)
    return jax.tree.unflatten(treedef, [each.astype(leaf.dtype) for each, leaf in pairs])


def gradients(params: Any, step: Any) -> Any:
    """The gradients of a step, of any parameters; they do not depend on the values of these.

    Each element has a size of its own, from 1e-6 to 1 times that of the step.
    """
    leaves, treedef = jax.tree.flatten(params)
    scale = jnp.asarray(_SCALES, jnp.float32)[jnp.asarray(step) % len(_SCALES)]

    def gradient(number: int, leaf: Any) -> jax.Array:
        size = jnp.exp2(-20.0 * _uniform(leaf, 2 * number, 0))
        # A quarter above the middle gives each step a direction, else momenta would only cancel.
        drawn = 2.0 * _uniform(leaf, 2 * number + 1, step) - 0.75
        dtype = jnp.result_type(leaf)
        return (scale * size * drawn).astype(
            dtype if jnp.issubdtype(dtype, jnp.inexact) else jnp.float32
        )

    return jax.tree.unflatten(treedef, list(map(gradient, range(len(leaves)), leaves)))


def small(steps: int) -> tuple[Any, list[Any]]:
    """Parameters and gradients of a part of the model, which compiles faster than all of it.

    The parameters are a matrix, a bias that starts as zeros, and a vector.
    """
    params = {name: parameters()[name] for name in ("dense", "norm")}
    step_of = jax.jit(lambda step: gradients(params, step))
    return params, [jax.device_get(step_of(step)) for step in range(steps)]


def _uniform(leaf: Any, stream: int, step: Any) -> jax.Array:
    """Numbers from 0 to 1 that look random: a hash of the index, in a few integer operations.

    The numbers of jax.random take longer to compile than any optimizer.
    """
    shape = jnp.shape(leaf)
    place = jnp.arange(math.prod(shape), dtype=jnp.uint32).reshape(shape)
    bits = _mixed(jnp.asarray(step, jnp.uint32) + _mixed(jnp.uint32(stream)))
    bits = _mixed(place + bits)
    # 24 bits are a float32 exactly.
    return (bits >> 8).astype(jnp.float32) * 2.0**-24


def _mixed(bits: jax.Array) -> jax.Array:
    """The finalizer of MurmurHash3: each bit of the result depends on all bits of the input."""
    bits = (bits ^ (bits >> 16)) * jnp.uint32(0x85EBCA6B)
    bits = (bits ^ (bits >> 13)) * jnp.uint32(0xC2B2AE35)
    return bits ^ (bits >> 16)
