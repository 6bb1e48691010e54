"""jit traces a step once, until a definition changes: definitions are compared by value.

And what a jitted function adds to each of its calls because it takes and returns an optimizer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.bridge.traversals import t_identity
from tests.support.python_calls import files_of_calls

PARAMS = {"a": jnp.linspace(-1.0, 2.0, 6).reshape(2, 3), "b": jnp.linspace(0.5, 1.0, 3)}


class Traced:
    """A jitted step, or update, and how often it was traced."""

    def __init__(self) -> None:
        self.count = 0
        self.step = jax.jit(self._step)

    def _step(self, optimizer: Any, **overrides: Any) -> Any:
        self.count += 1
        return optimizer.apply_gradient(optimizer.target, **overrides)


def multi(rate: float = 0.1, part: str = "a", limit: int = 0) -> Any:
    return optim.MultiOptimizer(
        (
            optim.ModelParamTraversal(lambda path, value: part in path and value.size > limit),
            optim.Momentum(rate),
        ),
        (optim.ModelParamTraversal(lambda path, value: path == "/b"), optim.Adam(0.1)),
    )


def with_closure(part: str) -> Any:
    def selects(path: str, value: Any) -> bool:
        return part in path

    return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Adam(0.1)))


def with_partial(part: str) -> Any:
    def selects(wanted: str, path: str, value: Any) -> bool:
        return wanted in path

    selects = functools.partial(selects, part)
    return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Adam(0.1)))


def scaled(kind: Any) -> Callable[..., Any]:
    """A subclass that multiplies the parameters after each step by an attribute of its own."""

    class Scaled(kind):  # type: ignore[misc]
        def __init__(self, factor: float, *arguments: Any) -> None:
            self.factor = factor
            super().__init__(*arguments)

        def apply_gradient(self, *arguments: Any) -> Any:
            params, state = super().apply_gradient(*arguments)
            return jax.tree.map(lambda param: param * self.factor, params), state

    return Scaled


ScaledParts, ScaledNorm = scaled(optim.MultiOptimizer), scaled(optim.WeightNorm)


BUILDERS: dict[str, Any] = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=1e-4),
    "numpy rate": lambda: optim.Adam(np.float32(0.1)),
    "jax rate": lambda: optim.Adam(jnp.asarray(0.1)),
    "NaN": lambda: optim.Momentum(float("nan")),
    "Adafactor": lambda: optim.Adafactor(0.1, dtype_momentum=jnp.bfloat16),
    "WeightNorm": lambda: optim.WeightNorm(optim.Momentum(0.1)),
    "MultiOptimizer": multi,
    "closure": lambda: with_closure("a"),
    "subclass": lambda: ScaledNorm(0.5, optim.Momentum(0.1)),
}


@pytest.mark.parametrize("name", BUILDERS)
def test_one_trace_for_all_steps_and_for_equal_definitions(name: str) -> None:
    traced = Traced()
    optimizer = BUILDERS[name]().create(PARAMS)
    for _ in range(4):
        optimizer = traced.step(optimizer)
    for _ in range(3):
        rebuilt = BUILDERS[name]()
        assert rebuilt is not optimizer.optimizer_def
        assert rebuilt == optimizer.optimizer_def
        assert hash(rebuilt) == hash(optimizer.optimizer_def)
        traced.step(rebuilt.create(PARAMS))
    assert traced.count == 1


def test_one_trace_for_all_overrides() -> None:
    traced = Traced()
    optimizer = optim.Adam().create(PARAMS)
    for rate in (0.1, 0.2, 0.3):
        optimizer = traced.step(optimizer, learning_rate=rate)
    assert traced.count == 1


DIFFERENT = {
    "rate": (lambda: optim.Adam(0.1), lambda: optim.Adam(0.2)),
    "type of the rate": (lambda: optim.Adam(1.0), lambda: optim.Adam(jnp.asarray(1.0))),
    "other value": (lambda: optim.Adam(0.1, eps=1e-8), lambda: optim.Adam(0.1, eps=1e-7)),
    "class": (lambda: optim.Momentum(0.1), lambda: optim.GradientDescent(0.1)),
    "momentum dtype": (
        lambda: optim.Adafactor(0.1, beta1=0.9),
        lambda: optim.Adafactor(0.1, beta1=0.9, dtype_momentum=jnp.bfloat16),
    ),
    "wrapped": (
        lambda: optim.WeightNorm(optim.Momentum(0.1)),
        lambda: optim.WeightNorm(optim.Momentum(0.2)),
    ),
    "decay around it": (
        lambda: optim.WeightNorm(optim.Momentum(0.1)),
        lambda: optim.WeightNorm(optim.Momentum(0.1), wn_decay=0.1),
    ),
    "part": (lambda: multi(), lambda: multi(rate=0.2)),
    "attribute beside parts": (
        lambda: ScaledParts(1.0, (t_identity.tree(), optim.Momentum(0.1))),
        lambda: ScaledParts(2.0, (t_identity.tree(), optim.Momentum(0.1))),
    ),
    "attribute beside the wrapped": (
        lambda: ScaledNorm(1.0, optim.Momentum(0.1)),
        lambda: ScaledNorm(2.0, optim.Momentum(0.1)),
    ),
    "closure": (lambda: with_closure("a"), lambda: with_closure("b")),
    "closures": (lambda: multi(), lambda: multi(limit=100)),
    "partial": (lambda: with_partial("a"), lambda: with_partial("b")),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_different_definitions_never_share_a_trace(name: str) -> None:
    first, second = (build() for build in DIFFERENT[name])
    assert first != second
    traced = Traced()
    for definition in (first, second):
        # A function of its own has a cache of its own.
        apart = jax.jit(lambda optimizer: optimizer.apply_gradient(PARAMS))
        expected = apart(definition.create(PARAMS))
        mine = traced.step(definition.create(PARAMS))
        for leaf, other in zip(jax.tree.leaves(mine), jax.tree.leaves(expected), strict=True):
            np.testing.assert_array_equal(leaf, other)
    assert traced.count == 2


def test_a_mutable_object_in_a_closure_cannot_be_told_apart_wrongly() -> None:
    class Settings:
        def __init__(self, part: str) -> None:
            self.part = part

    def build(settings: Settings) -> Any:
        selects = lambda path, value: settings.part in path
        return optim.MultiOptimizer((optim.ModelParamTraversal(selects), optim.Momentum(1.0)))

    # Objects without an equality of their own are equal only to themselves.
    assert build(Settings("a")) != build(Settings("a"))
    settings = Settings("a")
    assert build(settings) == build(settings)


LEAF = jnp.linspace(-1.0, 2.0, 3)
# The Python functions that one call runs beyond those it runs for a genuine optimizer, which jax
# takes apart in C++: they make a snapshot of the hyper-parameters on the way in, compare it with
# the one that was traced, and do the same on the way out. For Adam that takes about 2 µs, whatever
# the number of leaves. WeightNorm puts its hyper-parameters together anew for each snapshot.
CALLS = {"Adam": 9, "MultiOptimizer": 11, "WeightNorm": 25}
# Before 0.6 jax calls some functions more for each class of states that it meets.
MORE = 4 if jax.__version_info__ < (0, 6) else 0


def parts(namespace: Any, count: int) -> Any:
    of = lambda number: namespace.ModelParamTraversal(
        lambda path, value: int(path.removeprefix("/layer")) % count == number
    )
    pairs = [(of(number), namespace.Momentum(0.1)) for number in range(count)]
    return namespace.MultiOptimizer(*pairs)


DEFINITIONS: dict[str, Callable[[Any], Any]] = {
    "Adam": lambda namespace: namespace.Adam(0.1),
    "MultiOptimizer": lambda namespace: parts(namespace, 4),
    "WeightNorm": lambda namespace: namespace.WeightNorm(namespace.Momentum(0.1)),
}


def parameters(leaves: int) -> dict[str, Any]:
    return {f"layer{index}": LEAF + index for index in range(leaves)}


def calls_of_a_dispatch(definition: Any, leaves: int) -> int:
    """The Python functions that run in each call of a jitted function."""
    traces = []

    @jax.jit
    def scaled(optimizer: Any) -> Any:
        traces.append(None)
        return optimizer.replace(target=jax.tree.map(lambda leaf: 2 * leaf, optimizer.target))

    optimizer = definition.create(parameters(leaves))
    for _ in range(3):
        optimizer = scaled(optimizer)
    counts = {len(files_of_calls(lambda: scaled(optimizer))) for _ in range(3)}
    assert len(traces) == 1
    assert len(counts) == 1
    return counts.pop()


@pytest.mark.parametrize("name", DEFINITIONS)
def test_few_python_functions_however_many_leaves(genuine: Any, name: str) -> None:
    for leaves in (1, 8, 24):
        mine, theirs = (
            calls_of_a_dispatch(DEFINITIONS[name](space), leaves) for space in (optim, genuine)
        )
        # Those of the genuine one make the states of the leaves, and ours are of the same classes.
        assert mine - theirs <= CALLS[name] + MORE, leaves


def test_as_many_python_functions_for_two_parts_as_for_eight() -> None:
    counts = [calls_of_a_dispatch(parts(optim, count), leaves=8) for count in (2, 8)]
    assert counts[0] == counts[1]


def nested() -> Any:
    """A definition with others inside it, three deep."""
    everything = lambda path, value: True
    return optim.MultiOptimizer(
        (optim.ModelParamTraversal(lambda path, value: path == "/layer0"), optim.Adam(0.1)),
        (
            optim.ModelParamTraversal(lambda path, value: path != "/layer0"),
            optim.MultiOptimizer(
                (optim.ModelParamTraversal(everything), optim.WeightNorm(optim.Momentum(0.2))),
            ),
        ),
    )


def everything_inside(definition: Any) -> list[Any]:
    inside = [definition.sub_optimizers[0], definition.sub_optimizers[1]]
    weight_norm = inside[1].sub_optimizers[0]
    return [definition, *inside, weight_norm, weight_norm.wrapped_optimizer]


def test_a_snapshot_of_nested_definitions_is_theirs_wherever_it_changed() -> None:
    assigned = {
        0: lambda each: [each.hyper_params[0].replace(beta1=0.5), *each.hyper_params[1:]],
        1: lambda each: each.hyper_params.replace(beta1=0.5),
        2: lambda each: [each.hyper_params[0].replace(wn_decay=0.5)],
        3: lambda each: each.hyper_params.replace(wn_decay=0.5),
        4: lambda each: each.hyper_params.replace(beta=0.5),
    }
    described = lambda whole: [repr(each.hyper_params) for each in everything_inside(whole)]
    before = described(nested())
    for place, assign in assigned.items():
        optimizer = nested().create(parameters(3))
        definition = optimizer.optimizer_def
        leaves, treedef = jax.tree.flatten(optimizer)
        assert jax.tree.structure(optimizer) == treedef
        changed = everything_inside(definition)[place]
        changed.hyper_params = assign(changed)
        after = described(definition)
        assert after != before
        assert jax.tree.structure(optimizer) != treedef
        restored = jax.tree.unflatten(treedef, leaves).optimizer_def
        assert described(restored) == before
        assert described(definition) == after  # the live one is as it was assigned
        assert restored.hyper_params is not definition.hyper_params
        again = jax.tree.structure(nested().create(parameters(3)))
        assert (again == treedef) and (again != jax.tree.structure(optimizer))
