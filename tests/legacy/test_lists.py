"""Functions of jax take lists for arrays again, and arrays take them as indices."""

from __future__ import annotations

import importlib
import inspect
import pickle
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
from flaxoptim_compat.legacy.lists import TOOK_LISTS, accept_list_indices, accept_lists
from tests.legacy.cases.lists import ARGUMENTS, L

# Their results have shapes that depend on values.
ONLY_OUTSIDE_JIT = (
    *("argwhere", "compress", "extract", "flatnonzero", "intersect1d", "nonzero", "roots"),
    *("setdiff1d", "trim_zeros", "unique"),
)


def function(name: str) -> Any:
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def with_arrays(name: str) -> list[Any]:
    """The same arguments, with arrays instead of lists."""
    module, _, attribute = name.rpartition(".")
    kinds = TOOK_LISTS[module][attribute].split()
    arguments = list(ARGUMENTS[name])
    for place, argument in enumerate(arguments):
        kind = "*" if kinds == ["*"] else dict(enumerate(kinds)).get(place, "-")
        if kind.endswith("[]"):
            arguments[place] = [jnp.asarray(each) for each in argument]
        elif kind != "-" and isinstance(argument, (list, tuple)):
            arguments[place] = jnp.asarray(argument)
    return arguments


@contextmanager
def all_accepted() -> Iterator[None]:
    with ExitStack() as undo:
        for module in TOOK_LISTS:
            accept_lists(module, undo)
        yield


@pytest.fixture
def lists_accepted() -> Iterator[None]:
    with all_accepted():
        yield


def assert_equal(found: Any, expected: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    for mine, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert type(mine) is type(other) and mine.dtype == other.dtype
        assert np.array_equal(mine, other, equal_nan=True)


def test_every_function_is_tested() -> None:
    names = {f"{module}.{name}" for module, names in TOOK_LISTS.items() for name in names}
    assert names == ARGUMENTS.keys()


@pytest.mark.parametrize("name", ARGUMENTS)
def test_lists_are_like_arrays(name: str, lists_accepted: None) -> None:
    taking = function(name)
    with warnings.catch_warnings():
        # jax.numpy warns of lists that it still takes.
        warnings.simplefilter("ignore", DeprecationWarning)
        arrays = with_arrays(name)
        assert_equal(taking(*ARGUMENTS[name]), taking(*arrays))
        if name.rpartition(".")[2] not in ONLY_OUTSIDE_JIT:
            jitted = jax.jit(lambda: taking(*ARGUMENTS[name]))
            assert_equal(jitted(), jax.jit(lambda: taking(*arrays))())


@pytest.mark.parametrize("name", ARGUMENTS)
def test_those_are_replaced_that_refuse_lists(name: str) -> None:
    original = function(name)
    with all_accepted():
        taking = function(name)
    assert function(name) is original
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            original(*ARGUMENTS[name])
    except TypeError:
        assert taking.__wrapped__ is original
        assert taking.__name__ == original.__name__ and taking.__doc__ == original.__doc__
        assert inspect.signature(taking) == inspect.signature(original)
        assert {name for name in dir(original) if name[0] != "_"} <= set(dir(taking))
    else:
        assert taking is original


# Some of these jax 0.4.30 still takes itself.
@pytest.mark.filterwarnings("ignore:(dstack|atleast_3d) requires ndarray:DeprecationWarning")
def test_lists_of_tracers(lists_accepted: None) -> None:
    @jax.jit
    def program(x: Any, y: Any) -> Any:
        grid = jnp.broadcast_to([x, 2.0, y], (2, 3))
        return grid, jnp.linalg.norm([[x, y], [y, 1.0]]), jnp.take(grid, [0, y.astype(int)], 1)

    grid, norm, taken = program(3.0, jnp.asarray(1.0))
    assert grid.tolist() == [[3.0, 2.0, 1.0]] * 2
    assert norm == jnp.linalg.norm(jnp.asarray([[3.0, 1.0], [1.0, 1.0]]))
    assert taken.tolist() == [[3.0, 2.0]] * 2
    gradient = jax.grad(lambda x: jnp.sum(jnp.average([x, x**2], weights=[1.0, 3.0])))(2.0)
    assert gradient == 0.25 + 3.0
    batch = jax.vmap(lambda x: jnp.dstack([[x, x], jnp.ones(2)]))(jnp.asarray([0.0, 5.0]))
    assert batch.tolist() == [[[[0.0, 1.0], [0.0, 1.0]]], [[[5.0, 1.0], [5.0, 1.0]]]]


def test_known_numbers_are_known_under_jit(lists_accepted: None) -> None:
    @jax.jit
    def program(x: Any) -> Any:
        flat = x.reshape(-1, jnp.prod(x.shape[1:]))
        assert int(jnp.sum(a=[1, 2])) == 3 and bool(jnp.any([False, True]))
        return jnp.max([jnp.sum(flat, 1), jnp.prod(flat, 1)], axis=0)

    assert program(jnp.ones((3, 2, 2))).tolist() == [4.0] * 3
    assert jax.jit(lambda x: jnp.repeat(x, [1, 2]))(jnp.arange(2)).tolist() == [0, 1, 1]
    assert jax.grad(lambda x: jnp.sum([x, 3.0 * x, 1.0]))(2.0) == 4.0
    # What is one array is for the compiled function to compute.
    assert "reduce_sum" in str(jax.make_jaxpr(lambda: jnp.sum(np.ones(3)))())


def test_keywords_and_pickles(lists_accepted: None) -> None:
    assert pickle.loads(pickle.dumps(jnp.take)) is jnp.take
    assert jnp.take(jnp.arange(5), indices=[4, 0], axis=0).tolist() == [4, 0]
    assert jnp.average(jnp.asarray([1.0, 4.0]), weights=(2.0, 1.0)) == 2.0
    edges = jnp.histogram(jnp.asarray(L), bins=[0.0, 2.5, 4.0])[1]
    assert edges.tolist() == [0.0, 2.5, 4.0]
    assert jnp.percentile(a=jnp.asarray(L), q=[0.0, 100.0]).tolist() == [1.0, 3.0]


def test_the_rest_goes_through_untouched(lists_accepted: None) -> None:
    array = jnp.arange(6)
    assert jnp.reshape(array, (2, 3)).shape == jnp.reshape(array, [2, 3]).shape == (2, 3)
    assert jnp.histogram(array, 3)[0].tolist() == [2, 2, 2]
    with pytest.raises(TypeError):
        jnp.reshape("text", (4,))
    with pytest.raises(TypeError):
        jnp.ravel([{"a": 1}])
    # These never took a list.
    for strict in (jnp.mean, jnp.dot, jnp.concatenate):
        assert not hasattr(strict, "_takes_lists")


def test_undoing_is_only_for_what_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: dict(vars(importlib.import_module(name))) for name in TOOK_LISTS}
    with all_accepted():
        with all_accepted():
            pass
        assert jnp.take is not before["jax.numpy"]["take"]
        monkeypatch.setattr(jnp, "roll", "replaced by another one")
    assert jnp.roll == "replaced by another one"  # type: ignore[comparison-overlap]
    monkeypatch.setattr(jnp, "roll", before["jax.numpy"]["roll"])
    for name, attributes in before.items():
        assert dict(vars(importlib.import_module(name))) == attributes


