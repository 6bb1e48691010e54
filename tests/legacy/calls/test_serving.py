"""Functions that take old calls too: all else about them is as it was."""

from __future__ import annotations

import functools
import importlib
import inspect
import pickle
import warnings
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import linen, serialization
from flax.training.early_stopping import EarlyStopping

import flaxoptim_compat
from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.calls import serving
from flaxoptim_compat.legacy.calls.row import OldCall, module_of
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from flaxoptim_compat.legacy.entry import object_at

X = jnp.arange(4.0)
NAMES = [pytest.param(name, row, id=name) for row in ENTRIES for name in row.names.split()]


def attributes(name: str) -> tuple[dict[str, Any], str]:
    module = module_of(name)
    *classes, attribute = name.removeprefix(f"{module}.").split(".")
    holder = functools.reduce(getattr, classes, importlib.import_module(module))
    holder = type(X) if holder is jax.Array else holder
    found = dict(vars(holder))
    with warnings.catch_warnings():
        # What a module has by its __getattr__ only, such as pjit.
        warnings.simplefilter("ignore")
        return {attribute: getattr(holder, attribute)} | found, attribute


@pytest.fixture
def served() -> Iterator[None]:
    with flaxoptim_compat.installed(era=True):
        yield


def takes_all(function: Any, row: OldCall) -> bool:
    """Whether jax takes still, in the same order, what it took: some of it changed only lately."""
    took = [each.name for each in row.parameters]
    in_order = took[: took.index("*")] if "*" in took else took
    today = inspect.signature(function).parameters.values()
    of_any_kind = [each.name for each in today if each.kind is each.POSITIONAL_OR_KEYWORD]
    by_name = {*of_any_kind, *(each.name for each in today if each.kind is each.KEYWORD_ONLY)}
    return of_any_kind[: len(in_order)] == in_order and {*took} - {"*"} <= by_name


@pytest.mark.parametrize(("name", "row"), NAMES)
def test_what_is_replaced_looks_as_before_and_comes_back(name: str, row: OldCall) -> None:
    before, attribute = attributes(name)
    with flaxoptim_compat.installed(era=True):
        during, _ = attributes(name)
        original, served = before[attribute], during[attribute]
        if served is original:
            assert takes_all(original, row)
        else:
            assert inspect.unwrap(served) is inspect.unwrap(original)
            assert served.__name__ == original.__name__ and served.__doc__ == original.__doc__
            assert inspect.signature(served) == inspect.signature(original)
            assert {name for name in dir(original) if name[0] != "_"} <= set(dir(served))
    assert attributes(name)[0] == before


def test_classes_are_as_before_afterwards() -> None:
    classes = [each for row in METHODS for each in object_at(row.classes)()]
    before = [dict(vars(each)) for each in classes]
    with flaxoptim_compat.installed(era=True):
        pass
    for each, was in zip(classes, before, strict=True):
        now = dict(vars(each))
        assert {name for name in was if now.get(name) is not was[name]} <= {"__dict__"}
        assert now.keys() == was.keys()
    with pytest.raises((TypeError, AttributeError)):
        X.device()


def test_one_function_by_two_names_stays_one(served: None) -> None:
    from flax.linen import recurrent

    assert recurrent.GRUCell is linen.GRUCell
    assert pickle.loads(pickle.dumps(jnp.clip)) is jnp.clip
    assert pickle.loads(pickle.dumps(jax.lax.dot)) is jax.lax.dot


def test_a_call_of_today_is_handed_on_and_not_counted(served: None) -> None:
    before = usage.counts.copy()
    assert jnp.clip(X, 0, max=1).tolist() == [0, 1, 1, 1]
    assert jnp.clip(X, min=2).tolist() == [2, 2, 2, 3]
    assert jnp.reshape(X, (2, 2)).shape == jnp.reshape(X, shape=(2, -1)).shape == (2, 2)
    assert jax.jit(lambda x, n: x * n, static_argnums=1)(X, 2).tolist() == (2 * X).tolist()
    cell = linen.GRUCell(features=3)
    assert cell.initialize_carry(jax.random.key(0), (2, 5)).shape == (2, 3)
    assert cell.initialize_carry(rng=jax.random.key(0), input_shape=(2, 5)).shape == (2, 3)
    attention = linen.MultiHeadDotProductAttention(num_heads=1)
    x = jnp.ones((2, 4, 3))
    assert attention.init_with_output(jax.random.key(0), x, x, x)[0].shape == x.shape
    assert usage.counts == before


