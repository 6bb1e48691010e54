"""A DualTrainState does what an Optimizer does, and holds what a plain TrainState holds."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils, serialization
from flax.training.train_state import TrainState
from jax.sharding import PartitionSpec as P

import flaxoptim_compat
from flaxoptim_compat import DualTrainState, dual, from_optax, optim
from flaxoptim_compat.bridge import t5x
from tests.bridge.test_step import costs_of
from tests.bridge.test_train_state import TARGETS
from tests.support import cases
from tests.support.compiled_steps import KINDS
from tests.support.legacy_subclasses import FACTORIES
from tests.support.options import ONE_EACH, each
from tests.support.side_by_side import assert_same

RATE = 0.03
COPIES = 2
W = optim.ModelParamTraversal(lambda path, _: "kernel" in path)

DEFINITIONS: dict[str, Callable[[], Any]] = {
    **{case.name: lambda case=case: case.build(optim) for case in cases.CASES},
    **{name: lambda make=make: make(optim) for name, make in FACTORIES.items()},
    "from_optax": lambda: from_optax(optax.lion, learning_rate=0.1),
    "transformation": lambda: from_optax(optax.inject_hyperparams(optax.sgd)(0.1, momentum=0.5)),
    "optax in parts": lambda: optim.MultiOptimizer(
        (W, from_optax(optax.lion, learning_rate=0.1)),
        (optim.ModelParamTraversal(lambda path, _: "bias" in path), optim.Adam(0.1)),
    ),
}
TELLING = [*(case.name for case in ONE_EACH), "own_state", "from_optax", "optax in parts"]
# One of each family.
FEW = [*KINDS, "own_state", "from_optax", "optax in parts"]


def both(name: str, params: Any = None) -> tuple[Any, Any]:
    """An optimizer, and a dual state of the same definition."""
    if params is None:
        params = jax.tree.map(jnp.asarray, cases.parameters())
        if name.startswith("WeightNorm"):
            del params["temperature"]
    return DEFINITIONS[name]().create(params), dual(DEFINITIONS[name]()).create(params)


def grads_of(optimizer: Any, step: int = 0) -> Any:
    return jax.tree.map(lambda leaf: jnp.cos(leaf + step), optimizer.target)


def old_form(result: Any) -> Any:
    """What a program of old reads off a result."""
    is_optimizer = lambda node: isinstance(node, optim.Optimizer)
    fields = jax.tree.map(
        lambda node: (node.target, node.state) if is_optimizer(node) else node,
        result,
        is_leaf=is_optimizer,
    )
    # With NumPy 1, the restored step of a definition of the program's own becomes an int64.
    as_array = lambda leaf: jnp.asarray(leaf) if isinstance(leaf, np.generic) else leaf
    return jax.tree.map(as_array, fields)


# --- what programs did with an optimizer


def steps(optimizer: Any) -> Any:
    for number, overrides in enumerate(({}, {"learning_rate": RATE}, {})):
        optimizer = optimizer.apply_gradient(grads_of(optimizer, number), **overrides)
    return optimizer


def jitted(optimizer: Any) -> Any:
    step = jax.jit(
        lambda optimizer, rate: optimizer.apply_gradient(grads_of(optimizer), learning_rate=rate)
    )
    return step(step(optimizer, RATE), jnp.float32(0.1))


def donated(optimizer: Any) -> Any:
    step = jax.jit(lambda o: o.apply_gradient(grads_of(o)), donate_argnums=0)
    return step(step(jax.tree.map(jnp.copy, optimizer)))


def scanned(optimizer: Any) -> Any:
    body = lambda o, rate: (o.apply_gradient(grads_of(o), learning_rate=rate), o.state.step)
    return jax.lax.scan(body, optimizer, jnp.asarray([0.1, RATE]))


def replicated(optimizer: Any) -> Any:
    step = jax.pmap(lambda o: o.apply_gradient(grads_of(o)), axis_name="batch")
    copies = step(jax_utils.replicate(optimizer, jax.local_devices()[:COPIES]))
    copies = copies.replace(target=jax.tree.map(jnp.negative, copies.target))
    copies = step(copies.replace(state=copies.state.replace(step=copies.state.step + 1)))
    return copies, copies.state.step[0], jax_utils.unreplicate(copies)


def averaged(optimizer: Any) -> Any:
    step = jax.pmap(
        lambda o, factor: o.apply_gradient(jax.tree.map(lambda leaf: factor * leaf, grads_of(o))),
        axis_name="batch",
    )
    copies = optimizer.replicate(jax.local_devices()[:COPIES])
    copies = step(step(copies, jnp.arange(COPIES)), jnp.ones(COPIES))
    return copies, copies.unreplicate(), copies.restore_state(copies.state_dict())


def vmapped(optimizer: Any) -> Any:
    create = jax.vmap(optimizer.optimizer_def.create)
    many = create(jax.tree.map(lambda leaf: jnp.stack([leaf, leaf + 1.0]), optimizer.target))
    many = jax.vmap(lambda o: o.apply_gradient(grads_of(o), learning_rate=RATE))(many)
    return many, jax.tree.map(lambda leaf: leaf[1], many)


def inside_a_loss(optimizer: Any) -> Any:
    """As a meta learner: `create`, handed on as a function, in a differentiated, mapped loss."""
    create: Any = optimizer.optimizer_def.create

    def loss(params: Any, factor: Any) -> Any:
        body = lambda o, _: (o.apply_gradient(jax.tree.map(lambda x: factor * x, o.target)), None)
        final, _ = jax.lax.scan(body, create(params), None, length=2)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(final.target))

    return jax.jit(jax.vmap(jax.grad(loss), (None, 0)))(optimizer.target, jnp.asarray([0.5, 2.0]))


def gradients_computed(optimizer: Any) -> Any:
    loss = lambda target: sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(target))
    with_aux = lambda target: (loss(target), {"seen": loss(target)})
    found = optimizer.compute_gradient(loss), optimizer.compute_gradients(with_aux)
    return found, optimizer.optimize(with_aux, learning_rate=RATE), optimizer.optimize(loss)


def replaced(optimizer: Any) -> Any:
    state = optimizer.state
    moved = optimizer.replace(target=jax.tree.map(jnp.negative, optimizer.target))
    moved = moved.replace(state=state.replace(step=state.step + 5))
    return moved.apply_gradient(grads_of(moved))


def other_definition(optimizer: Any) -> Any:
    other = optim.Momentum(0.5).create(optimizer.target)
    moved = optimizer.replace(optimizer_def=other.optimizer_def, state=other.state)
    return moved.apply_gradient(grads_of(moved))


def assigned(optimizer: Any) -> Any:
    definition = optimizer.optimizer_def
    if isinstance(definition, optim.MultiOptimizer):
        definition = optimizer.optimizer_def.sub_optimizers[0]
    step = jax.jit(lambda o: o.apply_gradient(grads_of(o)))
    before = step(optimizer)
    definition.hyper_params = jax.tree.map(lambda value: value, definition.hyper_params)
    if hasattr(definition.hyper_params, "learning_rate"):
        definition.hyper_params = definition.hyper_params.replace(learning_rate=RATE)
    # With `from_optax`, a state of moments holds the rate with which it began.
    after = step(optimizer), optimizer.apply_gradient(grads_of(optimizer))
    return before, [each.target for each in after]


def mapped(optimizer: Any) -> Any:
    doubled = jax.tree.map(lambda leaf: leaf + leaf, optimizer)
    kinds = jax.tree.map(lambda leaf: str(leaf.dtype), optimizer)
    shapes = jax.eval_shape(lambda o: o.apply_gradient(grads_of(o)), optimizer)
    assert not isinstance(jax.tree.leaves(shapes.state)[0], jax.Array)
    sizes = jax.tree.map(lambda leaf: jnp.asarray(leaf.shape), old_form(shapes))
    return doubled, kinds.state.step, jax.tree.leaves(kinds.target)[0], sizes


def restored(optimizer: Any) -> Any:
    after = steps(optimizer)
    again = [
        optimizer.restore_state(after.state_dict()),
        serialization.from_state_dict(optimizer, serialization.to_state_dict(after)),
        serialization.from_bytes(optimizer, serialization.to_bytes(after)),
        optimizer.restore_state(serialization.to_state_dict(after)),
    ]
    return again, again[2].apply_gradient(grads_of(after))


def copied(optimizer: Any) -> Any:
    found = [copy.copy(optimizer), copy.deepcopy(optimizer)]
    return [each.apply_gradient(grads_of(each)) for each in found]


OPERATIONS = {
    each.__name__: each
    for each in (
        steps,
        jitted,
        donated,
        scanned,
        replicated,
        averaged,
        vmapped,
        inside_a_loss,
        gradients_computed,
        replaced,
        other_definition,
        assigned,
        mapped,
        restored,
        copied,
    )
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("name", each(list(DEFINITIONS), FEW))
def test_a_program_of_old_gets_what_it_got(name: str, operation: str) -> None:
    run = OPERATIONS[operation]
    optimizer, state = both(name)
    expected = old_form(run(optimizer))
    assert_same(old_form(run(state)), expected)


@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("name", ["Adam-all", "Adafactor-all_factored", "WeightNorm-over_Adam"])
def test_any_container_of_parameters(name: str, kind: str) -> None:
    for operation in (steps, jitted, scanned, replaced, restored):
        optimizer, state = both(name, TARGETS[kind])
        assert_same(old_form(operation(state)), old_form(operation(optimizer)))


# --- and a TrainState


@pytest.mark.parametrize("name", each(list(DEFINITIONS), TELLING))
def test_leaves_and_checkpoints_are_those_of_the_plain_one(name: str) -> None:
    optimizer, state = both(name)
    for number in range(3):
        plain = optimizer.to_train_state()
        assert jax.tree.structure(state.opt_state) == jax.tree.structure(plain.opt_state)
        assert_same(state, plain)
        saved = serialization.to_bytes(plain)
        assert serialization.to_bytes(state) == saved
        assert_same(serialization.from_bytes(state, saved), state)
        grads = grads_of(optimizer, number)
        optimizer, state = optimizer.apply_gradient(grads), state.apply_gradient(grads)


@pytest.mark.parametrize("name", each(list(DEFINITIONS), TELLING))
def test_its_own_steps_are_those_of_the_plain_one(name: str) -> None:
    optimizer, state = both(name)
    plain = optimizer.to_train_state()
    step = jax.jit(lambda state, grads: state.apply_gradients(grads=grads))
    for number in range(3):
        grads = grads_of(optimizer, number)
        assert_same(state.apply_gradients(grads=grads), plain.apply_gradients(grads=grads))
        state, plain = step(state, grads), step(plain, grads)
        assert_same(state, plain)
    assert type(state) is DualTrainState and step._cache_size() == 2


@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two", "WeightNorm-over_Adam"])
def test_lines_of_either_dialect_may_follow_each_other(name: str) -> None:
    optimizer, state = both(name)
    state = state.replace(apply_fn=len)
    for number in range(6):
        grads = grads_of(optimizer, number)
        optimizer = optimizer.apply_gradient(grads)
        old = number % 3 == 0
        state = state.apply_gradient(grads) if old else state.apply_gradients(grads=grads)
    assert state.apply_fn is len
    # A step of a plain TrainState outside of jit is not the compiled one of an Optimizer.
    assert_same(old_form(state), old_form(optimizer), ulps=4.0)


def test_an_override_lasts_one_step_and_a_rate_in_the_state_stays() -> None:
    _, state = both("Momentum-default")
    state.opt_state.hyperparams["learning_rate"] = jnp.float32(0.5)
    state = state.apply_gradient(grads_of(state), learning_rate=RATE)
    assert state.opt_state.hyperparams == {"learning_rate": 0.5}
    # The old line takes the rate of the definition, as it did.
    by_old, by_new = (
        float(each.params["temperature"] - state.params["temperature"])
        for each in (
            state.apply_gradient(grads_of(state)),
            state.apply_gradients(grads=grads_of(state)),
        )
    )
    assert by_new / by_old == pytest.approx(0.5 / cases.LEARNING_RATE, rel=1e-4)


@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two", "WeightNorm-over_Adam"])
def test_a_definition_without_a_rate_has_a_place_for_it(name: str) -> None:
    definition = cases.case(name).without_rate().build(optim)
    params = jax.tree.map(jnp.asarray, cases.case(name).parameters())
    optimizer, state = definition.create(params), dual(definition).create(params)
    for _ in range(2):
        optimizer, state = (
            each.apply_gradient(grads_of(each), learning_rate=RATE) for each in (optimizer, state)
        )
    assert_same(old_form(state), old_form(optimizer))
    with pytest.raises(AssertionError, match="no learning rate provided"):
        state.apply_gradient(grads_of(state))
    plain = optimizer.to_train_state(learning_rate=0.0)
    assert serialization.to_bytes(plain) == serialization.to_bytes(state)


def test_an_assignment_reaches_lines_of_both_dialects() -> None:
    optimizer, state = both("Momentum-all")
    old = jax.jit(lambda state: state.apply_gradient(grads_of(state)))
    new = jax.jit(lambda state: state.apply_gradients(grads=grads_of(state)))
    expected = [old_form(step(state)) for step in (old, new)]
    assert_same(*expected)
    for definition in (optimizer.optimizer_def, state.optimizer_def):
        definition.hyper_params = definition.hyper_params.replace(learning_rate=RATE)
    assert new(state).opt_state.hyperparams == {"learning_rate": jnp.float32(RATE)}
    for step in (old, new):
        assert_same(old_form(step(state)), old_form(old(optimizer)))


@pytest.mark.parametrize("name", ["Adam-default", "Momentum-default", "LAMB-default"])
def test_under_jit_it_costs_what_they_cost(name: str) -> None:
    optimizer, state = both(name)
    old = lambda state, grads: state.apply_gradient(grads)
    new = lambda state, grads: state.apply_gradients(grads=grads)
    mine, plain, by_old, of_optimizer = (
        costs_of(jax.jit(step, donate_argnums=0).lower(each, optimizer.target).compile())
        for step, each in (
            (new, state),
            (new, optimizer.to_train_state()),
            (old, state),
            (old, optimizer),
        )
    )
    for cost in ("flops", "bytes accessed"):
        assert 0 < mine[cost] == plain[cost]
        # Beside what an Optimizer has, there are the counters of optax, and the rate.
        assert of_optimizer[cost] <= by_old[cost] <= plain[cost], cost


# --- warnings


def told(run: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    assert all(each.filename == __file__ for each in caught)
    return [str(each.message) for each in caught]


OLD_LINES: dict[str, Callable[[Any], Any]] = {
    "`state.params`": lambda state: state.target,
    "`state.tx`": lambda state: state.optimizer_def,
    "`state.step` or `state.opt_state`": lambda state: state.state.step,
    "`state.apply_gradients(grads=grads)`": lambda state: state.apply_gradient(state.params),
    "`state.replace(params=..., step=..., opt_state=...)`": lambda state: state.replace(
        target=state.params
    ),
    "`flax.serialization.to_state_dict(state)`": lambda state: state.state_dict(),
}


@pytest.mark.parametrize("instead", OLD_LINES)
def test_an_old_name_is_told_once_for_its_line_with_what_to_write(instead: str) -> None:
    _, state = both("Adam-all")

    def run() -> None:
        for _ in range(3):
            OLD_LINES[instead](state)

    (message,) = told(run)
    assert message.endswith(f"Write {instead}.")
    with flaxoptim_compat.strict(), pytest.raises(AttributeError, match="a name of flax"):
        OLD_LINES[instead](state)


def test_new_names_are_not_told_and_strict_lets_them_pass() -> None:
    _, state = both("Adam-all")

    def run() -> None:
        with flaxoptim_compat.strict():
            after = state.apply_gradients(grads=state.params).replace(step=state.step)
            assert isinstance(after, optim.Optimizer) and isinstance(after, TrainState)
            assert "step=0" in repr(after) and not hasattr(after, "target")
            serialization.from_bytes(after, serialization.to_bytes(after))

    assert told(run) == []


def test_an_old_checkpoint_is_restored_with_one_warning() -> None:
    optimizer, state = both("Adam-all")
    optimizer = steps(optimizer)
    saved, found = serialization.to_bytes(optimizer), []
    (message,) = told(lambda: found.append(serialization.from_bytes(state, saved)))
    assert "is restored into a DualTrainState" in message
    assert_same(old_form(found[0]), old_form(optimizer))
    assert serialization.to_bytes(found[0]) == serialization.to_bytes(optimizer.to_train_state())
    with flaxoptim_compat.strict(), pytest.raises(ValueError, match="checkpoint convert"):
        serialization.from_bytes(state, saved)


# --- definitions, and what else


def test_a_definition_stays_one_and_what_holds_it_is_dual() -> None:
    plain = optim.Adam(0.1)
    definition = dual(plain)
    assert type(definition) is optim.Adam and definition != plain and not definition.own_code()
    assert definition.optax_expression() == plain.optax_expression()
    params = {"kernel": jnp.ones(3), "bias": jnp.ones(3)}
    assert type(plain.create(params)) is optim.Optimizer
    holders = [optim.WeightNorm(definition), optim.MultiOptimizer((W, definition))]
    states = [holder.create(params) for holder in holders]
    states += [definition.create(params, focus=W), dual(optim.WeightNorm(plain)).create(params)]
    states += [states[0].optimizer_def.create(params), dual(plain.create(params))]
    states += [DualTrainState.from_train_state(plain.create(params).to_train_state())]
    assert {type(state) for state in states} == {DualTrainState}
    assert dual(states[0]) is states[0]
    with pytest.raises(TypeError, match="`dual` takes a definition"):
        dual(optax.adam(0.1))


def test_a_state_can_be_pickled_if_its_definition_can() -> None:
    optimizer, state = (steps(each) for each in both("Adam-all"))
    state.opt_state.hyperparams["learning_rate"] = jnp.float32(0.5)
    again = pickle.loads(pickle.dumps(state))
    assert serialization.to_bytes(again) == serialization.to_bytes(state)
    assert again.tx == state.tx
    grads = grads_of(optimizer)
    assert_same(old_form(again.apply_gradient(grads)), old_form(optimizer.apply_gradient(grads)))


def test_a_train_state_without_a_rate_in_it_stays_so() -> None:
    optimizer, _ = both("Adam-all")
    plain = optimizer.to_train_state(inject=False)
    state, grads = DualTrainState.from_train_state(plain), grads_of(optimizer)
    assert serialization.to_bytes(state) == serialization.to_bytes(plain)
    state = state.apply_gradient(grads, learning_rate=RATE).apply_gradients(grads=grads)
    optimizer = optimizer.apply_gradient(grads, learning_rate=RATE).apply_gradient(grads)
    assert_same(old_form(state), old_form(optimizer), ulps=4.0)
    plain = optimizer.to_train_state(inject=False)
    assert jax.tree.structure(state.opt_state) == jax.tree.structure(plain.opt_state)


@pytest.mark.parametrize("name", FEW)
def test_a_definition_may_keep_its_rate_out_of_the_state(name: str) -> None:
    optimizer, _ = both(name)
    plain = optimizer.to_train_state(inject=False)
    state = dual(DEFINITIONS[name](), inject=False).create(optimizer.target)
    assert serialization.to_bytes(state) == serialization.to_bytes(plain)
    stepped, expected = steps(state), steps(optimizer)
    assert_same(old_form(stepped), old_form(expected))
    assert jax.tree.structure(stepped.opt_state) == jax.tree.structure(plain.opt_state)
    again = stepped.optimizer_def.create(optimizer.target)
    assert jax.tree.structure(again) == jax.tree.structure(stepped)
    assert_same(old_form(copy.deepcopy(stepped)), old_form(expected))


def test_axes_take_the_place_of_arrays_as_in_an_optimizer() -> None:
    params, axes = {"w": jnp.ones((4, 6)), "b": jnp.ones(6)}, {"w": P("in", "out"), "b": P("out")}
    for make in (
        lambda: optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=0.9),
        lambda: optim.WeightNorm(optim.Adam(0.1)),
    ):
        definitions = [t5x.with_logical_axes(each) for each in (make(), dual(make()))]
        shapes = [jax.eval_shape(each.create, params) for each in definitions]
        optimizer, state = (
            definition.derive_logical_axes(each, axes)
            for definition, each in zip(definitions, shapes, strict=True)
        )
        assert (state.target, state.state) == (optimizer.target, optimizer.state)
        none_too = lambda leaf: leaf is None
        leaves = jax.tree.leaves(state, is_leaf=none_too)
        assert len(leaves) == len(jax.tree.leaves(shapes[1]))
        saved = definitions[1].create(params).state_dict()
        assert_same(shapes[1].restore_state(saved), definitions[1].create(params))


def test_without_a_definition_there_are_no_old_names() -> None:
    state = DualTrainState.create(apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.adam(0.1))
    state = state.apply_gradients(grads={"w": jnp.ones(3)})
    assert int(state.step) == 1 and jax.tree.map(jnp.copy, state).tx is state.tx
    with pytest.raises(AttributeError, match="does not come from a definition"):
        _ = state.state
    with pytest.raises(TypeError, match="and no others"):
        type("More", (DualTrainState,), {})
