"""Leaves are compiled in batches that look the same: a deep model compiles like a shallow one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flaxoptim_compat import compiled_steps, optim, strict
from flaxoptim_compat.bridge import compiled
from flaxoptim_compat.bridge.batches import LARGEST, SMALLEST, batches
from flaxoptim_compat.optim.formula import Chain, stage
from tests.support import cases
from tests.support.options import each
from tests.support.side_by_side import assert_same

# A layer of a transformer has about so many different leaves.
LAYER = [f"kind{number}" for number in range(16)]


def programs(kinds: list[str]) -> list[tuple[str, ...]]:
    """What is compiled: each sequence of kinds once."""
    found = [tuple(kinds[position] for position in batch) for batch in batches(kinds)]
    return list(dict.fromkeys(found))


@given(st.lists(st.integers(0, 6), max_size=400))
@settings(max_examples=200, deadline=None)
def test_each_leaf_is_in_one_batch(kinds: list[int]) -> None:
    found = batches(kinds)
    assert sorted(position for batch in found for position in batch) == list(range(len(kinds)))
    assert all(0 < len(batch) <= LARGEST for batch in found)
    assert len(kinds) == 1 or all(len(batch) > 1 for batch in found)


@pytest.mark.parametrize("leaves", [100, 192, 1000, 10_000])
def test_equal_leaves_are_one_small_program(leaves: int) -> None:
    compiled_leaves = sum(map(len, programs(["kernel"] * leaves)))
    assert SMALLEST <= compiled_leaves < 2 * SMALLEST
    assert len(batches(["kernel"] * leaves)) <= leaves // SMALLEST + 1


@pytest.mark.parametrize("layers", [12, 24, 96])
def test_a_deep_model_compiles_a_few_layers(layers: int) -> None:
    found = programs(["embedding", *LAYER * layers, "head"])
    assert sum(map(len, found)) <= SMALLEST + len(LAYER) + 2
    assert len(batches(LAYER * layers)) <= layers * len(LAYER) // SMALLEST


def test_few_leaves_are_one_call() -> None:
    assert batches(LAYER) == [tuple(range(len(LAYER)))]
    assert batches(["kernel"] * (2 * SMALLEST - 1)) == [tuple(range(2 * SMALLEST - 1))]
    assert batches([]) == []


def test_leaves_that_are_all_different_are_cut_where_a_program_would_be_large() -> None:
    kinds = [f"kind{number}" for number in range(300)]
    assert [len(batch) for batch in batches(kinds)] == [100, 100, 100]
    assert [len(batch) for batch in batches(kinds[: LARGEST + 1])] == [64, 65]


def large(seed: int) -> dict[str, Any]:
    """Enough leaves for several batches and a rest, in an order that mixes their shapes."""
    rng = np.random.default_rng(seed)
    shapes = {"kernel": (3, 4), "bias": (4,), "scale": ()}
    layers = {
        f"layer{number}": {name: rng.normal(size=shape) for name, shape in shapes.items()}
        for number in range(45)
    }
    tree = {"embedding": rng.normal(size=(7, 3)), **layers}
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float32), tree)


PARAMS, GRADS = large(0), large(1)


NAMES = sorted({f"{each.optimizer}-all" for each in cases.CASES} - {
    "MultiOptimizer-all", "GradientDescent-all", "Adagrad-all",
} | {"GradientDescent-default", "Adagrad-eps", "MultiOptimizer-two"})  # fmt: skip
# Those whose states or batches differ most from those of all others.
SOME = ["Adafactor-all", "MultiOptimizer-two"]


@pytest.mark.parametrize("name", each(NAMES, SOME))
def test_batches_have_the_bits_of_one_step_operation_by_operation(name: str) -> None:
    params = jax.tree.map(jnp.atleast_1d, PARAMS) if name.startswith("WeightNorm") else PARAMS
    grads = jax.tree.map(lambda grad, param: grad.reshape(param.shape), GRADS, params)
    optimizer = cases.case(name).build(optim).create(params)
    by_operation, compiled = optimizer, optimizer
    for rate in (0.1, 0.03):
        with compiled_steps(False):
            by_operation = by_operation.apply_gradient(grads, learning_rate=rate)
        compiled = compiled.apply_gradient(grads, learning_rate=rate)
    assert len(batches([leaf.shape for leaf in jax.tree.leaves(params)])) > 2
    assert_same(compiled, by_operation)


def test_leaves_of_no_optimizer_stay_the_very_objects_they_were() -> None:
    kernels = optim.ModelParamTraversal(lambda path, value: value.shape == (3, 4))
    optimizer = optim.Adam(0.1).create(PARAMS, focus=kernels)
    after = optimizer.apply_gradient(GRADS)
    for number in range(45):
        layer = f"layer{number}"
        assert after.target[layer]["bias"] is PARAMS[layer]["bias"]
        assert after.state.param_states[layer]["bias"] is None
        assert (after.target[layer]["kernel"] != PARAMS[layer]["kernel"]).any()


def test_a_filter_sees_other_shapes_of_the_same_tree() -> None:
    kernels = optim.ModelParamTraversal(lambda path, value: value.shape == (3, 4))
    definition = optim.MultiOptimizer((kernels, optim.Momentum(0.1)))
    for shape, moves in (((3, 4), True), ((4, 3), False)):
        params = {"w": jnp.ones(shape)}
        after = definition.create(params).apply_gradient(params)
        assert bool((after.target["w"] != 1).any()) is moves


class ClippedTogether(optim.Momentum):
    """States a chain that looks at all gradients at once."""

    formula = Chain(
        optim.Momentum.formula.state,
        clip=stage(optax.clip_by_global_norm, 1e-2, across=True),
        **optim.Momentum.formula.stages,
    )


def test_a_chain_of_a_subclass_is_never_cut() -> None:
    assert optim.Momentum(0.1).formula.splits
    assert optim.WeightNorm(optim.Momentum(0.1)).formula.splits
    assert not ClippedTogether(0.1).formula.splits
    assert not optim.WeightNorm(ClippedTogether(0.1)).formula.splits
    optimizer = ClippedTogether(0.1).create(PARAMS)
    in_jit = jax.jit(lambda each, grads: each.apply_gradient(grads))(optimizer, GRADS)
    assert_same(optimizer.apply_gradient(GRADS), in_jit)


def test_the_message_names_the_path_in_the_target() -> None:
    grads = {**GRADS, "layer44": {**GRADS["layer44"], "bias": jnp.ones((1,))}}
    message = r"at \['layer44'\]\['bias'\] has shape \(1,\)"
    with strict(), pytest.raises(ValueError, match=message):
        optim.Adam(0.1).create(PARAMS).apply_gradient(grads)


def test_a_deeper_model_compiles_nothing_more(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    traced = compiled.traced

    def counted(step: Any) -> Any:
        seen.append(len(step.target.leaves))
        return traced(step)

    monkeypatch.setattr(compiled, "traced", counted)
    definition = type("Fresh", (optim.Momentum,), {})(0.1)
    for leaves in (100, 200, 500, 1000):
        params = {f"layer{number}": jnp.ones(3) for number in range(leaves)}
        definition.create(params).apply_gradient(params)
    assert seen == [50]