@pytest.mark.filterwarnings("ignore:jax.jit. passing optional arguments by position")  # jax 0.6
def test_what_was_wrong_already_is_wrong_as_it_is_today(served: None) -> None:
    for wrong in (
        lambda: jnp.clip(X, 0, 1, X),
        lambda: jnp.clip(X, a_max=1, nonsense=2),
        lambda: jnp.clip(X, 1, 2, None, 4),
        lambda: jax.lax.dot(X, X, None, None, None),
        lambda: jax.jit(abs, 0, static_argnums=0),
        lambda: linen.GRUCell(nonsense=2),
        lambda: linen.GRUCell.initialize_carry(jax.random.key(0), (2,)),
    ):
        with pytest.raises(TypeError):
            wrong()


def test_a_missing_argument_is_that_of_the_function(served: None) -> None:
    # As of `flax.training.common_utils.stack_forest` without metrics.
    with pytest.raises(TypeError, match=r"^tree_map\(\) missing 1 .* argument: 'tree'"):
        jax.tree_util.tree_map(abs)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^fold_in\(\) missing 1 .* argument: 'data'"):
        jax.random.fold_in(jax.random.key(0))  # type: ignore[call-arg]


@pytest.mark.skipif(
    "a_min" in inspect.signature(jnp.clip).parameters, reason="this jax has the old names itself"
)
def test_no_argument_is_given_by_both_of_its_names(served: None) -> None:
    with pytest.raises(TypeError):
        jnp.clip(X, 0, a_min=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        jnp.reshape(X, (4,), newshape=(4,))  # type: ignore[call-arg]


def test_old_calls_inside_of_transformations(served: None) -> None:
    def clip(x: Any) -> Any:
        return jnp.clip(x, 0, 2, None)  # type: ignore[call-arg]

    assert jax.jit(clip)(X).tolist() == [0, 1, 2, 2]
    assert jax.vmap(clip)(X).tolist() == [0, 1, 2, 2]
    assert jax.grad(lambda x: clip(x).sum())(X).tolist()[3] == 0
    assert jax.eval_shape(clip, X).shape == (4,)
    ordered = jax.jit(functools.partial(jnp.sort, kind="quicksort"))
    assert ordered.lower(X).compile()(X).shape == (4,)


def test_jax_tells_of_lines_of_the_program(served: None) -> None:
    def wrong() -> bool:
        return bool(jnp.clip(jnp.arange(3.0), 0, None, None)[0])  # type: ignore[call-arg]

    with pytest.raises(jax.errors.TracerBoolConversionError, match="on these lines") as error:
        jax.jit(wrong)()
    assert __file__ in str(error.value)
    assert str(serving.__file__) not in str(error.value)


def test_early_stopping_is_what_it_was_but_for_its_parts() -> None:
    before = usage.counts.copy()
    with flaxoptim_compat.installed(era=True):
        stopping = EarlyStopping(patience=3).update(2.0)
        assert type(stopping) is EarlyStopping and stopping.has_improved and stopping
        assert jax.tree.structure(stopping) == jax.tree.structure(EarlyStopping(patience=3))
        assert serialization.to_state_dict(stopping)["best_metric"] == 2.0
        assert pickle.loads(pickle.dumps(stopping)) == stopping
        assert usage.counts == before
        with pytest.warns(flaxoptim_compat.FlaxOptimDeprecationWarning, match="as a pair is gone"):
            improved, same = stopping
        assert improved is True and same is stopping
        with pytest.raises(IndexError):
            stopping[2]
    for take_apart in (list, lambda pair: pair[0]):
        with pytest.raises(TypeError):
            take_apart(stopping)


def test_the_message_names_what_to_write(served: None) -> None:
    with pytest.warns(flaxoptim_compat.FlaxOptimDeprecationWarning) as warned:
        jnp.clip(X, 0, None, None)
    assert str(warned[0].message) == (
        "jax.numpy.clip takes other arguments today. Write jax.numpy.clip(x, min=..., max=...)"
        " instead."
    )
    assert warned[0].filename == __file__


def test_the_rows_are_in_order() -> None:
    for row in ENTRIES:
        assert row.today and not row.today.endswith(".")
        assert all(callable(object_at(path)) for path in (row.by, row.old_if) if path)


def test_only_an_array_of_one_number_is_converted(served: None) -> None:
    assert float(X[None, 1:2]) == 1.0 and not bool(X[:0])
    with pytest.raises(TypeError, match="scalar"):
        float(X)
    with pytest.raises(ValueError, match="truth value"):
        bool(X)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x: float(x[:1]))(X)
    with pytest.raises(jax.errors.ConcretizationTypeError):
        jax.jit(lambda x: 1 if x[0] else 2)(X)
