"""An optimizer as the nnx.Optimizer of a model of Flax NNX, and back again."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import linen
from flax.core import freeze
from jax.sharding import NamedSharding, PartitionSpec

from flaxoptim_compat import from_nnx, from_optax, optim, to_nnx
from tests.support.checkpoint_conversions import with_moments
from tests.support.compiled_steps import (
    ALL_CHANGED,
    KINDS,
    NAMES,
    gradients,
    legacy_step,
    make,
    optax_step,
    train,
)
from tests.support.legacy_subclasses import FACTORIES
from tests.support.meshes import mesh_of
from tests.support.nnx_models import (
    as_arrays,
    compiled_step,
    gradients_like,
    model_like,
    needs_nnx,
    step_by_operation,
)
from tests.support.options import ONE_EACH, each
from tests.support.side_by_side import assert_same

pytestmark = needs_nnx


@pytest.mark.parametrize("name", each(NAMES, [case.name for case in ONE_EACH]))
def test_there_and_back_is_the_same_to_the_bit(name: str) -> None:
    optimizer = make(name)
    for step in (0, 1, 1000):
        optimizer = with_moments(optimizer, step) if step else optimizer
        model = model_like(optimizer.target)
        moved = to_nnx(optimizer, model)
        assert int(moved.step[...]) == step
        again = from_nnx(moved, model)
        assert_same(again, optimizer)
        assert jax.tree.structure(again) == jax.tree.structure(optimizer)
        assert_same(from_nnx(moved, model, optimizer), optimizer)


@pytest.mark.parametrize("name", each(ALL_CHANGED, KINDS))
def test_going_on_gives_the_bits_of_the_train_state(name: str) -> None:
    half_way = train(make(name), range(5))
    by_operation = in_jit = half_way.to_train_state()
    models = [model_like(half_way.target) for _ in range(2)]
    mine, mine_in_jit = (to_nnx(half_way, model) for model in models)
    compiled = compiled_step()
    for step in range(5, 10):
        grads = gradients(half_way.target, step)
        by_operation, in_jit = by_operation.apply_gradients(grads=grads), optax_step(in_jit, grads)
        step_by_operation(mine, models[0], grads)
        compiled(mine_in_jit, models[1], gradients_like(models[1], grads))
        assert_same(from_nnx(mine, models[0]), optim.Optimizer.from_train_state(by_operation))
        assert_same(from_nnx(mine_in_jit, models[1]), optim.Optimizer.from_train_state(in_jit))


@pytest.mark.parametrize("name", FACTORIES)
def test_the_users_own_code_sees_the_tree_that_it_knows(name: str) -> None:
    params = {"a": {"w": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3)}, "b": jnp.linspace(0.5, 1.0, 3)}
    optimizer = FACTORIES[name](optim).create(params)
    # In this model the parameters stand in the other order.
    model = model_like({"first": params["b"], "second": params["a"]})
    moved = to_nnx(optimizer, model, paths={"b": "first", "a": "second"})
    state = optimizer.to_train_state()
    for step in range(3):
        grads = jax.tree.map(lambda leaf, step=step: jnp.cos(2.1 * step + 3 * leaf), params)
        step_by_operation(moved, model, {"first": grads["b"], "second": grads["a"]})
        state = state.apply_gradients(grads=grads)
    assert_same(from_nnx(moved, model), optim.Optimizer.from_train_state(state))


def test_no_rate_and_no_optimizer_made_anew_from_an_equal_one_is_traced_again() -> None:
    from flax import nnx

    traces = []

    @nnx.jit
    def step(optimizer: Any, model: Any, grads: Any) -> None:
        traces.append(None)
        optimizer.update(model, grads)

    optimizer = expected = make("Momentum-all")
    in_jit = jax.jit(lambda old, grads, rate: old.apply_gradient(grads, learning_rate=rate))
    for number, rate in enumerate((0.25, 0.01, 0.3, 0.1)):
        grads = gradients(optimizer.target, number)
        if number in (0, 2):
            model = model_like(optimizer.target)
            moved = to_nnx(optimizer, model)
        moved.opt_state.hyperparams["learning_rate"][...] = jnp.float32(rate)
        step(moved, model, gradients_like(model, grads))
        optimizer, expected = from_nnx(moved, model), in_jit(expected, grads, rate)
    assert len(traces) == 1
    assert_same(optimizer, expected)
    moved = to_nnx(optimizer, model_like(optimizer.target), learning_rate=0.25)
    assert float(moved.opt_state.hyperparams["learning_rate"][...]) == 0.25


class Blocks(linen.Module):
    @linen.compact
    def __call__(self, inputs: Any) -> Any:
        for _ in range(2):
            inputs = linen.Dense(3)(inputs)
        return linen.BatchNorm(use_running_average=False)(inputs)


PATHS = {"Dense_0": "blocks/0", "Dense_1": "blocks/1", "BatchNorm_0": "norm", "Dense_1/bias": "b"}


def nnx_blocks() -> Any:
    from flax import nnx

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self, rngs: Any) -> None:
            blocks = [nnx.Linear(2, 3, rngs=rngs), nnx.Linear(3, 3, use_bias=False, rngs=rngs)]
            self.blocks = nnx.List(blocks) if hasattr(nnx, "List") else blocks
            self.b = nnx.Param(jnp.zeros(3))
            self.norm = nnx.BatchNorm(3, rngs=rngs)
            self.dropout = nnx.Dropout(0.5, rngs=rngs)

    return Model(nnx.Rngs(7))


def test_parameters_of_other_names_are_paired_and_all_else_stays() -> None:
    from flax import nnx

    variables = Blocks().init(jax.random.key(0), jnp.ones((1, 2)))
    optimizer = optim.Adam(0.1).create(freeze(variables["params"]))
    optimizer = train(optimizer, range(2))

    def by_function(path: str) -> str:
        place = max((each for each in PATHS if path.startswith(each)), key=len)
        return PATHS[place] + path.removeprefix(place)

    for paths in (PATHS, by_function):
        model = nnx_blocks()
        model.norm.mean[...] = jnp.arange(3.0)
        others = nnx.to_pure_dict(nnx.state(model, nnx.Not(nnx.Param)))
        moved = to_nnx(optimizer, model, paths=paths)
        target = optimizer.target
        for mine, old in [
            (model.blocks[0].kernel, target["Dense_0"]["kernel"]),
            (model.blocks[1].kernel, target["Dense_1"]["kernel"]),
            (model.b, target["Dense_1"]["bias"]),
            (model.norm.scale, target["BatchNorm_0"]["scale"]),
        ]:
            assert_same(mine[...], old)
        moments = optimizer.state.param_states["Dense_1"]["bias"]
        assert_same(moved.opt_state.inner_state[0].mu["b"][...], moments.grad_ema)
        left = nnx.to_pure_dict(nnx.state(model, nnx.Not(nnx.Param)))
        for one, other in zip(jax.tree.leaves(others), jax.tree.leaves(left), strict=True):
            assert (jnp.asarray(one) == jnp.asarray(other)).all()
        assert_same(from_nnx(moved, model), optimizer)
        assert_same(from_nnx(moved, model, optimizer, paths=paths), optimizer)


def test_a_linen_module_in_the_bridge_of_flax_has_the_paths_of_linen() -> None:
    from flax import nnx

    optimizer = make_blocks()
    rngs = nnx.Rngs(1)
    model = nnx.bridge.ToNNX(Blocks(), rngs=rngs).lazy_init(jnp.ones((1, 2)))
    moved = to_nnx(optimizer, model)
    assert_same(from_nnx(moved, model), optimizer)


def make_blocks() -> Any:
    variables = Blocks().init(jax.random.key(0), jnp.ones((1, 2)))
    return optim.Momentum(0.1).create(variables["params"])


# A target, and where its parameter stands in the model.
TARGETS: dict[str, tuple[Any, dict[str, str]]] = {
    "params": ({"params": {"a": {"w": jnp.ones(3)}}}, {"params": ""}),
    "tuple": (({"w": jnp.ones(3)},), {"0": "a"}),
    "FrozenDict": (freeze({"b": {"w": jnp.ones(3)}}), {"b": "a"}),
    "numpy": ({"a": {"w": np.ones(3, np.float32)}}, {}),
    "array": (jnp.ones(3), {"": "a/w"}),
}


@pytest.mark.parametrize("name", TARGETS)
def test_targets_of_every_kind(name: str) -> None:
    target, paths = TARGETS[name]
    optimizer = optim.Adam(0.1).create(target)
    model = model_like({"a": {"w": jnp.zeros(3)}})
    moved = to_nnx(optimizer, model, paths=paths)
    assert_same(model.a.w[...], jnp.ones(3))
    step_by_operation(moved, model, {"a": {"w": jnp.arange(3.0)}})
    again = from_nnx(moved, model)
    assert jax.tree.structure(again) == jax.tree.structure(optimizer)
    grads = jax.tree.map(lambda leaf: jnp.arange(3.0), optimizer.target)
    assert_same(as_arrays(again), as_arrays(optimizer.apply_gradient(grads)))


def test_an_abstract_model_becomes_a_real_one() -> None:
    from flax import nnx

    optimizer = train(make("Adam-all"), range(2))
    model = nnx.eval_shape(lambda: model_like(optimizer.target))
    moved = to_nnx(optimizer, model)
    assert_same(from_nnx(moved, model), optimizer)


def test_all_of_it_can_be_abstract_to_restore_into() -> None:
    from flax import nnx

    def made() -> Any:
        optimizer = make("Adam-all")
        model = model_like(optimizer.target)
        return to_nnx(optimizer, model), model

    abstract = nnx.to_pure_dict(nnx.state(nnx.eval_shape(made)))
    real = nnx.to_pure_dict(nnx.state(made()))
    assert jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), abstract) == jax.tree.map(
        lambda leaf: (leaf.shape, leaf.dtype), real
    )


def test_no_array_is_shared_so_that_a_step_may_donate_them() -> None:
    optimizer = make("WeightNorm-over_Adam")
    model = model_like(optimizer.target)
    moved = to_nnx(optimizer, model)
    from flax import nnx

    leaves = jax.tree.leaves([nnx.state(moved), nnx.state(model)])
    assert len({id(leaf) for leaf in leaves}) == len(leaves)
    donating = nnx.jit(lambda one, other, grads: one.update(other, grads), donate_argnums=(0, 1))
    donating(moved, model, gradients_like(model, gradients(optimizer.target, 0)))
    assert int(moved.step[...]) == 1


def test_moments_keep_the_metadata_of_their_parameters() -> None:
    from flax import nnx

    class Model(nnx.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            self.kernel = nnx.Param(jnp.zeros((4, 6)), names_of_mine=("in", "out"))

    optimizer = optim.Adam(0.1).create({"kernel": jnp.ones((4, 6))})
    moved = to_nnx(optimizer, Model())
    moment = moved.opt_state.inner_state[0].mu["kernel"]
    assert isinstance(moment, nnx.optimizer.OptVariable)
    assert moment.get_metadata()["names_of_mine"] == ("in", "out")
    # The factors of Adafactor have other axes than their parameter.
    factored = optim.Adafactor(0.1, min_dim_size_to_factor=2).create({"kernel": jnp.ones((4, 6))})
    row = to_nnx(factored, Model()).opt_state.inner_state[0].v_row["kernel"]
    assert row[...].shape == (4,) and "names_of_mine" not in row.get_metadata()


def test_arrays_stay_where_they_are() -> None:
    halves = NamedSharding(mesh_of((2,), ("x",)), PartitionSpec(None, "x"))
    optimizer = optim.Adam(0.1).create({"w": jax.device_put(jnp.ones((4, 6)), halves)})
    optimizer = legacy_step(optimizer, optimizer.target)
    model = model_like({"w": jnp.ones((4, 6))})
    moved = to_nnx(optimizer, model)
    for variable in (model.w, moved.opt_state.inner_state[0].mu["w"]):
        assert variable[...].sharding.is_equivalent_to(halves, 2)
    assert_same(from_nnx(moved, model), optimizer)


# --- what is refused


def refused(error: type[Exception], optimizer: Any, model: Any, **settings: Any) -> str:
    from flax import nnx

    before = nnx.to_pure_dict(nnx.state(model))
    with pytest.raises(error) as caught:
        to_nnx(optimizer, model, **settings)
    assert_same(nnx.to_pure_dict(nnx.state(model)), before)
    return str(caught.value)


def test_paths_without_a_counterpart_are_named_on_both_sides() -> None:
    optimizer = optim.Adam(0.1).create({"Dense_0": {"kernel": jnp.ones((2, 3))}, "w": jnp.ones(3)})
    model = model_like({"linear": {"kernel": jnp.ones((2, 3))}, "w": jnp.ones(3)})
    expected = """\
