"""The formulas of ``migration_guide/optimizers`` are what the optimizers do."""

from __future__ import annotations

import ast
import functools
import inspect
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support.optimizer_pages import PAGES, RATE, START, definition, gradient, section
from tests.support.pages import blocks

# Hyper-parameters that are no defaults, so that none of them can be left out of a formula.
MOVED: dict[str, list[dict[str, Any]]] = {
    "GradientDescent": [{}],
    "Momentum": [{"beta": 0.8, "weight_decay": 0.1, "nesterov": each} for each in (False, True)],
    "Adam": [{"beta1": 0.8, "beta2": 0.97, "eps": 1e-2, "weight_decay": 0.1}],
    "AdaBelief": [{"beta1": 0.8, "beta2": 0.97, "eps": 1e-2, "weight_decay": 0.1}],
    "Adadelta": [{"rho": 0.8, "eps": 1e-2, "weight_decay": 0.1}],
    "Adagrad": [{"eps": 1e-1}],
    "RMSProp": [{"beta2": 0.8, "eps": 1e-1, "centered": each} for each in (False, True)],
    "LAMB": [{"beta1": 0.8, "beta2": 0.97, "eps": 1e-1, "weight_decay": 0.1}],
    "LARS": [
        {"beta": 0.8, "weight_decay": 0.1, "trust_coefficient": 0.1, "eps": 0.1, "nesterov": each}
        for each in (False, True)
    ],
    "Adafactor": [
        {"min_dim_size_to_factor": 2, "decay_rate": 0.7, "step_offset": -3, "epsilon1": 1e-2},
        {"min_dim_size_to_factor": 4, "multiply_by_parameter_scale": False, "beta1": 0.8},
        {"factored": False, "epsilon2": 2.0, "clipping_threshold": 0.5, "weight_decay_rate": 0.1},
        {"min_dim_size_to_factor": 2, "clipping_threshold": None},
    ],
    "WeightNorm": [{"wn_decay": 0.1, "wn_eps": 0.1}],
}
NUMPY = {name: getattr(np, name) for name in ("sqrt", "sum", "mean", "outer")}


def by_formula(name: str, changed: dict[str, Any], steps: int) -> dict[str, Any]:
    """Run the code of the page in float64."""
    (code,) = blocks(section(name, "Formula"), "py")
    signature = inspect.signature(getattr(optim, name)).parameters
    scope = {each.name: each.default for each in signature.values()} | changed
    scope |= {**NUMPY, "norm": np.linalg.norm, "rms": lambda x: np.sqrt(np.mean(x**2))}
    scope |= {"p": START, "learning_rate": RATE}
    state = definition(name, changed).create(jnp.asarray(START)).state.param_states
    scope |= dict.fromkeys(moments(state), 0.0)
    if name == "WeightNorm":
        scope["wrapped_optimizer"] = lambda value, gradient: value - RATE * gradient
        scope["scale"] = np.sqrt(np.sum(START**2, axis=0) + changed["wn_eps"])
        scope["direction"] = START / scope["scale"]
    for t in range(1, steps + 1):
        scope |= {"g": gradient(t), "t": t}
        exec(code, scope)
    return scope


def moments(state: Any) -> dict[str, Any]:
    """The fields of a parameter's state, without the states inside WeightNorm's."""
    fields = {} if state == () else vars(state)
    return {field: value for field, value in fields.items() if not field.endswith("_state")}


CASES = [
    pytest.param(name, changed, id=f"{name}-{number}")
    for name in PAGES
    for number, changed in enumerate(MOVED[name])
]


@pytest.mark.parametrize(("name", "changed"), CASES)
def test_the_formula_is_what_the_optimizer_does(name: str, changed: dict[str, Any]) -> None:
    found = by_formula(name, changed, steps=4)
    optimizer = definition(name, changed).create(jnp.asarray(START, jnp.float32))
    for t in range(1, 5):
        optimizer = optimizer.apply_gradient(jnp.asarray(gradient(t), jnp.float32))
    # Four steps in float32 against float64; the numbers are of the order of 1.
    close = functools.partial(np.testing.assert_allclose, rtol=2e-5, atol=2e-6)
    close(optimizer.target, found["p"])
    assert np.abs(found["p"] - START).max() > 1e-3
    for field, value in moments(optimizer.state.param_states).items():
        if np.size(value) > 1:  # else it is not in use
            close(value, np.reshape(found[field], value.shape))


def used(name: str) -> set[str]:
    (code,) = blocks(section(name, "Formula"), "py")
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}


@pytest.mark.parametrize("name", PAGES)
def test_the_formula_has_every_hyper_parameter_and_every_moment(name: str) -> None:
    signature = set(inspect.signature(getattr(optim, name)).parameters)
    state = definition(name, {}).create(jnp.asarray(START)).state.param_states
    assert signature - {"dtype_momentum"} | set(moments(state)) <= used(name)
