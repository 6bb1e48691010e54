"""Models of Flax NNX with any parameters, and steps of the optimizers that move them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.versions.allowed import numbers, version_of

needs_nnx = pytest.mark.skipif(
    numbers(version_of("flax") or "") < (0, 11), reason="nnx.Optimizer has wrt since flax 0.11"
)


def model_like(params: Any) -> Any:
    """A model with lists and attributes like nested lists and mappings; all are zeros."""
    return _model_class()(params)


@functools.cache
def _model_class() -> Any:
    from flax import nnx

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, below: Mapping[str, Any]) -> None:
            for name, value in below.items():
                setattr(self, name, made(value))

    def made(value: Any) -> Any:
        if isinstance(value, list):
            modules = [made(each) for each in value]
            return nnx.List(modules) if hasattr(nnx, "List") else modules
        return Model(value) if isinstance(value, Mapping) else nnx.Param(jnp.zeros_like(value))

    return Model


def gradients_like(model: Any, grads: Any) -> Any:
    """Gradients as ``nnx.grad`` gives them, of the values in nested mappings of the same names."""
    from flax import nnx

    state = nnx.state(model, nnx.Param)
    nnx.replace_by_pure_dict(state, grads)
    return state


def step_by_operation(optimizer: Any, model: Any, grads: Any) -> None:
    optimizer.update(model, gradients_like(model, grads))


def compiled_step() -> Any:
    """The same in one compiled program."""
    from flax import nnx

    return nnx.jit(lambda optimizer, model, grads: optimizer.update(model, grads))


def as_arrays(tree: Any) -> Any:
    return jax.tree.map(jnp.asarray, tree)
