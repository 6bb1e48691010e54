"""Outside jit, what numpy holds is computed as it was in flax, by numpy or by jax."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.half_precision import skip_unless_rounded
from tests.support.options import ONE_EACH, each_case_with, each_value, params
from tests.support.side_by_side import bits
from tests.support.tolerances import tolerance
from tests.support.ulps import LargestValues, errors_in_ulps

STEPS = 3
NUMPY_1 = np.lib.NumpyVersion(np.__version__) < "2.0.0"
HELD = {
    "single": np.asarray,
    # Numbers that 32 bits cannot hold.
    "double": lambda leaf: np.asarray(leaf, np.float64) * (1 + 1e-9),
    "jax": jnp.asarray,
}
# What holds the parameters, the gradients and the moments: any two of these in all ways.
HOLDERS = [
    *(
        (tuple(HELD)[a], tuple(HELD)[b], tuple(HELD)[2 * (a + b) % 3])
        for a in range(3)
        for b in range(3)
    ),
    # The leaves by turns, in three different orders.
    ("single double jax", "double single", "jax double"),
]


def held(tree: Any, holders: str) -> Any:
    """A tree whose leaves are held by these in turn."""
    leaves, treedef = jax.tree.flatten(tree)
    turns = zip(leaves, itertools.cycle(holders.split()), strict=False)
    return treedef.unflatten(
        [HELD[holder](leaf) if leaf.dtype == np.float32 else leaf for leaf, holder in turns]
    )


def trained(case: cases.Case, namespace: Any, genuine: Any, holders: tuple[str, ...]) -> list[Any]:
    """The parameters and the states at first, after a step of the genuine one, and after each."""
    of_params, of_grads, of_moments = holders
    definition, first = (
        case.build(namespace),
        case.build(genuine).create(jax.tree.map(jnp.asarray, case.parameters())),
    )
    first = first.apply_gradient(jax.tree.map(jnp.asarray, cases.gradients(9, first.target)))
    target = held(first.target, of_params)
    state = definition.init_state(first.target)
    moments = jax.tree.leaves(held(first.state.param_states, of_moments))
    state = state.replace(
        step=first.state.step,
        param_states=jax.tree.unflatten(jax.tree.structure(state.param_states), moments),
    )
    found = [(target, state.param_states)]
    for number in range(STEPS):
        grads = held(cases.gradients(number, case.parameters()), of_grads)
        target, state = definition.apply_gradient(definition.hyper_params, target, state, grads)
        found.append((target, state.param_states))
    return found


def described(tree: Any) -> list[tuple[type, Any]]:
    leaves = jax.tree.leaves(tree)
    return [(jax.Array if isinstance(x, jax.Array) else type(x), x.dtype) for x in leaves]


def differs(case: cases.Case, holders: tuple[str, ...]) -> str:
    """Why flax had another dtype, or another array, for some parameter or moment."""
    of_params, of_grads, of_moments = holders
    decays = case.name in ("Momentum-all", "Momentum-weight_decay", "WeightNorm-all")
    # Numpy 1 made float64 of a number of float32 and one of Python.
    wider = NUMPY_1 or "double" in of_params + of_moments
    if decays and "single" in of_grads and wider:
        return "a known difference: the decay was added to the gradients in place, in their dtype"
    if case.optimizer == "WeightNorm" and of_params != of_moments and "jax" not in of_grads:
        return "flax returned the direction of a bias, optax adds what moved it to the parameter"
    return ""


# The genuine one asks for it.
@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64:UserWarning")
@pytest.mark.parametrize(
    ("case", "holders"),
    params(
        each_case_with(HOLDERS),
        # Each with one, and one with each.
        (*each_value(ONE_EACH, HOLDERS), *itertools.product([cases.case("Adam-all")], HOLDERS)),
    ),
)
def test_each_leaf_is_the_genuine_one(
    genuine: Any, case: cases.Case, holders: tuple[str, ...]
) -> None:
    if reason := differs(case, holders):
        pytest.skip(reason)
    skip_unless_rounded(case.build(optim).create(case.parameters()))
    ours, theirs = (trained(case, each, genuine, holders) for each in (optim, genuine))
    bounds = tolerance(case.name, "float32", "varying")
    for which, bound in ((0, bounds.params), (1, bounds.moments)):
        sizes = LargestValues(theirs[0][which])
        for mine, genuine_one in zip(ours, theirs, strict=True):
            assert described(mine[which]) == described(genuine_one[which])
            sizes.add(genuine_one[which])
            errors = errors_in_ulps(mine[which], genuine_one[which], sizes)
            assert max(errors.values(), default=0.0) <= bound * math.sqrt(STEPS), errors
            if not bound:
                assert [*map(bits, jax.tree.leaves(mine[which]))] == [
                    *map(bits, jax.tree.leaves(genuine_one[which]))
                ]


def test_numbers_of_python_stay_numbers(genuine: Any) -> None:
    for namespace in (optim, genuine):
        definition = namespace.GradientDescent(learning_rate=0.1)
        new, _ = definition.apply_gradient(
            definition.hyper_params, 1.0, definition.init_state(1.0), 3.0
        )
        assert type(new) is float
        assert new == 1.0 - 0.1 * 3.0


@pytest.mark.parametrize("name", ["Adadelta", "Adagrad", "LARS", "Momentum"])
@pytest.mark.parametrize("number", [float, np.float32, np.float64, np.array])
def test_single_numbers_have_the_genuine_bits(genuine: Any, name: str, number: Any) -> None:
    moved = []
    for namespace in (optim, genuine):
        definition = getattr(namespace, name)(0.1)
        target, state = number(0.3), definition.init_state(number(0.3))
        for gradient in (0.7, -0.2):
            target, state = definition.apply_gradient(
                definition.hyper_params, target, state, number(gradient)
            )
        moved.append([*map(bits, jax.tree.leaves((target, state.param_states)))])
    assert moved[0] == moved[1]


def test_a_rate_that_is_an_array_of_jax_decides(genuine: Any) -> None:
    for namespace in (optim, genuine):
        optimizer = namespace.GradientDescent(jnp.float32(0.1)).create(np.ones(3))
        moved = optimizer.apply_gradient(np.full(3, 0.7))
        assert described(moved.target) == [(jax.Array, np.float32)]


def test_a_leaf_that_nothing_moves_stays_what_it_was() -> None:
    first = optim.ModelParamTraversal(lambda path, _: path == "/a")
    still = np.ones(3)
    optimizer = optim.Adam(0.1).create({"a": jnp.ones(3), "b": still}, focus=first)
    moved = optimizer.apply_gradient({"a": np.ones(3), "b": np.ones(3)})
    assert moved.target["b"] is still
    assert isinstance(moved.target["a"], jax.Array)


def test_inside_jit_nothing_is_numpys() -> None:
    optimizer = optim.GradientDescent(0.1).create({"a": np.ones(3)})
    moved = jax.jit(lambda each: each.apply_gradient({"a": np.ones(3)}))(optimizer)
    assert isinstance(moved.target["a"], jax.Array)
