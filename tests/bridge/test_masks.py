"""A MultiOptimizer asks each filter about each leaf once, and does nothing else as often."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from flax import traverse_util
from flax.core import freeze

from flaxoptim_compat import optim
from flaxoptim_compat.versions.of_jax import slashed
from tests.support.python_calls import calls_in_package, files_of_calls

Log = list[tuple[int, str]]
LEAF = jnp.linspace(-1.0, 2.0, 6)


def parameters(leaves: int) -> dict[str, Any]:
    # In another order than that of their names, which is the one filters are asked in.
    return {f"layer{index:04d}": {"w": LEAF + index} for index in reversed(range(leaves))}


def divided(namespace: Any, parts: int, log: Log | None = None) -> Any:
    """One definition for each of so many parts; the filters note what they are asked."""

    def part(number: int) -> Callable[[str, Any], bool]:
        def belongs(path: str, value: Any) -> bool:
            del value
            if log is not None:
                log.append((number, path))
            return int(path[6:10]) % parts == number

        return belongs

    return namespace.MultiOptimizer(
        *(
            (namespace.ModelParamTraversal(part(number)), namespace.Momentum(0.1))
            for number in range(parts)
        )
    )


def log_of(namespace: Any, leaves: int, parts: int) -> tuple[Log, Log]:
    """What filters are asked when an optimizer is created, and when its step is traced."""
    log: Log = []
    optimizer = divided(namespace, parts, log).create(parameters(leaves))
    created = log.copy()
    log.clear()
    jax.eval_shape(lambda each: each.apply_gradient(each.target), optimizer)
    return created, log


@pytest.mark.parametrize(("leaves", "parts"), [(6, 2), (12, 2), (12, 4)])
def test_filters_are_asked_about_each_leaf_once_in_the_old_order(
    genuine: Any, leaves: int, parts: int
) -> None:
    mine, theirs = (log_of(namespace, leaves, parts) for namespace in (optim, genuine))
    in_order = [
        (number, f"/layer{index:04d}/w") for number in range(parts) for index in range(leaves)
    ]
    assert mine == (in_order, in_order)
    # Flax asks a second time to put the states into the tree, and in a step five times: about
    # parameters, gradients and states, and to put two of them back.
    assert theirs[0] == in_order * 2
    by_part = [in_order[part * leaves : (part + 1) * leaves] for part in range(parts)]
    assert theirs[1] == [asked for part in by_part for asked in part * 5]


@pytest.mark.parametrize("work", ["create", "trace"])
def test_the_cost_is_linear_in_leaves_and_in_traversals(work: str) -> None:
    def cost(leaves: int, parts: int) -> int:
        definition, params = divided(optim, parts), parameters(leaves)
        if work == "create":
            return calls_in_package(lambda: definition.create(params))
        counts = []

        # Within the trace: how often jax compares definitions depends on those it saw before.
        def step(optimizer: Any) -> None:
            counts.append(calls_in_package(lambda: optimizer.apply_gradient(optimizer.target)))

        jax.eval_shape(step, definition.create(params))
        return counts[0]

    cost(6, 1)  # what is done once only
    costs = {(leaves, parts): cost(leaves, parts) for leaves in (12, 24, 36) for parts in (2, 4, 6)}
    for parts in (2, 4, 6):
        first, second, third = (costs[leaves, parts] for leaves in (12, 24, 36))
        assert third - second == second - first > 0, costs
    for leaves in (12, 24, 36):
        first, second, third = (costs[leaves, parts] for parts in (2, 4, 6))
        assert third - second == second - first > 0, costs
    # Only the filters are called leaves times traversals often, and they are no part of this.
    assert costs[36, 6] - costs[36, 2] == costs[12, 6] - costs[12, 2], costs


def test_the_names_of_the_leaves_are_made_once_for_all_traversals() -> None:
    def calls(parts: int) -> int:
        definition, params = divided(optim, parts), parameters(12)
        files = files_of_calls(lambda: definition.create(params))
        return files.count(traverse_util.__file__)

    assert calls(1) == calls(4) == calls(6) > 12


def of_flax(accepts: Callable[[str, Any], Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Flax deprecates its own
        return traverse_util.ModelParamTraversal(accepts)


class Last(optim.ModelParamTraversal):
    """Selects the last only of what its filter accepts."""

    def iterate(self, inputs: Any) -> Any:
        yield list(super().iterate(inputs))[-1]


class Loud(optim.ModelParamTraversal):
    """Has a filter as a method, whatever it is given."""

    def __init__(self) -> None:
        super().__init__(lambda path, value: False)
        del self._filter_fn

    def _filter_fn(self, path: str, value: Any) -> bool:  # type: ignore[override]
        return path.isupper() and value.shape == (6,)


def replaced() -> Any:
    traversal: Any = optim.ModelParamTraversal(lambda path, value: True)
    traversal.iterate = lambda inputs: [inputs["e"]["b"]]
    return traversal


@pytest.mark.parametrize("container", [dict, freeze])
def test_traversals_of_all_kinds_stand_side_by_side(container: Any) -> None:
    named = optim.ModelParamTraversal
    expected = {
        "/a/b": named(lambda path, value: path == "/a/b" and value.ndim == 1),
        "/a/c": of_flax(lambda path, value: path == "/a/c" and value.size == 6),
        "/b/b": Last(lambda path, value: path < "/b/c" and value.dtype == jnp.float32),
        "/C/B": Loud(),
        "/d/b": traverse_util.t_identity["d"]["b"],
        "/e/b": replaced(),
        "/f/b/0": named(lambda path, value: path == "/f/b"),  # a tuple of one
        "/g/b": of_flax(lambda path, value: path == "/g/b"),
    }
    names = [*expected, "/b/c", "/e/c"]
    target = traverse_util.unflatten_dict(dict.fromkeys(names, LEAF), sep="/")[""]
    target["f"]["b"] = (LEAF,)
    target["empty"], target["none"] = {}, None
    definition = optim.MultiOptimizer(
        *((traversal, optim.Momentum(0.1)) for traversal in expected.values())
    )
    labels = definition.labels(container(target))
    found = {slashed(path): label for path, label in jax.tree_util.tree_leaves_with_path(labels)}
    assert found == {name[1:]: "frozen" for name in names} | {
        name[1:]: f"part_{number}" for number, name in enumerate(expected)
    }


def test_a_traversal_that_cannot_name_the_leaves_says_what_flax_said(genuine: Any) -> None:
    for namespace in (optim, genuine):
        definition = divided(namespace, 2)
        with pytest.raises(TypeError, match="sequence item 0: expected str instance, int found"):
            definition.create({0: LEAF, 1: LEAF})
        with pytest.raises(ValueError, match=r"nested dict"):
            definition.create([LEAF, LEAF])
