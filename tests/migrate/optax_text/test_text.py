"""Every optimizer as a text of optax, alone and as a part of a partition, and what labels say."""

from __future__ import annotations

import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax.core import freeze

from flaxoptim_compat import optim
from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
from flaxoptim_compat.migrate.optax_text.binding import Refused, pairs
from flaxoptim_compat.migrate.optax_text.text import Part, check_parts, partition
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

BIASES = 'optim.ModelParamTraversal(lambda path, _: path.endswith("/bias"))'


def traversal(text: str) -> str:
    return f"optim.ModelParamTraversal({text})"


PARAMS = {
    "head": {
        "bias": jnp.linspace(-1.0, 1.0, 5),
        "kernel": jnp.linspace(0.1, 1.2, 12).reshape(3, 4),
    },
    "kept": jnp.asarray(np.array([-0.0, np.nan, np.inf, 1e-45, 2.0], np.float32)),
    "tail": {"kernel": jnp.linspace(-0.5, 0.5, 6).reshape(2, 3)},
}
SCOPE = {
    "cfg": types.SimpleNamespace(decay=0.03, beta=0.8),
    "is_bias": lambda path, value: path == "/head/bias" and value.ndim == 1,
}


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
    parts = []
    try:
        for each, node in pairs(call_in(document(text))):
            optimizer = read(node)
            assert optimizer is not None
            parts.append(Part(each.args[0], optimizer, **changes))
        check_parts(parts)
    except Refused as why:
        return str(why)
    return ""


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
    with pytest.raises(Refused, match="whose order"):
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
    (kernels, tx), (biases, adam) = pairs(call_in(each))
    bound = read(adam)
    assert bound is not None
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


def labels_of(text: str, tree: Any, scope: Any) -> Any:
    """What the labels in the text of a partition say of some parameters."""

    class Partition:
        partition = staticmethod(lambda parts, labels: labels)

        def __getattr__(self, name: str) -> Any:
            return getattr(optax, name)

    new = rewritten_parts(text)
    return made(new, optax=Partition(), **scope)(tree)


FILTERS = [
    '(lambda path, _: "kernel" in path)',
    '(lambda p, v: p.startswith("/head") and v.shape[0] == 3)',
    "(lambda params, keys: params in known and keys.dtype == jnp.float32)",
    "is_bias",
    "(lambda path, _: path in params)",
    "(lambda path, _: (yes := path.count('/') == 2))",
    "filters['bias']",
    "(lambda path, _, end='/bias': path.endswith(end))",
    "(lambda *both: 'bias' in both[0])",
    "(lambda path, leaf: _ in path)",
]


@pytest.mark.parametrize("kind", [dict, freeze])
@pytest.mark.parametrize("text", FILTERS)
def test_the_filters_select_what_they_did(text: str, kind: Any) -> None:
    scope = {
        "known": {"/head/kernel"},
        "params": {"/kept"},
        "is_bias": SCOPE["is_bias"],
        "filters": {"bias": SCOPE["is_bias"]},
        "_": "bias",
    }
    source = f"tx = optim.MultiOptimizer((optim.ModelParamTraversal({text}), optim.Adam(0.1)))\n"
    params = kind({**PARAMS, "empty": {}})
    found = labels_of(source, params, scope)
    assert found == made(source, **scope).labels(params)
    assert "part_0" in jax.tree.leaves(found)
    assert type(found) is type(params)


def test_the_first_of_several_filters() -> None:
    rest = f"({traversal('is_kept')}, optim.Adam(0.1)), ({BIASES}, optim.Adam(0.1))"
    for first in FILTERS[1:3]:
        text = f"tx = optim.MultiOptimizer(({traversal(first)}, optim.Adam(0.1)), {rest})\n"
        scope = {"known": {"/head/kernel"}, "is_kept": lambda path, value: path == "/kept"}
        assert labels_of(text, PARAMS, scope) == {
            "head": {"bias": "part_2", "kernel": "part_0"},
            "kept": "part_1",
            "tail": {"kernel": "frozen"},
        }


def test_what_could_change_is_read_once() -> None:
    text = f"""\
tx = optim.MultiOptimizer(
    ({traversal("make('kernel')")}, optim.Adam(0.1)),
    ({traversal("filters.bias")}, optim.Adam(0.1)),
    ({traversal("is_kept")}, optim.Adam(0.1)),
)
"""
    made_filters = []

    def make(name: str) -> Any:
        made_filters.append(name)
        return lambda path, _: name in path

    for injected in ([], ["learning_rate"]):
        filters = types.SimpleNamespace(bias=lambda path, _: "bias" in path)
        scope = {"make": make, "filters": filters, "is_kept": lambda path, _: path == "/kept"}
        made_filters.clear()
        tx = made(rewritten_parts(text, injected), **scope)
        filters.bias = None
        state = tx.init(PARAMS)
        tx.update(PARAMS, state, PARAMS)
        assert made_filters == ["kernel"]
        sizes = [len(jax.tree.leaves(each)) for each in state.inner_states.values()]
        # With a rate in the state there are this and its count as well.
        assert sizes == ([7, 5, 5, 0] if injected else [5, 3, 3, 0])


def test_names_in_a_lambda_are_not_mistaken() -> None:
    # `value` is a function of the program, and the value of a parameter in the other filter.
    text = f"""\
tx = optim.MultiOptimizer(
    ({traversal("lambda path, value: value.ndim == 2")}, optim.Adam(0.1)),
    ({traversal("value")}, optim.Adam(0.1)),
)
"""
    found = labels_of(text, PARAMS, {"value": lambda path, _: "bias" in path})
    assert found["head"] == {"bias": "part_1", "kernel": "part_0"}
