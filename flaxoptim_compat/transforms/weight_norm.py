"""Weight normalisation as a wrapper around any optax transformation."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat.transforms.casting import with_update
from flaxoptim_compat.transforms.parameters import require_parameters


class WeightNormState(NamedTuple):
    """Both factors of every parameter, and the state of the transformation that moves them."""

    direction: Any
    scale: Any
    inner_state: Any


def is_normalised(param: Any) -> bool:
    """True if a parameter is more than one vector: biases and scalars are not normalised."""
    return np.ndim(param) > 0 and param.size > param.shape[-1]


def squared_norms(direction: jax.Array, eps: Any) -> jax.Array:
    """The squared norm of every output column, plus eps, never 0."""
    return _squares(direction, eps)[1]


def _squares(direction: jax.Array, eps: Any) -> tuple[jax.Array, jax.Array]:
    axes = tuple(range(direction.ndim - 1))
    squares = jnp.square(direction).sum(axes, keepdims=True) + eps
    # A column of zeros with eps = 0 (or an eps that the dtype cannot hold) would be 0/0.
    return squares, jnp.where(squares == 0, jnp.ones_like(squares), squares)


def split(params: Any, eps: Any) -> tuple[Any, Any]:
    """Split ``w`` into ``direction = w / scale`` and ``scale = √(Σw² + eps)``.

    The sum is over all axes but the last. A parameter that is not normalised is its own direction,
    and ``()`` is its scale.
    """

    def scale_of(param: jax.Array) -> Any:
        return jnp.sqrt(squared_norms(param, eps)) if is_normalised(param) else ()

    scale = jax.tree.map(scale_of, params)
    direction = jax.tree.map(
        lambda param, size: param / size if is_normalised(param) else param, params, scale
    )
    return direction, scale


def merge(direction: Any, scale: Any, eps: Any) -> Any:
    """The parameters ``w = direction · scale / √(Σdirection² + eps)``."""

    def merged(vector: jax.Array, size: Any) -> jax.Array:
        if not is_normalised(vector):
            return vector
        weight: jax.Array = vector * (size * jax.lax.rsqrt(squared_norms(vector, eps)))
        return weight

    return jax.tree.map(merged, direction, scale)


def split_gradient(grads: Any, direction: Any, scale: Any, decay: Any, eps: Any) -> tuple[Any, Any]:
    """The gradients of both factors, with ``decay · direction`` added to that of the direction.

    The operations are those of ``jax.vjp`` for ``merge``, one by one. Since jax 0.12 ``jax.vjp``
    would run some operations together outside jit, and round them together.
    """

    def of_both(grad: jax.Array, vector: jax.Array, size: Any) -> tuple[jax.Array, Any]:
        if not is_normalised(vector):
            return grad, ()
        grad = jnp.asarray(grad)
        squares, never_zero = _squares(vector, eps)
        inverse = jax.lax.rsqrt(never_zero)
        along = _sum_as_transposed(vector * grad)
        of_squares = size * along * (-0.5 * (inverse / never_zero))
        of_squares = jnp.where(squares == 0, jnp.zeros_like(of_squares), of_squares)
        of_direction = grad * (size * inverse) + of_squares * (2.0 * vector)
        return of_direction + decay * vector, along * inverse

    both = jax.tree.map(of_both, grads, direction, scale)
    of_direction, of_scale = (
        jax.tree.map(lambda _, pair, index=index: pair[index], grads, both) for index in (0, 1)
    )
    return of_direction, of_scale


def _sum_as_transposed(array: jax.Array) -> jax.Array:
    """The sum of every output column in the array's own dtype; jax.numpy would use a wider one."""
    axes = tuple(range(array.ndim - 1))
    summed = jax.lax.reduce(array, np.zeros((), array.dtype), jax.lax.add, axes)
    return jax.lax.expand_dims(summed, axes)


def weight_norm(
    inner: optax.GradientTransformation, decay: Any = 0.0, eps: Any = 1e-8
) -> optax.GradientTransformationExtraArgs:
    """Let a transformation move the direction and the length of each weight vector separately.

    ``w = scale · direction / ‖direction‖`` (Salimans and Kingma, 2016,
    https://arxiv.org/abs/1602.07868); the output axis is the last one, and parameters with a single
    vector, such as biases, go to ``inner`` unchanged. Each step starts from the factors in the
    state: a parameter that was changed outside the step returns to their product.

    Args:
      inner: the transformation, which gets ``{"direction": …, "scale": …}``, and extra arguments
        unchanged.
      decay: coefficient of the decay added to the gradient of the direction.
      eps: added to the squared norm.
    """

    def init(params: Any) -> WeightNormState:
        direction, scale = split(params, eps)
        # A bias is its own direction, but its buffer must not be donated for both.
        direction = jax.tree.map(jnp.copy, direction)
        return WeightNormState(
            direction, scale, inner.init({"direction": direction, "scale": scale})
        )

    inner = optax.with_extra_args_support(inner)

    def update(
        updates: Any, state: WeightNormState, params: Any = None, **extra_args: Any
    ) -> tuple[Any, WeightNormState]:
        require_parameters("weight_norm", params)
        direction, scale = state.direction, state.scale
        direction_grad, scale_grad = split_gradient(updates, direction, scale, decay, eps)
        factors = {"direction": direction, "scale": scale}
        changes, inner_state = inner.update(
            {"direction": direction_grad, "scale": scale_grad},
            state.inner_state,
            factors,
            **extra_args,
        )
        factors = jax.tree.map(with_update, factors, changes)
        merged = merge(factors["direction"], factors["scale"], eps)
        difference = jax.tree.map(lambda new, old: new - old, merged, params)
        return difference, WeightNormState(factors["direction"], factors["scale"], inner_state)

    return optax.GradientTransformationExtraArgs(init, update)
