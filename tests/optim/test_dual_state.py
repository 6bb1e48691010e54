"""A DualTrainState does what an Optimizer does, and holds what a plain TrainState holds."""

from __future__ import annotations

import copy
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import jax_utils, serialization
from flax.training.train_state import TrainState

import flaxoptim_compat
from flaxoptim_compat import DualTrainState, dual, from_optax, optim
from tests.bridge.test_step import costs_of
from tests.bridge.test_train_state import TARGETS
from tests.support import cases
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


def both(name: str, params: Any = None) -> tuple[Any, Any]:
    """An optimizer, and a dual state of the same definition."""
    params = jax.tree.map(jnp.asarray, cases.parameters()) if params is None else params
    if name.startswith("WeightNorm"):
        params = {key: leaf for key, leaf in params.items() if key != "temperature"}
    return DEFINITIONS[name]().create(params), dual(DEFINITIONS[name]()).create(params)


def grads_of(optimizer: Any, step: int = 0) -> Any:
    return jax.tree.map(lambda leaf: jnp.cos(leaf + step), optimizer.target)


def old_form(result: Any) -> Any:
    """What a program of old reads off a result."""
    is_optimizer = lambda node: isinstance(node, optim.Optimizer)
    return jax.tree.map(
        lambda node: (node.target, node.state) if is_optimizer(node) else node,
        result,
        is_leaf=is_optimizer,
    )


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
    return (
        moved.replace(target=state.step, state=state)
        if False
        else moved.apply_gradient(grads_of(moved))
    )


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
    return before, step(optimizer), optimizer.apply_gradient(grads_of(optimizer))


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
@pytest.mark.parametrize("name", each(list(DEFINITIONS), TELLING))
def test_a_program_of_old_gets_what_it_got(name: str, operation: str) -> None:
    run = OPERATIONS[operation]
    optimizer, state = both(name)
    expected = old_form(run(optimizer))
    assert_same(old_form(run(state)), expected)
