"""What a call of a compiled step costs outside of what XLA computes.

The call flattens its arguments, looks the compiled code up by their structure, hands the buffers
over, and builds the tree that it returns. To see that alone, the compiled function returns the
state that it got: donated, it is the same buffers, and XLA computes nothing. What jax does for each
array is the same for all subjects, and with the same number of arrays what differs is what the
classes of their trees do in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax

from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, DEFINITIONS, OURS, subjects
from tests.benchmarks.timing import Loop, filling, interleaved

LEAVES = 1000
QUICK = ("Adam",)
BAR = Bar(OURS, BY_HAND, 1.1)


def measure(effort: Effort) -> Iterator[Measurement]:
    """Two rows for each optimizer: a call that computes nothing, and its trees without the call."""
    params = parameters(LEAVES, (1,))
    grads = gradients(params)
    same = jax.jit(lambda state, grads: state, donate_argnums=0, keep_unused=True)
    for optimizer in QUICK if effort.quick else DEFINITIONS:
        effort.report(f"{optimizer}, {LEAVES} tiny leaves")
        calls: dict[str, Callable[[], Any]] = {}
        trees: dict[str, Callable[[], Any]] = {}
        arrays: dict[str, int] = {}
        for label, each in subjects(optimizer).items():
            state = each.create(jax.tree.map(jax.numpy.copy, params))
            arrays[label] = len(jax.tree.leaves(state))
            trees[label] = _there_and_back(jax.tree.map(lambda leaf: 0, state))
            calls[label] = Loop(same, state, grads)
        for what, functions, bars in (("call", calls, [BAR]), ("trees of the call", trees, [])):
            samples = interleaved(functions, effort.rounds(50), filling(functions))
            setting = f"{what}, {optimizer}, {LEAVES} leaves"
            yield Measurement("dispatch", setting, "s", samples, bars, _numbers(arrays))


def _numbers(arrays: Mapping[str, int]) -> str:
    ours, by_hand = arrays[OURS], arrays[BY_HAND]
    if ours <= by_hand:
        return ""
    return (
        f"The state is {ours} arrays, as it was in flax.optim, and {by_hand} by hand:"
        f" {ours / by_hand:.2f} × as many to hand over, whatever the trees cost."
    )


def _there_and_back(state: Any) -> Callable[[], Any]:
    def flatten_compare_unflatten() -> None:
        leaves, treedef = jax.tree.flatten(state)
        assert treedef == known
        jax.tree.unflatten(treedef, leaves)

    known: Any = jax.tree.structure(state)
    return flatten_compare_unflatten
