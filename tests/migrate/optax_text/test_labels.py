"""What the labels of a partition say of parameters, beside what the traversals selected."""

from __future__ import annotations

import types
from typing import Any

import jax
import optax
import pytest
from flax.core import freeze

from tests.migrate.optax_text.partitioned import BIASES, PARAMS, SCOPE, traversal
from tests.support.optax_texts import made, rewritten_parts


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
