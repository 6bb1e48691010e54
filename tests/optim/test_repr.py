"""What a prompt and a debugger show of definitions and optimizers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import traverse_util

from flaxoptim_compat import from_optax, optim
from tests.support.cases import CASES, Case


def is_bias(path: str, value: object) -> bool:
    del value
    return path.endswith("bias")


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
    assert repr(optimizer).startswith(f"Optimizer(optimizer_def={text}, state=")
    replicated = optimizer.replicate(jax.devices()[:1]).optimizer_def
    assert repr(replicated) == f"ReplicatedOptimizer({text})"


def test_one_around_optax() -> None:
    assert "learning_rate=0.5" in repr(from_optax(optax.sgd, learning_rate=0.5))


def test_a_class_that_keeps_its_hyper_parameters_elsewhere() -> None:
    class Bare(optim.OptimizerDef):
        def __init__(self) -> None:
            pass

    assert repr(Bare()) == "Bare()"
