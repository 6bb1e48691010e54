"""What a type checker knows of a user's program: mypy and pyright read this, pytest runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax
import numpy as np
import optax
from flax.training.train_state import TrainState
from typing_extensions import assert_type

from flaxoptim_compat import from_nnx, optax_source, optim, to_nnx, to_optax
from flaxoptim_compat.optim import Adam, MultiOptimizer, Optimizer

if TYPE_CHECKING:
    from flax import nnx

Params = dict[str, jax.Array]


def trained(params: Params, grads: Params, rate: jax.Array) -> jax.Array:
    optimizer = optim.Adam(learning_rate=1e-3, beta1=0.9).create(params)
    assert_type(optimizer, Optimizer[Params])
    optimizer = optimizer.apply_gradient(grads, learning_rate=rate)
    assert_type(optimizer, Optimizer[Params])
    assert_type(optimizer.target, Params)
    assert_type(optimizer.optimizer_def, optim.OptimizerDef)
    assert_type(optimizer.state, optim.OptimizerState)
    assert_type(optimizer.replace(target=params), Optimizer[Params])
    assert_type(optimizer.to_train_state(), TrainState)
    return optimizer.target["kernel"]


def annotated_as_of_old(optimizer: optim.Optimizer) -> optim.Optimizer:
    """A program of 2021 says no more of an optimizer than this."""
    assert_type(optimizer.target, Any)
    return optimizer


def parts(definition: Adam) -> MultiOptimizer:
    kernels = optim.ModelParamTraversal(lambda path, value: "kernel" in path)
    return optim.MultiOptimizer((kernels, definition))


def moved_to_nnx(optimizer: Optimizer[Params], model: nnx.Module) -> None:
    """Not run: the oldest flax that is allowed has another ``nnx.Optimizer``."""
    moved = to_nnx(optimizer, model, paths={"kernel": "linear/kernel"}, learning_rate=0.1)
    assert_type(moved, "nnx.Optimizer[nnx.Module]")
    assert_type(from_nnx(moved, model), Optimizer[Any])


def test_what_is_checked_runs() -> None:
    # Functions of jax are not typed throughout, so this program calls none.
    params: Params = {"kernel": cast(jax.Array, np.ones((2, 3), np.float32))}
    assert trained(params, params, cast(jax.Array, np.float32(0.1))).shape == (2, 3)
    definition = optim.Adam(0.1)
    assert annotated_as_of_old(parts(definition).create(params)).target is params
    tx = to_optax(definition, params)
    assert_type(tx, optax.GradientTransformationExtraArgs)
    assert_type(optax_source(definition), str)
