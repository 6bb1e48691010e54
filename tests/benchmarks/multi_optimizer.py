"""Making and tracing a MultiOptimizer with many traversals over many leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import jax
import optax
from flax.training.train_state import TrainState

from flaxoptim_compat import optim
from tests.benchmarks.measurement import Bar, Effort, Measurement, Sized, growth
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS
from tests.benchmarks.timing import interleaved
from tests.support.oracle.in_process import genuine_optim

SIZES = ((2500, 2), (2500, 8), (10_000, 8))
ROUNDS = {"create": 10, "trace": 2}
QUICK_SIZES = ((1000, 2), (1000, 8))
BARS = (Bar(OURS, GENUINE, 1.0),)


def measure(effort: Effort) -> Iterator[Measurement]:
    """Rows of creating and of tracing for each size, and rows for how ours grows."""
    found: dict[str, list[Measurement]] = {"create": [], "trace": []}
    sizes = QUICK_SIZES if effort.quick else SIZES
    for leaves, traversals in sizes:
        setting = f"{leaves} leaves × {traversals} traversals"
        effort.report(setting)
        params = parameters(leaves, (8,))
        grads = gradients(params)
        creating = creators(params, traversals)
        tracing = {label: tracer(create(), grads) for label, create in creating.items()}
        for work, functions in (("create", creating), ("trace", tracing)):
            samples = interleaved(functions, effort.rounds(ROUNDS[work]))
            row = Measurement("MultiOptimizer", f"{work}, {setting}", "s", samples, BARS)
            found[work].append(row)
            yield row
    for work, rows in found.items():
        sized = [
            Sized(f"{leaves} × {traversals}", leaves * traversals, row)
            for (leaves, traversals), row in zip(sizes, rows, strict=True)
        ]
        for smaller, larger in pairwise(sized):
            yield growth(f"{work}, each leaf and traversal", OURS, smaller, larger)


def creators(params: Any, traversals: int) -> dict[str, Callable[[], Any]]:
    """What makes the state of each subject."""
    return {
        OURS: lambda: several(optim, traversals).create(params),
        GENUINE: lambda: several(genuine_optim(), traversals).create(params),
        BY_HAND: lambda: by_hand(params, traversals),
    }


def several(namespace: Any, count: int) -> Any:
    """A definition with so many optimizers, each for every so-manieth leaf by its path."""
    traversals = [namespace.ModelParamTraversal(_every(count, index)) for index in range(count)]
    definitions = [namespace.Momentum(0.01 * (index + 1)) for index in range(count)]
    return namespace.MultiOptimizer(*zip(traversals, definitions, strict=True))


def by_hand(params: Any, count: int) -> TrainState:
    """The same with ``optax.partition`` and labels."""
    parts = {index: optax.sgd(0.01 * (index + 1), momentum=0.9) for index in range(count)}

    def labels(tree: Any) -> Any:
        return jax.tree_util.tree_map_with_path(lambda path, _: _number(path[0].key) % count, tree)

    tx = optax.partition(parts, labels)
    state: TrainState = TrainState.create(apply_fn=None, params=params, tx=tx)
    return state


def tracer(state: Any, grads: Any) -> Callable[[], Any]:
    """Traces a step that jax has not seen before."""

    def trace() -> None:
        if isinstance(state, TrainState):
            jax.jit(lambda state, grads: state.apply_gradients(grads=grads)).trace(state, grads)
        else:
            jax.jit(lambda state, grads: state.apply_gradient(grads)).trace(state, grads)

    return trace


def _every(count: int, index: int) -> Callable[[str, Any], bool]:
    return lambda path, _: _number(path.split("/")[1]) % count == index


def _number(layer: str) -> int:
    return int(layer.removeprefix("layer"))
