"""The axes of a state, out of those of the parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import optim

SHAPES = {"kernel": (4, 6), "bias": (6,), "conv": (3, 4, 6), "scalar": ()}
AXES = {"kernel": P("in", "out"), "bias": P("out"), "conv": P(None, "in", "out"), "scalar": P()}
PARAMS = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}


def axes_of(definition: Any, params: Any = PARAMS, axes: Any = AXES) -> Any:
    state = jax.eval_shape(definition.init_state, params)
    found = definition.state_axes(params, state, axes)
    # Wherever the state has an array there is a specification, with one entry for each dimension.
    pairs = jax.tree.map(lambda array, axes: len(array.shape) - len(axes), state, found)
    assert not any(jax.tree.leaves(pairs))
    assert jax.tree.structure(state) == jax.tree.structure(found)
    return found.param_states


def kernels(path: str, _: Any) -> bool:
    return path.endswith("kernel")


def test_moments_have_the_axes_of_the_parameter() -> None:
    found = axes_of(optim.Adam(0.1))
    assert {name: each.grad_ema for name, each in found.items()} == AXES
    assert {name: each.grad_sq_ema for name, each in found.items()} == AXES


def test_a_parameter_without_axes_and_one_with_fewer_axes_than_dimensions() -> None:
    axes = {**AXES, "kernel": P("in"), "conv": None}
    found = axes_of(optim.Momentum(0.1), axes=axes)
    assert found["kernel"].momentum == P("in", None)
    assert found["conv"].momentum == P(None, None, None)
    with pytest.raises(ValueError, match="names 3 axes, its parameter has 2"):
        axes_of(optim.Momentum(0.1), axes={**AXES, "kernel": P("a", "b", "c")})


def test_factors_have_the_axes_that_are_not_averaged_over() -> None:
    definition = optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=0.9)
    found = axes_of(definition)
    kernel, conv, bias = (found[name] for name in ("kernel", "conv", "bias"))
    assert (kernel.v_row, kernel.v_col, kernel.v) == (P("in"), P("out"), P(None))
    assert (conv.v_row, conv.v_col, conv.v) == (P(None, "in"), P(None, "out"), P(None))
    assert (bias.v_row, bias.v_col, bias.v) == (P(None), P(None), P("out"))
    assert {name: each.m for name, each in found.items()} == AXES


def test_of_a_square_matrix_both_factors_have_the_same_shape_but_not_the_same_axis() -> None:
    params = {"w": jax.ShapeDtypeStruct((5, 5), jnp.float32)}
    definition = optim.Adafactor(0.1, min_dim_size_to_factor=4)
    state = axes_of(definition, params, {"w": P("in", "out")})["w"]
    assert (state.v_row, state.v_col) == (P("in"), P("out"))


def test_scales_have_the_axis_of_the_outputs() -> None:
    found = axes_of(optim.WeightNorm(optim.Adam(0.1)))
    kernel, bias = found["kernel"], found["bias"]
    assert (kernel.direction, kernel.scale) == (P("in", "out"), P(None, "out"))
    assert kernel.direction_state.grad_ema == P("in", "out")
    assert kernel.scale_state.grad_ema == P(None, "out")
    assert (bias.direction, bias.scale, bias.direction_state.grad_ema) == (P("out"), (), P("out"))


def test_each_part_of_a_multi_optimizer_has_its_own() -> None:
    traversal = optim.ModelParamTraversal(kernels)
    inner = optim.MultiOptimizer((traversal, optim.Adafactor(0.1, min_dim_size_to_factor=4)))
    found = axes_of(optim.MultiOptimizer((traversal, inner)))
    assert found["kernel"].v_col == P("out")
    assert found["bias"] is None
    around = axes_of(optim.WeightNorm(optim.MultiOptimizer((traversal, optim.Adam(0.1)))))
    assert around["kernel"].scale_state.grad_ema == P(None, "out")
    assert around["bias"].direction_state is None
