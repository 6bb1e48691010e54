"""Every optimizer as a text of optax, alone and as a part of a partition."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
from flax.core import freeze

from flaxoptim_compat import optim
from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
from flaxoptim_compat.migrate.optax_text.binding import Refused, pairs
from flaxoptim_compat.migrate.optax_text.text import Part, partition, partition_refusal
from tests.migrate.optax_text.partitioned import BIASES, PARAMS, SCOPE, traversal
from tests.support import cases
from tests.support.optax_texts import (
    NAMES,
    call_in,
    described,
    document,
    made,
    program_of,
    read,
    rewritten,
    rewritten_parts,
    spelled,
)
from tests.support.options import each_case
from tests.support.side_by_side import assert_same, bits

RATE = "learning_rate"


def written(case: cases.Case, text: str) -> str:
    return rewritten_parts(text) if case.optimizer == "MultiOptimizer" else rewritten(text)


@pytest.mark.parametrize("case", each_case())
def test_the_text_is_the_definition_however_it_is_spelled(case: cases.Case) -> None:
    params = case.parameters()
    expected = program_of(described(case.build(optim), params), params)
    for how in ("keywords", "positions", "names"):
        text, cfg = spelled(case, how)
        new = written(case, text)
        assert program_of(made(new, cfg=cfg), params) == expected, new
        assert "optim." not in new


@pytest.mark.parametrize("case", each_case())
def test_a_rate_that_is_given_with_each_step(case: cases.Case) -> None:
    case, params = case.without_rate(), case.parameters()
    expected = program_of(described(case.build(optim), params), params)
    text, cfg = spelled(case, "names")
    if case.optimizer == "MultiOptimizer":
        new = rewritten_parts(text, [RATE])
    else:
        new = rewritten(text, [RATE])
    assert program_of(made(new, cfg=cfg), params) == expected, new


KERNELS = 'optim.ModelParamTraversal(lambda path, _: "kernel" in path)'


def refused(text: str, **changes: Any) -> str:
    found = pairs(call_in(document(text)))
    if isinstance(found, Refused):
        return found.reason
    parts = []
    for each, node in found:
        optimizer = read(node)
        if isinstance(optimizer, Refused):
            return optimizer.reason
        assert optimizer is not None
        parts.append(Part(each.args[0], optimizer, **changes))
    return partition_refusal(parts)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "takes pairs"),
        ("*parts", "the parts come from `*parts`: write them out as pairs"),
        ("(a, *b)", "it is no pair"),
        ("part", "it is no pair"),
        (f"({KERNELS}, optim.Adam())", "no learning rate"),
        (f"({KERNELS}, optim.MultiOptimizer())", "MultiOptimizer has no text"),
        (f"({traversal('*both')}, optim.Adam(1e-3))", "does more than select"),
        (f"({traversal('filters[next(number)]')}, optim.Adam(rate()))", "whose order would be"),
    ],
)
def test_what_is_left_alone(arguments: str, reason: str) -> None:
    assert reason in refused(f"tx = optim.MultiOptimizer({arguments})\n")


def test_calls_in_several_parts_keep_their_order() -> None:
    text = f"tx = optim.MultiOptimizer(({KERNELS}, optim.Adam(a())), ({BIASES}, optim.Adam(b())))\n"
    assert not refused(text)
    assert "whose order" in refused(text, injected=["learning_rate"])
    with pytest.raises(ValueError, match="whose order"):
        rewritten_parts(text, ["learning_rate"])


def test_one_part() -> None:
    text = f"tx = optim.MultiOptimizer(({KERNELS}, optim.Adam(cfg.rate)))\n"
    assert (
        rewritten_parts(text)
        == """\
tx = optax.partition(
    {"part_0": optax.adam(cfg.rate), "frozen": transforms.hold()},
    transforms.labels({"part_0": lambda path, _: "kernel" in path}, otherwise="frozen"),
)
"""
    )


def assert_same_steps(
    definition: Any, tx: Any, params: Any, rates: Any = lambda number: {}, names: Any = None
) -> None:
    """Train with both, and compare; what no filter selects keeps every bit.

    Args:
      definition: that of flax.optim.
      tx: that of optax.
      params: those of the start.
      rates: of a step, what apply_gradient is given.
      names: of a step, what is set in the state; None if there is nothing.
    """

    @jax.jit
    def step(params: Any, state: Any, grads: Any) -> Any:
        updates, state = tx.update(grads, state, params)
        return optax.apply_updates(params, updates), state

    legacy = jax.jit(lambda each, grads, rates: each.apply_gradient(grads, **rates))
    optimizer, state, kept = definition.create(params), tx.init(params), params["kept"]
    for number in range(3):
        leaves = jax.tree.leaves(cases.gradients(number, params))
        grads = jax.tree.unflatten(jax.tree.structure(params), map(jnp.asarray, leaves))
        if names is not None:
            state = optax.tree_utils.tree_set(state, **names(number))
        optimizer = legacy(optimizer, grads, rates(number))
        params, state = step(params, state, grads)
        assert_same(params, optimizer.target)
        assert jax.tree.structure(params) == jax.tree.structure(optimizer.target)
    assert bits(params["kept"]) == bits(kept)


TWO = f"""\
tx = optim.MultiOptimizer(
    ({KERNELS}, optim.WeightNorm(optim.Momentum(0.1, weight_decay=cfg.decay), wn_decay=0.1)),
    ({traversal("is_bias")}, optim.LAMB(0.2, beta1=cfg.beta)),
)
"""


@pytest.mark.parametrize("kind", [dict, freeze])
def test_the_same_steps(kind: Any) -> None:
    definition, tx = made(TWO, **SCOPE), made(rewritten_parts(TWO), **SCOPE)
    assert_same_steps(definition, tx, kind(PARAMS))


def test_one_rate_for_all() -> None:
    tx = made(rewritten_parts(TWO, ["learning_rate"]), **SCOPE)
    found = optax.tree_utils.tree_get_all_with_path(tx.init(PARAMS), "learning_rate")
    assert [float(rate) for _, rate in found] == pytest.approx([0.1, 0.2])

    def rates(number: int) -> Any:
        return {"learning_rate": jnp.float32(0.3 / (number + 1))}

    assert_same_steps(made(TWO, **SCOPE), tx, PARAMS, rates, rates)


def test_parts_that_are_in_optax_already() -> None:
    text = f"tx = optim.MultiOptimizer(({KERNELS}, tx_of_kernels), ({BIASES}, optim.Adam(0.1)))\n"
    each = document(text)
    found = pairs(call_in(each))
    assert not isinstance(found, Refused)
    (kernels, tx), (biases, adam) = found
    bound = read(adam)
    assert not isinstance(bound, Refused | None)
    first = Part(kernels.args[0], (Span(*each.span(tx)),))
    for injected in ([], ["learning_rate"]):
        second = Part(biases.args[0], bound, injected=injected)
        parts = [first, second]
        new = partition(parts, each, NAMES.__getitem__)
        changed = apply_edits(text, [Edit(*each.span(call_in(each)), new)])
        made_of = {"tx_of_kernels": optax.sgd(0.1, momentum=0.9)}
        state = made(changed, **made_of).init(PARAMS)
        assert list(state.inner_states) == ["part_0", "part_1", "frozen"]
        assert bool(injected) == hasattr(state.inner_states["part_1"].inner_state, "hyperparams")
