"""Outside jit a step has the bits of the same step run operation by operation.

With the instructions that a user's machine has this is told by ``--optimized``; without those that
round a product and a sum together, most of it holds by itself.
"""

from __future__ import annotations

import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flaxoptim_compat import compiled_steps, optim
from tests.support import cases
from tests.support.half_precision import skip_unless_rounded
from tests.support.options import FAMILIES, ONE_EACH, each, each_case_with, each_value, params
from tests.support.side_by_side import assert_same
from tests.support.tolerances import ALL

STEPS = 2


def with_long_rows(case: cases.Case, dtype: str) -> Any:
    """The parameters of a case, and one whose rows are no multiple of what a processor takes."""
    tree = case.parameters(dtype=dtype)
    drawn = np.random.RandomState(0).uniform(-1.0, 1.0, (33, 129))
    tree["long"] = {"kernel": drawn.astype(tree["dense"]["kernel"].dtype)}
    return jax.tree.map(jnp.asarray, tree)


def both(optimizer: Any, grads: Any, **overrides: Any) -> tuple[Any, Any]:
    """A step, and the same one operation by operation."""
    with compiled_steps(False):
        by_operation = optimizer.apply_gradient(grads, **overrides)
    return optimizer.apply_gradient(grads, **overrides), by_operation


@pytest.mark.usefixtures("wide_numbers")
@pytest.mark.parametrize(
    ("case", "dtype"),
    params(each_case_with(ALL), each_value(ONE_EACH, ALL)),
)
def test_every_case(case: cases.Case, dtype: str) -> None:
    optimizer = case.build(optim).create(with_long_rows(case, dtype))
    skip_unless_rounded(optimizer)
    for number in range(STEPS):
        grads = jax.tree.map(jnp.asarray, cases.gradients(number, optimizer.target))
        optimizer, by_operation = both(
            optimizer, grads, **([{}, {"learning_rate": 0.03}][number % 2])
        )
        assert_same(optimizer, by_operation)


def turned(tree: Any, by: complex) -> Any:
    """Complex numbers of the size of these, of which every other one is real."""

    def leaf(array: jax.Array) -> jax.Array:
        turns = jnp.where(jnp.arange(array.size).reshape(array.shape) % 2, by, 1.0)
        return array * turns.astype(jnp.complex64)

    return jax.tree.map(leaf, tree)


# The momentum of Adafactor is one of real numbers, as in Flax.
@pytest.mark.filterwarnings("ignore:Casting ")
@pytest.mark.parametrize(
    "case", each(cases.CASES, [case for case in ONE_EACH if case.optimizer in FAMILIES])
)
def test_every_case_of_complex_parameters(case: cases.Case) -> None:
    if "Adafactor" in str(case) and jax.__version_info__ < (0, 4, 38):
        pytest.skip("there the last place of Adafactor differs beside complex numbers")
    params = with_long_rows(case, "float32")
    params = {**params, "long": turned(params["long"], 0.6 + 0.8j)}
    optimizer = case.build(optim).create(params)
    for number in range(STEPS):
        grads = jax.tree.map(jnp.asarray, cases.gradients(number, params))
        grads["long"] = turned(grads["long"], 0.8 - 0.6j)
        optimizer, by_operation = both(optimizer, grads)
        assert_same(optimizer, by_operation)


@settings(deadline=None, max_examples=8, derandomize=True)
@given(
    st.sampled_from(["Adam", "LAMB", "Adafactor", "RMSProp", "LARS", "Momentum"]),
    st.lists(st.integers(1, 40), min_size=0, max_size=3),
    st.floats(-6, 6),
    st.floats(1e-4, 0.5),
    st.integers(0, 2**31),
)
def test_any_parameter(name: str, shape: list[int], scale: float, decay: float, seed: int) -> None:
    """Whatever its shape, its size and the weight decay are."""
    rng = np.random.default_rng(seed)
    param, *grads = (jnp.asarray(10**scale * rng.normal(size=shape), jnp.float32) for _ in range(3))
    decays = "weight_decay_rate" if name == "Adafactor" else "weight_decay"
    kwargs = {} if name == "RMSProp" else {decays: decay}
    optimizer = getattr(optim, name)(0.1, **kwargs).create({"p": param})
    for grad in grads:
        optimizer, by_operation = both(optimizer, {"p": grad})
        assert_same(optimizer, by_operation)


# Optax multiplies by the rate last, flax before it divided; and it decays the update where flax
# decayed the parameter. In these there is neither.
ALIKE = r"(GradientDescent|Momentum|Adagrad|LARS)-.*|Adadelta-(?!weight_decay|all).*"
OF_ONE_OPTIMIZER = [
    case for case in cases.CASES if case.optimizer not in ("MultiOptimizer", "WeightNorm")
]


def trained(case: cases.Case, namespace: Any) -> Any:
    """An optimizer after some steps outside jit, each with the same gradients for everyone."""
    optimizer = case.build(namespace).create(with_long_rows(case, "float32"))
    for number in range(STEPS):
        grads = jax.tree.map(jnp.asarray, cases.gradients(number, optimizer.target))
        optimizer = optimizer.apply_gradient(grads)
    return optimizer


def test_a_leaf_that_is_left_over_has_the_same_bits() -> None:
    """Of 97 equal leaves 96 make two equal batches."""
    rng = np.random.default_rng(0)
    tree = {str(number): rng.normal(size=(5, 64)).astype(np.float32) for number in range(97)}
    optimizer = optim.Adam(1e-3).create(jax.tree.map(jnp.asarray, tree))
    for _ in range(STEPS):
        optimizer, by_operation = both(optimizer, optimizer.target)
        assert_same(optimizer, by_operation)


@pytest.mark.parametrize(
    "case", each(OF_ONE_OPTIMIZER, [case for case in ONE_EACH if case in OF_ONE_OPTIMIZER])
)
def test_moments_and_parameters_are_the_genuine_ones(genuine: Any, case: cases.Case) -> None:
    ours, theirs = (trained(case, namespace) for namespace in (optim, genuine))
    if re.fullmatch(ALIKE, case.name):
        assert_same(ours.target, theirs.target)
    skip_unless_rounded(case.build(optim).create(case.parameters()))
    moments = (jax.tree.leaves(each.state.param_states) for each in (ours, theirs))
    assert_same(*moments)
