"""Outside jit, parameters of numpy follow numpy's rules, as they did in flax."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from tests.support import cases

OF_NUMPY = ["GradientDescent-default", "Momentum-default", "Momentum-nesterov"]
OF_JAX = ["Adam-default", "Adagrad-default", "Adafactor-default", "LARS-default", "RMSProp-default"]
# Flax computed in 64 bits up to the first function of jax, and in 32 from there on; here all is
# done in 64. Adam's 1 - 0.999 ** 2 loses the most of what 32 bits have. The numbers are up to 1.
LAST_BITS = 1e-6


def in_numpy(tree: Any, dtype: Any) -> Any:
    """Every array as numpy's, those of floats with this dtype."""
    return jax.tree.map(
        lambda leaf: np.asarray(leaf, dtype if leaf.dtype.kind == "f" else None), tree
    )


def two_steps(case: cases.Case, namespace: Any, dtype: Any) -> tuple[Any, Any]:
    """The parameters and the states after two steps, begun with nothing that is jax's."""
    definition = case.build(namespace)
    rng = np.random.default_rng(0)
    target = {"vector": rng.normal(size=5).astype(dtype), "number": dtype(0.3)}
    state = definition.init_state(target)
    state = state.replace(param_states=in_numpy(state.param_states, dtype))
    for _ in range(2):
        grads = jax.tree.map(np.sin, in_numpy(target, dtype))
        target, state = definition.apply_gradient(definition.hyper_params, target, state, grads)
    return target, state.param_states


def described(tree: Any) -> list[tuple[type, Any]]:
    leaves = jax.tree.leaves(tree)
    return [(jax.Array if isinstance(x, jax.Array) else type(x), x.dtype) for x in leaves]


@pytest.mark.parametrize(
    ("name", "dtype"), list(itertools.product(OF_NUMPY, (np.float32, np.float64)))
)
def test_what_only_adds_and_multiplies_stays_with_numpy(
    genuine: Any, name: str, dtype: Any
) -> None:
    case = cases.case(name)
    ours, theirs = two_steps(case, optim, dtype), two_steps(case, genuine, dtype)
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        # Of two scalars it makes float64, of which nothing is known here.
        ours, theirs = (
            [leaf for leaf in jax.tree.leaves(each) if np.ndim(leaf)] for each in (ours, theirs)
        )
        assert described(ours) == described(theirs)
        return
    assert described(ours) == described(theirs)
    assert {kind for kind, _ in described(ours)} == {np.ndarray, dtype}
    assert all(map(np.array_equal, jax.tree.leaves(ours), jax.tree.leaves(theirs)))


@pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.0.0", reason="rules of numpy 2 for numbers"
)
@pytest.mark.parametrize("name", OF_NUMPY)
@pytest.mark.parametrize("widths", list(itertools.product((np.float32, np.float64), repeat=3)))
def test_the_widest_operand_decides(genuine: Any, name: str, widths: tuple[Any, ...]) -> None:
    of_param, of_grad, of_moment = widths
    moved = []
    for namespace in (optim, genuine):
        definition = cases.case(name).build(namespace)
        target = {"vector": np.linspace(-1, 1, 5, dtype=of_param)}
        state = definition.init_state(target)
        moments = in_numpy(state.param_states, of_moment)
        moments = jax.tree.map(lambda each: each + each.dtype.type(0.1), moments)
        grads = {"vector": np.linspace(0.3, 0.7, 5, dtype=of_grad)}
        moved.append(
            definition.apply_gradient(
                definition.hyper_params, target, state.replace(param_states=moments), grads
            )
        )
    ours, theirs = ((target, state.param_states) for target, state in moved)
    assert described(ours) == described(theirs)
    for mine, genuine_one in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        # Where numpy rounded a product to 32 bits before it added it to 64, here nothing is.
        single = np.float32 in widths
        np.testing.assert_allclose(mine, genuine_one, rtol=0, atol=1e-7 if single else 0)


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64:UserWarning")
@pytest.mark.parametrize("name", OF_JAX)
def test_the_others_return_arrays_of_jax(genuine: Any, name: str) -> None:
    case = cases.case(name)
    ours, theirs = (two_steps(case, each, np.float64) for each in (optim, genuine))
    assert {kind for kind, _ in described(ours)} == {jax.Array}
    assert {dtype for _, dtype in described(ours)} == {np.dtype(np.float32)}
    for mine, genuine_one in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, genuine_one, rtol=0, atol=LAST_BITS)


def test_numbers_of_python_stay_numbers(genuine: Any) -> None:
    for namespace in (optim, genuine):
        definition = namespace.GradientDescent(learning_rate=0.1)
        new, _ = definition.apply_gradient(
            definition.hyper_params, 1.0, definition.init_state(1.0), 3.0
        )
        assert type(new) is float
        assert new == 1.0 - 0.1 * 3.0


def test_jax_is_left_as_it_was() -> None:
    optimizer = optim.GradientDescent(0.1).create({"a": np.ones(3)})
    moved = optimizer.apply_gradient({"a": np.ones(3)})
    assert moved.target["a"].dtype == np.float64
    assert jnp.ones(3).dtype == jnp.float32


def test_one_array_of_jax_decides() -> None:
    optimizer = optim.GradientDescent(0.1).create({"a": np.ones(3), "b": jnp.ones(3)})
    moved = optimizer.apply_gradient({"a": np.ones(3), "b": jnp.ones(3)})
    assert {kind for kind, _ in described(moved.target)} == {jax.Array}


def test_inside_jit_nothing_is_numpys() -> None:
    optimizer = optim.GradientDescent(0.1).create({"a": np.ones(3)})
    moved = jax.jit(lambda each: each.apply_gradient({"a": np.ones(3)}))(optimizer)
    assert isinstance(moved.target["a"], jax.Array)
