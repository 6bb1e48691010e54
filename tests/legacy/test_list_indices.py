"""Arrays take lists as indices again, as jax did until 0.2.6.

Of each index below, the shape of what it gives is that of jax 0.2.0 and 0.2.5.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
from flaxoptim_compat.legacy.lists import accept_list_indices

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)
ONE = np.asarray([0, 1])
# An index, what it stood for, and the shape of what is there.
INDICES: dict[str, tuple[list[Any], Any, tuple[int, ...]]] = {
    "numbers": ([0, 1], ONE, (2, 4)),
    "numbers from the end": ([-1, 0], np.asarray([2, 0]), (2, 4)),
    "truth values": ([True, False, True], np.asarray([0, 2]), (2, 4)),
    "nothing": ([], np.zeros(0, int), (0, 4)),
    "a slice": ([slice(0, 1)], slice(0, 1), (1, 4)),
    "lists": ([[0, 1], [1, 2]], (ONE, np.asarray([1, 2])), (2,)),
    "tuples": ([(0, 1), (1, 2)], (ONE, np.asarray([1, 2])), (2,)),
    "one array": ([ONE], ONE, (2, 4)),
    "an ellipsis": ([..., 0], (..., 0), (3,)),
    "a new axis": ([None], None, (1, 3, 4)),
}
pytestmark = pytest.mark.filterwarnings("ignore:An index that is a list")


@pytest.fixture
def accepted() -> Iterator[None]:
    undo = accept_list_indices()
    yield
    undo()


@pytest.mark.parametrize("name", INDICES)
def test_a_list_is_what_it_stood_for(name: str, accepted: None) -> None:
    index, instead, shape = INDICES[name]
    for found in (jnp.asarray(X)[index], jax.jit(lambda x: x[index])(X)):  # type: ignore[index]
        assert found.shape == shape and np.array_equal(found, X[instead])
    changed = X.copy()
    changed[instead] = 7.0
    assert np.array_equal(jnp.asarray(X).at[index].set(7.0), changed)
    assert np.array_equal(jax.jit(lambda x: x.at[index].set(7.0))(X), changed)
    assert np.array_equal(jnp.asarray(X).at[index].get(), X[instead])


def test_numbers_may_be_traced(accepted: None) -> None:
    found = jax.vmap(lambda row, i: row[[i]])(X, jnp.asarray([3, 0, 1]))
    assert found.tolist() == [[3.0], [4.0], [9.0]]
    assert jax.jit(lambda i: jnp.asarray(X)[[i, 0]])(2).tolist() == X[[2, 0]].tolist()
    slope = jax.grad(lambda x: x[[0, 0]].sum())(jnp.ones(2))
    assert slope.tolist() == [2.0, 0.0]


def test_the_line_is_told(accepted: None) -> None:
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Write x\[jax.numpy.asarray") as told:
        jnp.asarray(X)[[0, 1]]  # type: ignore[index]
    assert told[0].filename == __file__
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Write x\[tuple\(index\)\]"):
        jnp.asarray(X)[[0, slice(None)]]  # type: ignore[index]


def test_what_was_an_error_is_one(accepted: None) -> None:
    with pytest.raises(TypeError, match="integer or boolean"):
        jnp.asarray(X)[[0.0, 1.0]]  # type: ignore[index]
    with pytest.raises(TypeError):
        jnp.asarray(X)[range(2)]  # type: ignore[index]


def test_it_ends() -> None:
    before = type(jnp.ones(1)).__getitem__, jax.core.Tracer.__getitem__
    accept_list_indices()()
    assert (type(jnp.ones(1)).__getitem__, jax.core.Tracer.__getitem__) == before
    for use in (lambda x: x[[0]], jax.jit(lambda x: x[[0]]), lambda x: x.at[[0]].set(0.0)):
        with pytest.raises(TypeError, match="non-tuple sequence"):
            use(jnp.asarray(X))
