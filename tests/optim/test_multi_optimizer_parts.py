"""What a MultiOptimizer may consist of: every optimizer, users' own, and other MultiOptimizers."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax.core import freeze

from flaxoptim_compat import optim
from tests.support import cases
from tests.support.side_by_side import assert_same, bits, ulps

W, B = jnp.linspace(-1.0, 2.0, 24).reshape(4, 6), jnp.linspace(0.5, 1.0, 6)
FROZEN = jnp.asarray(np.array([-0.0, np.nan, np.inf, 1e-45, -1.5], np.float32))


def apply(optimizer: Any, grads: Any) -> Any:
    return optimizer.apply_gradient(grads)


def kernels(namespace: Any) -> Any:
    return namespace.ModelParamTraversal(lambda path, value: "w" in path)


def biases(namespace: Any) -> Any:
    return namespace.ModelParamTraversal(lambda path, value: path.endswith("b"))


def own_param_code(namespace: Any) -> Any:
    class OwnParamCode(namespace.Momentum):  # type: ignore[misc]
        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            momentum = jnp.maximum(state.momentum, grad) / (step + 1)
            return param - hyper_params.learning_rate * momentum, state.replace(momentum=momentum)

    return OwnParamCode(0.1)


def own_tree_code(namespace: Any) -> Any:
    class OwnTreeCode(namespace.Momentum):  # type: ignore[misc]
        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            largest = sum(jnp.sum(jnp.abs(grad)) for grad in jax.tree.leaves(grads))
            grads = jax.tree.map(lambda grad: grad / largest, grads)
            return super().apply_gradient(hyper_params, params, state, grads)

    return OwnTreeCode(0.1)


SUB_OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    **{
        name: lambda namespace, name=name: cases.case(f"{name}-default").build(namespace)
        for name in sorted({case.optimizer for case in cases.CASES})
        if name not in {"MultiOptimizer", "WeightNorm"}
    },
    "Momentum with own code": own_param_code,
    "Momentum with own step": own_tree_code,
}


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
    exact = ulps(name.split()[0]) == 0.0 and name != "Momentum with own step"
    # The sum over all gradients in the last one is fused with what follows.
    assert_same(*results, 0.0 if exact else 4.0)


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


@pytest.mark.parametrize("step", [apply, jax.jit(apply)], ids=["outside jit", "jit"])
@pytest.mark.parametrize("sub", ["Adam", "Momentum with own code", "Momentum with own step"])
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


def by_name(path: str, value: Any) -> bool:
    del value
    return "w" in path


@pytest.mark.parametrize(
    "copier", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
)
def test_copies_and_pickles(copier: Callable[[Any], Any]) -> None:
    definition = optim.MultiOptimizer((optim.ModelParamTraversal(by_name), optim.Momentum(0.1)))
    optimizer = definition.create({"w": W, "b": B})
    again = copier(optimizer)
    assert again.optimizer_def == definition
    assert_same(apply(again, optimizer.target), apply(optimizer, optimizer.target))
