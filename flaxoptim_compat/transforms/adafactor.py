"""Stages of Adafactor that have other arithmetic in optax than in flax.optim, or are slower."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms.casting import with_dtype
from flaxoptim_compat.transforms.inlined import inlined
from flaxoptim_compat.transforms.parameters import require_parameters


def in_float32(inner: optax.GradientTransformation) -> optax.GradientTransformation:
    """Run a transformation in float32, its state included, whatever dtype the parameters have.

    The transformation gets the real part of complex numbers.
    """

    def cast(tree: Any) -> Any:
        return jax.tree.map(lambda leaf: with_dtype(leaf, jnp.float32), tree)

    def init(params: Any) -> Any:
        return inner.init(cast(params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        params = None if params is None else cast(params)
        new_updates, new_state = inner.update(cast(updates), state, params)
        return new_updates, new_state

    return optax.GradientTransformation(init, update)


def scale_by_factored_rms(**arguments: Any) -> optax.GradientTransformation:
    """``optax.scale_by_factored_rms`` that leaves unused arrays of its state unchanged.

    The state of a parameter has either the two factors of its second moment or the whole moment.
    The unused fields have arrays of shape (1,), which optax makes anew in each step: two or three
    kernels for each parameter, and buffers that cannot be reused.

    Args:
      **arguments: the arguments of optax's function.
    """
    inner = optax.scale_by_factored_rms(**arguments)

    def update(
        updates: Any, state: optax.FactoredState, params: Any = None
    ) -> tuple[Any, optax.FactoredState]:
        new_updates, new = inner.update(updates, state, params)

        def kept(fresh: Any, old: Any, whole: bool) -> Any:
            # The whole second moment is in use if it has the shape of the parameter, or of a
            # gradient to which the parameter broadcasts.
            def choose(leaf: Any, param: Any, grad: Any, moment: Any, before: Any) -> Any:
                in_use = (moment.shape == jnp.broadcast_shapes(param.shape, grad.shape)) is whole
                return leaf if in_use or leaf.shape != before.shape else before

            return jax.tree.map(choose, fresh, params, updates, new.v, old)

        return new_updates, new._replace(
            v_row=kept(new.v_row, state.v_row, whole=False),
            v_col=kept(new.v_col, state.v_col, whole=False),
            v=kept(new.v, state.v, whole=True),
        )

    return optax.GradientTransformation(inner.init, update)


def scale_in_float32(step_size: Any) -> optax.GradientTransformation:
    """``optax.scale`` with the factor in float32, like the update that ``in_float32`` makes.

    A factor with 64 bits would widen the update if it is an array; a plain number does not.

    Args:
      step_size: the factor.
    """
    return optax.scale(jnp.asarray(step_size, jnp.float32))


def scale_by_rate_and_parameter_rms(
    learning_rate: Any, min_scale: Any = 1e-3
) -> optax.GradientTransformation:
    """Scale each update by the rate times the root mean square of its parameter.

    ``update · (learning_rate · max(√mean(p²), min_scale))``.

    ``optax.adafactor`` multiplies by both one after the other, which rounds differently, and fixes
    ``min_scale`` at 1e-3.

    Args:
      learning_rate: the step size relative to the size of the parameter.
      min_scale: the least size assumed, so that a zero parameter can move.
    """

    def scaled(update: jax.Array, param: jax.Array) -> jax.Array:
        return _scaled(update, param, learning_rate, min_scale)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        require_parameters("scale_by_rate_and_parameter_rms", params)
        return jax.tree.map(scaled, updates, params), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)


@inlined
def _scaled(update: jax.Array, param: jax.Array, learning_rate: Any, min_scale: Any) -> jax.Array:
    size = jnp.maximum(jnp.sqrt(jnp.mean(param * param)), min_scale)
    scaled_update: jax.Array = (learning_rate * size) * update
    return scaled_update
