"""Keep moments in the dtype they started with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.transforms.casting import dtype_of, with_dtype


def keep_dtypes(
    inner: optax.GradientTransformation,
) -> optax.GradientTransformationExtraArgs:
    """Give every array in the new state of a transformation the dtype it had in the old one.

    A float32 learning rate would widen moments in half precision, and a ``lax.scan`` over the steps
    would refuse its own result.
    """

    def cast(new: Any, old: Any) -> Any:
        dtype = dtype_of(old)
        return with_dtype(new, dtype) if jnp.issubdtype(dtype, jnp.inexact) else new

    inner_update = optax.with_extra_args_support(inner).update

    def update(updates: Any, state: Any, params: Any = None, **extra_args: Any) -> tuple[Any, Any]:
        new_updates, new_state = inner_update(updates, state, params, **extra_args)
        return new_updates, jax.tree.map(cast, new_state, state)

    return optax.GradientTransformationExtraArgs(inner.init, update)