# --- indices

X = np.arange(12.0, dtype=np.float32).reshape(3, 4)
ONE = np.asarray([0, 1])
# An index, what it stood for, and the shape of what is there, in jax 0.2.0 and 0.2.5.
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
told = pytest.mark.filterwarnings("ignore:An index that is a list")


@pytest.fixture
def accepted() -> Iterator[None]:
    with ExitStack() as undo:
        accept_list_indices(undo)
        yield


@told
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


@told
def test_numbers_may_be_traced(accepted: None) -> None:
    found = jax.vmap(lambda row, i: row[[i]])(X, jnp.asarray([3, 0, 1]))
    assert found.tolist() == [[3.0], [4.0], [9.0]]
    assert jax.jit(lambda i: jnp.asarray(X)[[i, 0]])(2).tolist() == X[[2, 0]].tolist()
    slope = jax.grad(lambda x: x[[0, 0]].sum())(jnp.ones(2))
    assert slope.tolist() == [2.0, 0.0]


def test_the_line_of_an_index_is_told(accepted: None) -> None:
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Write x\[jax.numpy.asarray") as told:
        jnp.asarray(X)[[0, 1]]  # type: ignore[index]
    assert told[0].filename == __file__
    with pytest.warns(FlaxOptimDeprecationWarning, match=r"Write x\[tuple\(index\)\]"):
        jnp.asarray(X)[[0, slice(None)]]  # type: ignore[index]


@told
def test_what_was_an_error_is_one(accepted: None) -> None:
    with pytest.raises(TypeError, match="integer or boolean"):
        jnp.asarray(X)[[0.0, 1.0]]  # type: ignore[index]
    with pytest.raises(TypeError):
        jnp.asarray(X)[range(2)]  # type: ignore[index]


@told
def test_indices_end() -> None:
    before = type(jnp.ones(1)).__getitem__, jax.core.Tracer.__getitem__
    with ExitStack() as undo:
        accept_list_indices(undo)
    assert (type(jnp.ones(1)).__getitem__, jax.core.Tracer.__getitem__) == before
    for use in (lambda x: x[[0]], jax.jit(lambda x: x[[0]]), lambda x: x.at[[0]].set(0.0)):
        with pytest.raises(TypeError, match="non-tuple sequence"):
            use(jnp.asarray(X))
