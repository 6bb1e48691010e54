"""The PartitionSpec of every array of an optimizer, out of those of its parameters."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import struct
from flax.core import freeze
from flax.training.train_state import TrainState
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import from_optax, optim
from flaxoptim_compat.bridge import sharding
from tests.support import cases
from tests.support.legacy_subclasses import FACTORIES
from tests.support.meshes import mesh_of

PARAMS = {"kernel": jnp.ones((4, 6)), "bias": jnp.ones(6), "scalar": jnp.ones(())}
SPECS = {"kernel": P("in", "out"), "bias": P("out"), "scalar": None}
IN_FULL = {**SPECS, "scalar": P()}


def in_order(params: Any) -> Any:
    """The dimensions of a parameter as the names of its axes."""
    return jax.tree.map(lambda leaf: P(*map(str, range(jnp.ndim(leaf)))), params)


def entries(spec: P) -> tuple[Any, ...]:
    """The entries of a specification but for the Nones at its end."""
    found = tuple(spec)
    return entries(P(*found[:-1])) if found and found[-1] is None else found


def train_state(tx: Any, params: Any = PARAMS) -> TrainState:
    state: TrainState = TrainState.create(apply_fn=len, params=params, tx=tx)  # type: ignore[arg-type]
    return state


@pytest.mark.parametrize("name", [*(case.name for case in cases.CASES), *FACTORIES])
def test_a_train_state_has_the_specs_of_the_optimizer_that_it_comes_from(name: str) -> None:
    if name in FACTORIES:
        definition, params = FACTORIES[name](optim), PARAMS
    else:
        case = cases.case(name)
        definition, params = case.build(optim), case.parameters()
    optimizer = definition.create(jax.tree.map(jnp.asarray, params))
    legacy = sharding.specs(optimizer, in_order(params))
    assert jax.tree.structure(legacy) == jax.tree.structure(optimizer)
    expected = definition.state_axes(optimizer.target, optimizer.state, in_order(params))
    pairs = zip(jax.tree.leaves(legacy.state), jax.tree.leaves(expected), strict=True)
    assert all(entries(found) == entries(its) == tuple(found) for found, its in pairs)

    state = optimizer.to_train_state()
    found = sharding.specs(state, in_order(params))
    assert jax.tree.structure(found) == jax.tree.structure(state)
    assert found.params == legacy.target and found.step == P()
    # Converting moves the very arrays, so each one can be found again.
    moments, of_moments = (jax.tree.leaves(tree.state.param_states) for tree in (optimizer, legacy))
    by_array = dict(zip(map(id, moments), of_moments, strict=True))
    converted = list(zip(*map(jax.tree.leaves, (state.opt_state, found.opt_state)), strict=True))
    dropped = set(by_array) - {id(array) for array, _ in converted}
    assert all(array.shape == (1,) for array in moments if id(array) in dropped)
    assert [spec for _, spec in converted] == [by_array.get(id(at), P()) for at, _ in converted]
    assert sharding.specs(state, in_order(params), definition=definition) == found


def test_moments_can_be_sharded_where_parameters_are_not() -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    found = sharding.specs(optimizer, dict.fromkeys(PARAMS), SPECS)
    assert set(found.target.values()) == {P()}
    assert {name: each.grad_ema for name, each in found.state.param_states.items()} == IN_FULL
    state = sharding.specs(optimizer.to_train_state(), dict.fromkeys(PARAMS), SPECS)
    assert set(state.params.values()) == {P()}
    assert state.opt_state.inner_state[0].nu == IN_FULL


def test_shapes_are_enough() -> None:
    definition = optim.Adafactor(0.1, min_dim_size_to_factor=4)
    optimizer = jax.eval_shape(definition.create, PARAMS)
    concrete = sharding.specs(definition.create(PARAMS), SPECS)
    assert sharding.specs(optimizer, SPECS) == concrete
    state = jax.eval_shape(lambda: definition.create(PARAMS).to_train_state())
    (moments, *_) = sharding.specs(state, SPECS).opt_state.inner_state
    kernel = (moments.v_row["kernel"], moments.v_col["kernel"], moments.v["kernel"])
    assert kernel == (P("in"), P("out"), P())


def test_of_a_square_matrix_rows_and_columns_are_told_apart() -> None:
    params, axes = {"w": jnp.ones((4, 4))}, {"w": P("in", "out")}
    for tx in (
        optax.adafactor(0.1, min_dim_size_to_factor=4),
        optax.masked(optax.adafactor(0.1, min_dim_size_to_factor=4), {"w": True}),
    ):
        found = sharding.specs(train_state(tx, params), axes).opt_state
        flat = jax.tree_util.tree_flatten_with_path(found)[0]
        factors = {jax.tree_util.keystr(path)[-9:]: spec for path, spec in flat}
        assert (factors["_row['w']"], factors["_col['w']"]) == (P("in"), P("out"))
        assert sharding.specs(from_optax(tx).create(params), axes).state.param_states == found


HAND_WRITTEN = {
    "clipped": optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(0.1)),
    "over several steps": optax.MultiSteps(optax.adam(0.1), 4).gradient_transformation(),
    "labels like parameters": optax.partition(
        {"bias": optax.adam(0.1), "kernel": optax.adam(0.1)},
        {"kernel": "bias", "bias": "kernel", "scalar": "kernel"},
    ),
    "converted": optax.chain(
        optax.add_decayed_weights(0.1), optim.Adam(0.1).create(PARAMS).to_train_state().tx
    ),
}


@pytest.mark.parametrize("name", HAND_WRITTEN)
def test_any_optax_state_will_do(name: str) -> None:
    state = train_state(HAND_WRITTEN[name])
    found = sharding.specs(state, SPECS)
    by_shape = {array.shape: SPECS[each] or P() for each, array in PARAMS.items()}
    for array, spec in zip(*map(jax.tree.leaves, (state.opt_state, found.opt_state)), strict=True):
        assert spec == by_shape[jnp.shape(array)]
    legacy = from_optax(state.tx).create(PARAMS)
    assert sharding.specs(legacy, SPECS).state.param_states == found.opt_state


def test_a_mask_may_leave_out_a_whole_layer() -> None:
    params = {"frozen": dict(PARAMS), "head": {"kernel": PARAMS["kernel"]}}
    tx = optax.masked(optax.adam(0.1), {"frozen": False, "head": True})
    found = sharding.specs(train_state(tx, params), {"frozen": SPECS, "head": {"kernel": P("in")}})
    assert found.opt_state.inner_state[0].mu["head"] == {"kernel": P("in")}
    assert len(jax.tree.leaves(found.opt_state)) == 3


@struct.dataclass
class Layer:
    kernel: Any
    mu: Any


@pytest.mark.parametrize(
    ("params", "axes"),
    [
        (jnp.ones((4, 6)), P("in", "out")),
        ((jnp.ones((4, 6)), jnp.ones((6, 4))), (P("in", "out"), P("out", "in"))),
        (Layer(jnp.ones((4, 6)), jnp.ones(6)), Layer(P("in", "out"), P("out"))),
        (freeze({"mu": jnp.ones((4, 6))}), {"mu": P("in")}),
        ({}, {}),
    ],
    ids=["array", "tuple", "dataclass", "FrozenDict", "empty"],
)
def test_targets_of_every_kind(params: Any, axes: Any) -> None:
    optimizer = optim.Adam(0.1).create(params)
    state = sharding.specs(optimizer.to_train_state(), axes)
    expected = jax.tree.leaves(axes)
    assert jax.tree.leaves(sharding.specs(optimizer, axes).target) == expected
    assert jax.tree.leaves(state.opt_state.inner_state[0].mu) == expected
    assert jax.tree.structure(state.params) == jax.tree.structure(params)


class WithStatistics(TrainState):
    batch_stats: Any = None


def test_whatever_else_a_train_state_holds_is_copied() -> None:
    statistics = {"mean": jnp.ones((4, 6))}
    state = WithStatistics.create(
        apply_fn=len,  # type: ignore[arg-type]
        params=PARAMS,
        tx=optax.sgd(0.1),
        batch_stats=statistics,
    )
    assert sharding.specs(state, SPECS).batch_stats == {"mean": P()}


class History(optim.OptimizerDef):
    """Keeps the last three gradients of every parameter in one array."""

    def init_param_state(self, param: Any) -> Any:
        return jnp.zeros((3, *param.shape))


class HistoryWithAxes(History):
    def param_state_axes(self, param: Any, state: Any, axes: Any) -> Any:
        return P(None, *(axes or ()))


def test_a_state_of_another_shape_is_copied_unless_the_definition_says_its_axes() -> None:
    for kind, expected in ((History, P()), (HistoryWithAxes, P(None, "in", "out"))):
        optimizer = kind(optim.GradientDescent(0.1).hyper_params).create(PARAMS)
        assert sharding.specs(optimizer, SPECS).state.param_states["kernel"] == expected
        state = optimizer.to_train_state()
        found = sharding.specs(state, SPECS, definition=optimizer.optimizer_def)
        assert found.opt_state.inner_state.param_states["kernel"] == expected
        # A TrainState does not know its definition.
        assert set(jax.tree.leaves(sharding.specs(state, SPECS).opt_state)) == {P()}
        shapes = jax.eval_shape(lambda state: state, state)
        assert sharding.specs(shapes, SPECS, definition=optimizer.optimizer_def) == found


def test_what_is_wrong_is_said() -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    with pytest.raises(TypeError, match="takes an Optimizer or a TrainState, not a dict"):
        sharding.specs(PARAMS, SPECS)
    with pytest.raises(ValueError, match=r"param_specs do not have the structure.*'bias'"):
        sharding.specs(optimizer, {"kernel": P()})
    with pytest.raises(ValueError, match="moment_specs do not have the structure"):
        sharding.specs(optimizer, SPECS, {"kernel": P()})
    with pytest.raises(
        TypeError, match=r"`param_specs` has a str in place of a PartitionSpec or None"
    ):
        sharding.specs(optimizer, {**SPECS, "bias": "out"})
    with pytest.raises(ValueError, match="names 2 axes, its parameter has 1"):
        sharding.specs(optim.GradientDescent(0.1).create(PARAMS), {**SPECS, "bias": P("a", "b")})


def test_each_parameter_is_spread_over_its_largest_dimension_that_divides() -> None:
    mesh = mesh_of((2, 2), ("data", "model"))
    shapes = {"last": (3, 8), "first": (8, 6), "odd": (3, 5), "small": (4,), "scalar": ()}
    params = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}
    found = sharding.fsdp_specs(params, mesh, "data", min_size=10)
    assert found == {
        "last": P(None, "data"),
        "first": P("data"),
        "odd": P(),
        "small": P(),
        "scalar": P(),
    }
    assert set(sharding.fsdp_specs(params, mesh, "data").values()) == {P()}
    with pytest.raises(ValueError, match=r"no axis 'batch'\. Its axes are data, model"):
        sharding.fsdp_specs(params, mesh, "batch")
    optimizer = jax.eval_shape(optim.Adam(0.1).create, params)
    placed = sharding.shardings(mesh, optimizer, found)
    assert placed.state.param_states["last"].grad_ema == NamedSharding(mesh, P(None, "data"))


SHAPES = {"kernel": (4, 6), "bias": (6,), "conv": (3, 4, 6), "scalar": ()}
AXES_OF_SHAPED = {
    "kernel": P("in", "out"),
    "bias": P("out"),
    "conv": P(None, "in", "out"),
    "scalar": P(),
}
SHAPED = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}


def axes_of(definition: Any, params: Any = SHAPED, axes: Any = AXES_OF_SHAPED) -> Any:
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
    assert {name: each.grad_ema for name, each in found.items()} == AXES_OF_SHAPED
    assert {name: each.grad_sq_ema for name, each in found.items()} == AXES_OF_SHAPED


def test_a_parameter_without_axes_and_one_with_fewer_axes_than_dimensions() -> None:
    axes = {**AXES_OF_SHAPED, "kernel": P("in"), "conv": None}
    found = axes_of(optim.Momentum(0.1), axes=axes)
    assert found["kernel"].momentum == P("in", None)
    assert found["conv"].momentum == P(None, None, None)
    with pytest.raises(ValueError, match="names 3 axes, its parameter has 2"):
        axes_of(optim.Momentum(0.1), axes={**AXES_OF_SHAPED, "kernel": P("a", "b", "c")})


def test_factors_have_the_axes_that_are_not_averaged_over() -> None:
    definition = optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=0.9)
    found = axes_of(definition)
    kernel, conv, bias = (found[name] for name in ("kernel", "conv", "bias"))
    assert (kernel.v_row, kernel.v_col, kernel.v) == (P("in"), P("out"), P(None))
    assert (conv.v_row, conv.v_col, conv.v) == (P(None, "in"), P(None, "out"), P(None))
    assert (bias.v_row, bias.v_col, bias.v) == (P(None), P(None), P("out"))
    assert {name: each.m for name, each in found.items()} == AXES_OF_SHAPED


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
