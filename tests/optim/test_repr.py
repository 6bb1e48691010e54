"""What a prompt and a debugger show of definitions and optimizers."""

from __future__ import annotations

import inspect

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import struct, traverse_util

from flaxoptim_compat import from_optax, optim
from flaxoptim_compat.catalogue import OPTIMIZERS
from tests.support.cases import CASES, Case


def is_bias(path: str, value: object) -> bool:
    del value
    return path.endswith("bias")


NAMES = [row.name for row in OPTIMIZERS if row.name != "MultiOptimizer"]
BIASES = optim.ModelParamTraversal(is_bias)
SHOWN = {
    "Momentum(learning_rate=0.1, beta=0.9, weight_decay=0, nesterov=False)": optim.Momentum(0.1),
    "GradientDescent(learning_rate=None)": optim.GradientDescent(),
    "WeightNorm(GradientDescent(learning_rate=0.1), wn_decay=0, wn_eps=1e-06)": optim.WeightNorm(
        optim.GradientDescent(0.1), wn_eps=1e-6
    ),
    "MultiOptimizer((ModelParamTraversal(is_bias), GradientDescent(learning_rate=0.1)),"
    " (TraverseCompose(), GradientDescent(learning_rate=0.2)))": optim.MultiOptimizer(
        (BIASES, optim.GradientDescent(0.1)),
        (traverse_util.t_identity.tree(), optim.GradientDescent(0.2)),
    ),
}


@pytest.mark.parametrize("text", SHOWN)
def test_class_and_hyper_parameters(text: str) -> None:
    assert repr(SHOWN[text]) == text


def test_what_was_assigned_later() -> None:
    definition = optim.WeightNorm(optim.GradientDescent(0.1))
    definition.wrapped_optimizer.hyper_params = definition.wrapped_optimizer.hyper_params.replace(
        learning_rate=0.5
    )
    assert repr(definition).startswith("WeightNorm(GradientDescent(learning_rate=0.5), ")
    many = optim.MultiOptimizer((BIASES, optim.GradientDescent(0.1)))
    many.hyper_params = []
    assert repr(many) == "MultiOptimizer()"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_address_is_shown(case: Case) -> None:
    assert " at 0x" not in repr(case.build(optim))


def test_those_of_an_optimizer() -> None:
    optimizer = optim.GradientDescent(0.1).create({"w": jnp.ones(2)})
    text = "GradientDescent(learning_rate=0.1)"
    assert repr(optimizer) == f"Optimizer({text}, step=0, target=<1 leaf, 2 numbers>)"
    thousand = optim.GradientDescent(0.1).create(
        {str(number): jnp.ones(16) for number in range(1000)}
    )
    assert repr(thousand) == f"Optimizer({text}, step=0, target=<1,000 leaves, 16,000 numbers>)"
    replicated = optimizer.replicate(jax.devices()[:1]).optimizer_def
    assert repr(replicated) == f"ReplicatedOptimizer({text})"


def test_an_optimizer_wherever_it_is() -> None:
    optimizer = optim.Momentum(0.1).create({"w": jnp.ones((2, 3)), "b": 1.0})
    shown = []

    @jax.jit
    def step(optimizer: optim.Optimizer) -> optim.Optimizer:
        shown.append(repr(optimizer))
        return optimizer

    step(optimizer)
    several = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), optimizer)
    deleted = jax.tree.map(jnp.copy, optimizer)
    deleted.state.step.delete()
    shown += map(repr, (several, deleted, jax.eval_shape(lambda: optimizer)))
    shown.append(repr(optimizer.replace(state=optimizer.state.replace(step=7))))
    definition = "Momentum(learning_rate=0.1, beta=0.9, weight_decay=0, nesterov=False)"
    target = "target=<2 leaves, 7 numbers>)"
    assert shown == [
        f"Optimizer({definition}, step=<1 leaf, 1 number>, {target}",
        f"Optimizer({definition}, step=[0, 0], target=<2 leaves, 14 numbers>)",
        f"Optimizer({definition}, step=<1 leaf, 1 number>, {target}",
        f"Optimizer({definition}, step=<1 leaf, 1 number>, {target}",
        f"Optimizer({definition}, step=7, {target}",
    ]


def test_an_optimizer_with_more_fields() -> None:
    class Named(optim.Optimizer):
        name: str = struct.field(pytree_node=False, default="")
        average: object = None

    plain = optim.GradientDescent(0.1).create(jnp.ones(2))
    optimizer = Named(plain.optimizer_def, plain.state, plain.target, "big", jnp.ones(2))
    assert repr(optimizer) == (
        "Named(GradientDescent(learning_rate=0.1), step=0, name='big',"
        " average=<1 leaf, 2 numbers>, target=<1 leaf, 2 numbers>)"
    )


def test_a_traversal() -> None:
    assert repr(BIASES) == "ModelParamTraversal(is_bias)"


def test_what_completes_a_name() -> None:
    assert {"Adam", "Optimizer", "adam", "base"} < set(dir(optim))
    assert not {"importlib", "annotations", "TYPE_CHECKING", "OPTIMIZERS"} & set(dir(optim))
    assert all(hasattr(optim, name) for name in dir(optim))


@pytest.mark.parametrize("name", NAMES)
def test_help_says_what_each_argument_is(name: str) -> None:
    cls = getattr(optim, name)
    described = inspect.getdoc(cls).partition("Args:\n")[2]
    for each in inspect.signature(cls).parameters:
        assert f"  {each}: " in described, each
    assert "None" in described or "learning_rate" not in described


def test_one_around_optax() -> None:
    assert "learning_rate=0.5" in repr(from_optax(optax.sgd, learning_rate=0.5))


def test_a_class_that_keeps_its_hyper_parameters_elsewhere() -> None:
    class Bare(optim.OptimizerDef):
        def __init__(self) -> None:
            pass

    assert repr(Bare()) == "Bare()"
