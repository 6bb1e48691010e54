"""Every layer beside the genuine one: parameters, outputs and gradients, bit for bit."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat import nn
from tests.support.nn_cases import CASES, KEY, Case
from tests.support.options import each
from tests.support.side_by_side import assert_same

# Each layer, and what only some settings do: a mask, dropout, another dtype, no axis of batches.
FEW = [
    *(name for name in CASES if not {" ", ","} & {*name}),
    *("Dense in bfloat16", "Conv of one image", "SelfAttention, causal"),
    "SelfAttention with dropout",
]


def run(served: Any, case: Case) -> Any:
    module = getattr(served, case.module).partial(**case.settings)
    with served.stochastic(KEY), served.stateful() as state:
        output, params = module.init(KEY, *case.inputs)
    with served.stochastic(KEY), served.stateful(state) as state:
        again = served.Model(module, params)(*case.inputs)
    shaped = module.call(params, *case.inputs) if "dropout_rate" not in case.settings else None

    def loss(params: Any) -> Any:
        with served.stochastic(KEY):
            leaves = jax.tree.leaves(module.call(params, *case.inputs))
        return sum(jnp.sum(jnp.square(leaf.astype(jnp.float32))) for leaf in leaves)

    return [output, params, again, shaped, state.as_dict(), jax.jit(jax.grad(loss))(params)]


@pytest.mark.parametrize("name", each(CASES, FEW))
def test_a_layer_is_the_genuine_one_bit_for_bit(name: str, genuine_nn: Any) -> None:
    assert_same(run(nn, CASES[name]), run(genuine_nn, CASES[name]))


@pytest.mark.parametrize("name", each(CASES, FEW))
def test_parameters_by_shape_are_those_by_value(name: str) -> None:
    case = CASES[name]
    module = getattr(nn, case.module).partial(**case.settings)
    inputs, structure = jax.tree.flatten(case.inputs)

    class Flat(nn.Module):
        def apply(self, *flat):
            return module(*jax.tree.unflatten(structure, flat), name="inside")

    with nn.stochastic(KEY):
        output, params = Flat.init(KEY, *inputs)
    with nn.stochastic(KEY):
        specs = [(each.shape, each.dtype) for each in inputs]
        shapes, by_shape = Flat.init_by_shape(KEY, specs)
    assert_same(by_shape, params)
    assert jax.tree.map(jnp.shape, shapes) == jax.tree.map(jnp.shape, output)


def test_arguments_have_the_names_the_order_and_the_defaults_that_they_had(
    genuine_nn: Any,
) -> None:
    def parameters(module: Any) -> Any:
        return [
            (each.name, each.kind, each.default if isinstance(each.default, _PLAIN) else "made")
            for each in inspect.signature(module).parameters.values()
        ]

    names = {name.partition(" ")[0].rstrip(",") for name in CASES}
    functions = {"dropout", "max_pool", "avg_pool", "dot_product_attention", "stateful"}
    methods = ("apply", "init", "init_by_shape", "call", "create", "create_by_shape")
    for name in names:
        ours, theirs = getattr(nn, name), getattr(genuine_nn, name)
        assert parameters(ours) == parameters(theirs), name
        for method in methods:
            assert parameters(getattr(ours, method)) == parameters(getattr(theirs, method))
        if hasattr(theirs, "initialize_carry"):
            assert parameters(ours.initialize_carry) == parameters(theirs.initialize_carry)
    for name in functions:
        assert parameters(getattr(nn, name)) == parameters(getattr(genuine_nn, name))
    for name in ("make_padding_mask", "_make_causal_mask"):
        ours, theirs = getattr(nn.attention, name), getattr(genuine_nn.attention, name)
        assert parameters(ours) == parameters(theirs)


_PLAIN = (int, float, str, tuple, type(None), bool, type)
