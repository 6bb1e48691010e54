"""Traversals of our own do what those of Flax 0.5.3 did, and are used where Flax has none.

A MultiOptimizer asks each filter about each leaf once, and does nothing else as often.
"""

from __future__ import annotations

import copy
import json
import pickle
import sys
import warnings
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import pytest
from flax import struct, traverse_util
from flax.core import freeze

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import traversals
from flaxoptim_compat.versions.of_jax import slashed
from tests.support.oracle.cache import OracleUnavailable
from tests.support.oracle.private_package import _JaxWithOldNames
from tests.support.oracle.wheel import genuine_wheel
from tests.support.places import ROOT
from tests.support.processes import output_of
from tests.support.python_calls import calls_in_package, files_of_calls


@struct.dataclass
class Layer:
    kernel: Any
    bias: Any


class Pair(NamedTuple):
    first: Any
    second: Any


TREE = {
    "pair": Pair(1, 2),
    "layer": Layer(3, 4),
    "list": [5, 6, 7],
    "tuple": (8, 9, 10),
    "dict": {"b": 11, "a": 12},
    "object": SimpleNamespace(field=13),
}

# What a program writes after t_identity.
CHAINS: dict[str, Callable[[Any, Any], Any]] = {
    "identity": lambda t, module: t,
    "item": lambda t, module: t["dict"]["a"],
    "no item": lambda t, module: t["other"],
    "item of a list": lambda t, module: t["list"][-1],
    "item of a tuple": lambda t, module: t["tuple"][1],
    "last of a tuple": lambda t, module: t["tuple"][-1],
    "beyond a tuple": lambda t, module: t["tuple"][7],
    "item of a named tuple": lambda t, module: t["pair"][0],
    "slice of a tuple": lambda t, module: t["tuple"][::2],
    "slice of a list": lambda t, module: t["list"][1:],
    "attribute of a named tuple": lambda t, module: t["pair"].second,
    "attribute of a dataclass": lambda t, module: t["layer"].bias,
    "attribute of an object": lambda t, module: t["object"].field,
    "no attribute": lambda t, module: t["layer"].other,
    "each of a list": lambda t, module: t["list"].each(),
    "each of a tuple": lambda t, module: t["tuple"].each(),
    "each of a dict": lambda t, module: t["dict"].each(),
    "each of a named tuple": lambda t, module: t["pair"].each(),
    "tree": lambda t, module: t["dict"].tree(),
    "filter": lambda t, module: t["list"].each().filter(lambda value: value != 6),
    "merge": lambda t, module: t.merge(t["tuple"][0], t["list"][2], t["pair"].first),
    "merge of the same": lambda t, module: t.merge(t["tuple"][0], t["tuple"][0]),
    "compose": lambda t, module: t["dict"].compose(module.TraverseItem("b")),
    "classes": lambda t, module: module.TraverseMerge(
        module.TraverseCompose(module.TraverseItem("list"), module.TraverseEach()),
        module.TraverseCompose(module.TraverseItem("layer"), module.TraverseAttr("kernel")),
        module.TraverseCompose(
            module.TraverseItem("dict"), module.TraverseFilter(lambda value: False)
        ),
    ),
}
# What a traversal by names goes over.
NAMED: dict[str, Any] = {
    "nested": {"b": {"kernel": 1, "bias": 2}, "a": {"kernel": 3, "none": {}}},
    "frozen": freeze({"b": {"kernel": 1}, "a": {"bias": 3}}),
    "array": jnp.ones(1),
    "list": [{"kernel": 1}],
    "numbers for names": {0: {"kernel": 1}},
}


@pytest.fixture(scope="module")
def old_module() -> Any:
    """``flax/traverse_util.py`` of Flax 0.5.3."""
    try:
        path = genuine_wheel() / "flax" / "traverse_util.py"
    except OracleUnavailable as error:
        pytest.skip(str(error))
    module = ModuleType("flax._traverse_util_of_then")
    module.__dict__.update(__package__="flax", __file__=str(path))
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    module.__dict__["jax"] = _JaxWithOldNames()
    return module


def outcome(call: Callable[[], Any]) -> Any:
    """What a call returns, or the kind of its error."""
    try:
        return call()
    except Exception as error:
        return type(error)


def plain(tree: Any) -> Any:
    return vars(tree["object"]) if isinstance(tree, dict) and "object" in tree else tree


def outcomes(traversal: Any, tree: Any) -> list[Any]:
    """What a program sees of a traversal."""
    before = repr(tree)
    count = outcome(lambda: len(list(traversal.iterate(tree))))
    numbers = range(100, 100 + (count if isinstance(count, int) else 0))
    seen = [
        outcome(lambda: list(traversal.iterate(tree))),
        outcome(lambda: traversal.update(lambda value: [value, "changed"], tree)),
        outcome(lambda: traversal.set([*numbers], tree)),
        outcome(lambda: traversal.set([*numbers, 7], tree)),
        outcome(lambda: traversal.set([*numbers[1:]], tree)),
    ]
    assert repr(tree) == before
    return seen


