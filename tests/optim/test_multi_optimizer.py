"""MultiOptimizer: each traversal's leaves as if alone, whatever moves them; others as they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import struct, traverse_util
from flax.core import freeze

from flaxoptim_compat import compiled_steps, optim
from flaxoptim_compat.catalogue import PLAIN
from tests.support import cases
from tests.support.legacy_subclasses import FACTORIES
from tests.support.side_by_side import assert_same, bits, named_leaves, ulps


@struct.dataclass
class Layer:
    kernel: Any
    bias: Any


W = jnp.linspace(-1.0, 2.0, 24).reshape(4, 6)
B = jnp.linspace(0.5, 1.0, 6)
# 0 - 0 would be 0, and NaN - 0 a NaN with other bits.
FROZEN = jnp.asarray(np.array([-0.0, np.nan, np.inf, 1e-45, -1.5], np.float32))
TARGET = {
    "a": {"w": W, "b": B},
    "half": B.astype(jnp.bfloat16),
    "layer": Layer(W + 1, B + 1),
    "pair": (W + 2, B + 2, B + 3),
    "rest": FROZEN,
}
GRADS = jax.tree.map(lambda leaf: jnp.cos(3 * leaf).astype(leaf.dtype), {**TARGET, "rest": B[:5]})
IDENTITY = traverse_util.t_identity
A = ["['a']['b']", "['a']['w']"]
PAIR = ["['pair'][0]", "['pair'][1]", "['pair'][2]"]

# name -> (traversal, the paths of the leaves it selects, whether the genuine one can do it)
TRAVERSALS: dict[str, tuple[Callable[[Any], Any], list[str], bool]] = {
    "item": (lambda t: IDENTITY["a"]["w"], A[1:], True),
    "slice": (lambda t: IDENTITY["pair"][0:2], PAIR[:2], True),
    "each": (lambda t: IDENTITY["pair"].each(), PAIR, True),
    "attr": (lambda t: IDENTITY["layer"].kernel, ["['layer'].kernel"], True),
    "merge": (
        lambda t: IDENTITY.merge(IDENTITY["a"]["b"], IDENTITY["pair"][2]),
        [A[0], PAIR[2]],
        True,
    ),
    "filter": (lambda t: IDENTITY["pair"].each().filter(lambda x: x.ndim == 2), PAIR[:1], False),
    "tree": (lambda t: IDENTITY["layer"].tree(), ["['layer'].bias", "['layer'].kernel"], False),
    "container": (lambda t: IDENTITY["a"], A, False),
    "path": (lambda t: t(lambda path, value: path.startswith("/a/")), A, True),
    "path and name": (lambda t: t(lambda path, value: path == "/a/w"), A[1:], True),
    "dtype": (
        lambda t: t(lambda path, value: path == "/half" and value.dtype == jnp.bfloat16),
        ["['half']"],
        False,
    ),
    "ndim and size": (
        lambda t: t(lambda path, value: path[:2] == "/a" and value.ndim * value.size == 6),
        A[:1],
        False,
    ),
    "nothing": (lambda t: t(lambda path, value: False), [], True),
}


def apply(optimizer: Any, grads: Any = GRADS) -> Any:
    return optimizer.apply_gradient(grads)


both_steps = pytest.mark.parametrize("step", [apply, jax.jit(apply)], ids=["outside jit", "jit"])


def kernels(namespace: Any) -> Any:
    return namespace.ModelParamTraversal(lambda path, value: "w" in path)


def biases(namespace: Any) -> Any:
    return namespace.ModelParamTraversal(lambda path, value: path.endswith("b"))


@both_steps
@pytest.mark.parametrize("kind", TRAVERSALS)
def test_every_traversal_selects_leaves_and_leaves_the_rest(kind: str, step: Any) -> None:
    traversal, paths, _ = TRAVERSALS[kind]
    start = optim.MultiOptimizer((traversal(optim.ModelParamTraversal), optim.Momentum(0.1)))
    start = start.create(TARGET)
    after = step(step(start))
    before, grads = named_leaves(TARGET), named_leaves(GRADS)
    alone = optim.Momentum(0.1).create({path: before[path] for path in paths})
    part = {path: grads[path] for path in paths}
    alone = step(step(alone, part), part)
    leaves = named_leaves(after.target)
    assert_same({path: leaves[path] for path in paths}, alone.target)
    for path in leaves.keys() - paths:
        assert bits(leaves[path]) == bits(before[path])
    states = jax.tree.structure(TARGET).flatten_up_to(after.state.param_states)
    for path, state in zip(before, states, strict=True):
        if path in paths:
            assert_same(state, alone.state.param_states[path])
        else:
            assert state is None


@pytest.mark.parametrize("kind", [kind for kind, (*_, genuine) in TRAVERSALS.items() if genuine])
def test_traversals_that_the_genuine_knows(genuine: Any, kind: str) -> None:
    results = []
    for namespace in (optim, genuine):
        traversal = TRAVERSALS[kind][0](namespace.ModelParamTraversal)
        start = namespace.MultiOptimizer((traversal, namespace.Momentum(0.1))).create(TARGET)
        results.append(jax.jit(apply)(jax.jit(apply)(start)))
    assert_same(*results)


@pytest.mark.parametrize("compiled", [True, False])
def test_outside_jit_frozen_leaves_stay_the_very_objects(genuine: Any, compiled: bool) -> None:
    params = {"w": W, "jax": FROZEN, "numpy": np.asarray(FROZEN), "Python": 0.5}
    for namespace in (genuine, optim):
        start = namespace.MultiOptimizer((kernels(namespace), namespace.Momentum(0.1)))
        with compiled_steps(compiled):
            after = start.create(params).apply_gradient(params)
        for name in ("jax", "numpy", "Python"):
            assert after.target[name] is params[name]


@both_steps
@pytest.mark.parametrize("name", ["Adam", "Momentum", "LARS", "Adafactor"])
def test_gradients_of_frozen_leaves_do_not_matter(name: str, step: Any) -> None:
    definition = optim.MultiOptimizer((kernels(optim), cases.case(f"{name}-all").build(optim)))
    params = {"w": W, "b": B}
    start = definition.create(params)
    expected = step(start, {"w": W, "b": B})
    for nonsense in (np.nan, np.inf):
        after = step(start, {"w": W, "b": jnp.full_like(B, nonsense)})
        assert_same(after, expected)
        assert bits(after.target["b"]) == bits(B)


@both_steps
@pytest.mark.parametrize(
    "grads",
    [
        {"a": {"w": W}},
        {"a": {"w": W}, "b": None},
        {"a": {"w": W}, "b": {"anything": B}},
        {"a": {"w": W}, "c": B},
        freeze({"a": {"w": W}}),
    ],
    ids=["absent", "None", "a tree", "another one", "frozen"],
)
@pytest.mark.parametrize("kind", ["item", "path and name"])
def test_leaves_that_are_not_selected_need_no_gradient(
    genuine: Any, kind: str, grads: Any, step: Any
) -> None:
    params = {"a": {"w": W, "b": B}, "b": B}
    results = []
    for namespace in (optim, genuine):
        traversal = TRAVERSALS[kind][0](namespace.ModelParamTraversal)
        definition = namespace.MultiOptimizer((traversal, namespace.Momentum(0.1)))
        results.append(step(step(definition.create(params), grads), grads))
    assert_same(*results)
    assert bits(results[0].target["a"]["w"]) != bits(W)


@pytest.mark.parametrize("grads", [{}, {"b": B}, {"a": {"b": B}}, [W, B], W])
def test_leaves_that_are_selected_do(genuine: Any, grads: Any) -> None:
    for namespace in (optim, genuine):
        definition = namespace.MultiOptimizer((kernels(namespace), namespace.Momentum(0.1)))
        with pytest.raises((KeyError, TypeError, ValueError)) as raised:
            definition.create({"a": {"w": W, "b": B}}).apply_gradient(grads)
        if namespace is optim:
            assert raised.type is ValueError
            assert "gradients do not have the structure of the target" in str(raised.value)


def test_no_leaf_may_belong_to_two(genuine: Any) -> None:
    for namespace in (optim, genuine):
        both = namespace.ModelParamTraversal(lambda path, value: True)
        definition = namespace.MultiOptimizer(
            (kernels(namespace), namespace.Momentum(0.1)), (both, namespace.Adam(0.1))
        )
        with pytest.raises(
            ValueError, match=r"match the same leaves : \{'b': \[1\], 'w': \[0, 1\]\}"
        ):
            definition.create({"w": W, "b": B})


def test_focus_is_a_multi_optimizer_of_one(genuine: Any) -> None:
    params = {"w": W, "b": B}
    results = [
        jax.jit(apply)(namespace.Momentum(0.1).create(params, focus=kernels(namespace)), params)
        for namespace in (optim, genuine)
    ]
    assert_same(*results)
    assert isinstance(results[0].optimizer_def, optim.MultiOptimizer)


# What may be a part: every optimizer, users' own, and other MultiOptimizers.


# What sees one parameter, what sees all of them, which in a part are those of the part, and what
# has an integer in its state.
OF_USERS = ("projected", "clipped_bfloat16_momentum", "own_state")
SUB_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    row.name: cases.case(f"{row.name}-default").build for row in PLAIN
} | {name: FACTORIES[name] for name in OF_USERS}


@pytest.mark.parametrize("name", SUB_OPTIMIZERS)
def test_every_optimizer_can_be_a_part(genuine: Any, name: str) -> None:
    params = {"w": W, "b": B, "w2": W.T + 1.0, "frozen": FROZEN}
    results = []
    for namespace in (optim, genuine):
        start = namespace.MultiOptimizer(
            (kernels(namespace), SUB_OPTIMIZERS[name](namespace)),
            (biases(namespace), namespace.GradientDescent(0.2)),
        ).create(params)
        step = jax.jit(lambda each: each.apply_gradient(jax.tree.map(jnp.cos, params)))
        results.append(step(step(start)))
    assert_same(*results, 0.0 if name in OF_USERS else ulps(name))


def test_weight_norm_as_a_part_is_weight_norm_alone() -> None:
    # The genuine MultiOptimizer cannot hold one.
    inner = lambda: optim.WeightNorm(optim.Momentum(0.1), wn_decay=0.1)
    params = {"w": W, "b": B}
    start = optim.MultiOptimizer((kernels(optim), inner())).create(params)
    alone = inner().create({"w": W})
    for step in (apply, jax.jit(apply)):
        after, single = step(start, params), step(alone, {"w": W})
        assert_same(after.target["w"], single.target["w"])
        assert_same(after.state.param_states["w"], single.state.param_states["w"])
        assert bits(after.target["b"]) == bits(B)
    after = start.apply_gradient(params, learning_rate=0.7)
    assert_same(after.target["w"], alone.apply_gradient({"w": W}, learning_rate=0.7).target["w"])


@both_steps
@pytest.mark.parametrize("sub", ["Adam", *OF_USERS])
def test_a_multi_optimizer_in_a_multi_optimizer(sub: str, step: Any) -> None:
    definition = SUB_OPTIMIZERS[sub]
    params = {"a": {"w": W, "b": B}, "c": {"w": W + 1, "b": B + 1}, "rest": FROZEN}
    in_a = lambda name: optim.ModelParamTraversal(lambda path, value: path == f"/a/{name}")
    flat = optim.MultiOptimizer((in_a("w"), definition(optim)), (in_a("b"), optim.Momentum(0.2)))
    only_a = optim.ModelParamTraversal(lambda path, value: path.startswith("/a"))
    inner = optim.MultiOptimizer(
        (kernels(optim), definition(optim)), (biases(optim), optim.Momentum(0.2))
    )
    nested = optim.MultiOptimizer((only_a, inner))
    assert_same(
        *(step(each.create(params), jax.tree.map(jnp.cos, params)) for each in (flat, nested)),
    )
    frozen = freeze(params)
    after = step(nested.create(frozen), jax.tree.map(jnp.cos, frozen))
    assert jax.tree.structure(after.target) == jax.tree.structure(frozen)


def test_a_subclass_of_a_multi_optimizer(genuine: Any) -> None:
    def make(namespace: Any) -> Any:
        class Clipped(namespace.MultiOptimizer):  # type: ignore[misc]
            def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
                grads = jax.tree.map(lambda grad: jnp.clip(grad, -0.5, 0.5), grads)
                return super().apply_gradient(hyper_params, params, state, grads)

        return Clipped((kernels(namespace), namespace.Momentum(0.1)))

    params = {"w": W, "b": B}
    results = [jax.jit(apply)(make(space).create(params), params) for space in (optim, genuine)]
    assert_same(*results)
    plain = optim.MultiOptimizer((kernels(optim), optim.Momentum(0.1))).create(params)
    assert bits(plain.apply_gradient(params).target["w"]) != bits(results[0].target["w"])
