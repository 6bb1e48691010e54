"""Traversals of our own do what those of Flax 0.5.3 did, and are used where Flax has none."""

from __future__ import annotations

import copy
import json
import pickle
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import jax.numpy as jnp
import pytest
from flax import struct, traverse_util
from flax.core import freeze

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import traversals
from tests.support.oracle.cache import OracleUnavailable
from tests.support.oracle.private_package import JAX
from tests.support.oracle.wheel import genuine_wheel
from tests.support.places import ROOT
from tests.support.processes import output_of


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
    module.__dict__["jax"] = JAX
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