@pytest.mark.parametrize("name", CHAINS)
def test_a_chain(old_module: Any, name: str) -> None:
    mine, theirs = (
        outcomes(CHAINS[name](module.t_identity, module), TREE)
        for module in (traversals, old_module)
    )
    assert list(map(plain, mine)) == list(map(plain, theirs))
    assert list(map(repr, mine)) == list(map(repr, theirs))


@pytest.mark.parametrize("name", NAMED)
def test_names_of_parameters(old_module: Any, name: str) -> None:
    asked: dict[Any, list[Any]] = {}
    seen = []
    for module in (optim, old_module):

        def accepts(path: str, value: Any, module: Any = module) -> bool:
            asked.setdefault(module, []).append((path, value))
            return "kernel" in path

        seen.append(outcomes(module.ModelParamTraversal(accepts), NAMED[name]))
    assert seen[0] == seen[1]
    assert asked.get(optim) == asked.get(old_module)
    assert [type(each) for each in seen[0]] == [type(each) for each in seen[1]]


def test_they_are_values_and_can_be_kept() -> None:
    traversal = traversals.t_identity["list"].each().filter(len)
    for made in (
        copy.copy(traversal),
        copy.deepcopy(traversal),
        pickle.loads(pickle.dumps(traversal)),
    ):
        assert list(made.iterate({"list": ["a", ""]})) == ["a"]
    define = lambda: optim.MultiOptimizer((traversals.t_identity["w"], optim.Momentum(0.1)))
    assert define() == define()
    assert define() != optim.MultiOptimizer((traversals.t_identity["b"], optim.Momentum(0.1)))


HIDDEN = sorted({name for name in vars(traversals) if name.startswith("Traverse")} - {"Traversal"})
PROGRAM = """
import json, sys, warnings
warnings.simplefilter("ignore")
from flax import traverse_util

if sys.argv[1] == "hidden":
    for name in [*sys.argv[2:], "Traversal", "ModelParamTraversal", "t_identity"]:
        delattr(traverse_util, name)
import jax, jax.numpy as jnp
from flaxoptim_compat import optim
from flaxoptim_compat.bridge import traversals

t_identity = getattr(traverse_util, "t_identity", traversals.t_identity)
params = {"a": {"kernel": jnp.arange(3.0), "bias": jnp.ones(2, jnp.bfloat16)}, "b": (jnp.ones(1),)}
grads = jax.tree.map(lambda leaf: leaf + 1, params)
results = []
kernels = optim.ModelParamTraversal(
    lambda path, value: "kernel" in path and value.dtype == jnp.float32
)
step = lambda optimizer: optimizer.apply_gradient(grads)
for traversal in (kernels, t_identity["b"]):
    optimizer = optim.MultiOptimizer((traversal, optim.Adam(0.1))).create(params)
    optimizer = step(jax.jit(step)(optimizer))
    results.append([leaf.tolist() for leaf in jax.tree.leaves(optimizer)])
nested = {"a": {"w": 1.0, "h": 2.0}}
focus = optim.Momentum(0.1).create(nested, focus=t_identity["a"].tree())
results.append(jax.tree.map(float, focus.apply_gradient(nested).target))
overlapping = t_identity["a"], t_identity["a"]["kernel"]
try:
    optim.MultiOptimizer(*((each, optim.Adam(0.1)) for each in overlapping)).create(params)
except ValueError as error:
    results.append(str(error))
print(json.dumps(results))
"""


def test_where_flax_has_none_the_numbers_are_the_same(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden = output_of(["-c", PROGRAM, "hidden", *HIDDEN], ROOT)
    monkeypatch.setattr(sys, "argv", ["-c", "shown"])
    exec(PROGRAM, {})
    assert capsys.readouterr().out == hidden
    assert len(json.loads(hidden)) == 4


def test_those_of_flax_are_used_while_it_has_them() -> None:
    assert traversals.FLAX_TRAVERSAL is traverse_util.Traversal
    assert issubclass(optim.ModelParamTraversal, traverse_util.ModelParamTraversal)


def test_all_of_flax_are_here(old_module: Any) -> None:
    of_flax = {
        name
        for name, value in vars(old_module).items()
        if isinstance(value, type) and issubclass(value, old_module.Traversal)
    }
    assert of_flax - {"ModelParamTraversal"} == {*HIDDEN, "Traversal"}
    for name in HIDDEN:
        assert issubclass(getattr(traversals, name), traversals.Traversal)


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