The parameters of the target and those of the model do not have the same paths.
Parameters of the target that the model does not have:
  Dense_0/kernel  float32[2, 3]
Parameters of the model that the target does not have:
  linear/kernel  float32[2, 3]
Give the other names of modules or single parameters in `paths`, such as"""
    assert refused(ValueError, optimizer, model).startswith(expected)
    assert "  none\n" in refused(ValueError, optimizer, model_like({"w": jnp.ones(3)}))
    text = refused(ValueError, optimizer, model, paths={"Dense_0": "dense"})
    assert "\n  Dense_0/kernel, as dense/kernel,  float32[2, 3]\n" in text


def test_a_long_list_of_paths_is_cut() -> None:
    optimizer = optim.Adam(0.1).create({f"w{number}": jnp.ones(1) for number in range(20)})
    text = refused(ValueError, optimizer, model_like({"w": jnp.ones(1)}))
    assert "  w0  float32[1]\n" in text and "\n  and 8 more\n" in text


def test_other_shapes_and_dtypes_are_named() -> None:
    optimizer = optim.Adam(0.1).create({"a": jnp.ones(3), "b": jnp.ones(2), "c": jnp.ones(1)})
    model = model_like({"a": jnp.ones(4), "b": jnp.ones(2, jnp.bfloat16), "c": jnp.ones(1)})
    expected = """\
Parameters of the target have other shapes or dtypes than those of the model:
  a  float32[3], in the model float32[4]
  b  float32[2], in the model bfloat16[2]
Make the model with"""
    assert refused(ValueError, optimizer, model).startswith(expected)
    # Jax would make float32 of it, and other numbers.
    wide = optim.Adam(0.1).create({"w": np.ones(3)})
    assert "w  float64[3], in the model float32[3]" in refused(
        ValueError, wide, model_like({"w": jnp.ones(3)})
    )


def test_mistakes_in_paths() -> None:
    optimizer = optim.Adam(0.1).create({"a": jnp.ones(3), "b": jnp.ones(3)})
    model = model_like({"a": jnp.ones(3), "b": jnp.ones(3)})
    text = refused(ValueError, optimizer, model, paths={"c": "a"})
    assert text == (
        "No path of a parameter begins with 'c', which is a key of `paths`. The parameters are"
        " a, b."
    )
    text = refused(ValueError, optimizer, model, paths={"a": "b"})
    assert text == "`paths` gives the parameters a and b the same path, b."


def test_definitions_that_cannot_go_on() -> None:
    model = model_like({"w": jnp.ones(3)})
    params = {"w": jnp.ones(3)}
    text = refused(AssertionError, optim.Adam().create(params), model)
    assert "no learning rate provided" in text
    assert "rate" in refused(TypeError, optim.Adam(0.1).create(params), model, rate=1.0)
    text = refused(TypeError, from_optax(optax.lion, learning_rate=0.1).create(params), model)
    assert text.startswith("A definition made by `from_optax` is optax already")


def test_what_cannot_come_back() -> None:
    from flax import nnx

    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    model = model_like({"w": jnp.ones(3)})
    by_hand = nnx.Optimizer(model, optax.adam(0.1), wrt=nnx.Param)
    with pytest.raises(TypeError, match="does not come from `to_nnx"):
        from_nnx(by_hand, model)
    moved = to_nnx(optimizer, model)
    with pytest.raises(ValueError, match="does not have the parameters of the model"):
        from_nnx(moved, model_like({"v": jnp.ones(3)}))
    with pytest.raises(ValueError, match="has no TraceState"):
        from_nnx(moved, model, optim.Momentum(0.1).create({"w": jnp.ones(3)}))


def test_a_chain_by_hand_comes_back_with_an_optimizer_like_it() -> None:
    from flax import nnx

    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    model = model_like({"w": jnp.ones(3)})
    to_nnx(optimizer, model)
    tx = optax.inject_hyperparams(lambda learning_rate: optax.adam(learning_rate))
    by_hand = nnx.Optimizer(model, tx(learning_rate=0.1), wrt=nnx.Param)
    grads = {"w": jnp.arange(3.0)}
    step_by_operation(by_hand, model, grads)
    expected = optimizer.to_train_state().apply_gradients(grads=grads)
    again = from_nnx(by_hand, model, optimizer)
    assert_same(again, optim.Optimizer.from_train_state(expected))
