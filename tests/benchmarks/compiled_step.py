"""A jitted step that donates its state, as a training loop calls it: its costs and its time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp

from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS, optimizers, subjects
from tests.benchmarks.timing import Loop, filling, interleaved, merged

SHAPES: dict[str, tuple[int, tuple[int, ...]]] = {
    "100 × 64²": (100, (64, 64)),
    "2 × 4096×2048": (2, (4096, 2048)),
    "1000 × 64²": (1000, (64, 64)),
}
# 537 million parameters, with moments and all three subjects: more than most machines have.
SHAPES_OF_GPU = {"128 × 2048²": (128, (2048, 2048)), **SHAPES}
EQUAL = (Bar(OURS, BY_HAND, 1.0),)
BARS = (Bar(OURS, BY_HAND, 1.02), Bar(OURS, GENUINE, 1.0))

# Where buffers happen to lie makes a few percent, and donated ones stay where they are: several
# blocks of rounds, each with states of its own.
BLOCKS = 5

Steps = Mapping[str, Callable[[Any, Any], Any]]


def measure(effort: Effort) -> Iterator[Measurement]:
    """Rows for each optimizer and shape; quick, only for the first."""
    shapes = SHAPES_OF_GPU if jax.default_backend() == "gpu" else SHAPES
    for name in list(shapes)[:1] if effort.quick else shapes:
        leaves, shape = shapes[name]
        params = parameters(leaves, shape)
        grads = gradients(params)
        for optimizer in optimizers(effort.quick):
            setting = f"{optimizer}, {name}"
            effort.report(setting)
            three = subjects(optimizer)
            states = {label: each.create(params) for label, each in three.items()}
            steps: Steps = {
                label: jax.jit(each.step, donate_argnums=0) for label, each in three.items()
            }
            yield from _costs(setting, steps, states, grads)
            times = _times(effort, setting, steps, states, grads)
            if leaves == 100 and not effort.quick:
                alone = _times(effort, f"{setting}, no trees", *_flat(steps, states, grads))
                yield dataclasses.replace(times, note=_code_alone(alone))
                yield alone
            else:
                yield times


def _costs(setting: str, steps: Any, states: Any, grads: Any) -> Iterator[Measurement]:
    # The call below finds what is compiled here, so that nothing is compiled twice.
    found = {
        label: step.lower(states[label], grads).compile().cost_analysis()
        for label, step in steps.items()
    }
    for unit, name in (("flop", "flops"), ("bytes", "bytes accessed")):
        samples = {label: [each[name]] for label, each in found.items()}
        yield Measurement("compiled step", f"{name}, {setting}", unit, samples, EQUAL)


def _times(
    effort: Effort, setting: str, steps: Steps, states: Mapping[str, Any], grads: Any
) -> Measurement:
    blocks = []
    for _ in range(BLOCKS):
        # The steps take what they are given, and the next block needs it again.
        loops = {
            label: Loop(step, jax.tree.map(jnp.copy, states[label]), grads)
            for label, step in steps.items()
        }
        blocks.append(interleaved(loops, effort.rounds(10), filling(loops)))
    return Measurement("compiled step", f"time, {setting}", "s", merged(blocks), BARS)


def _flat(
    steps: Steps, states: Mapping[str, Any], grads: Any
) -> tuple[Steps, Mapping[str, Any], Any]:
    """The same steps on lists of arrays: the same compiled code, called alike for all subjects."""

    def flat(label: str) -> Callable[[Any, Any], Any]:
        def step(leaves: Any, gradients: Any) -> Any:
            state = jax.tree.unflatten(trees[label], leaves)
            return jax.tree.leaves(steps[label](state, jax.tree.unflatten(of_grads, gradients)))

        return jax.jit(step, donate_argnums=0)

    trees = {label: jax.tree.structure(state) for label, state in states.items()}
    of_grads = jax.tree.structure(grads)
    lists = {label: jax.tree.leaves(state) for label, state in states.items()}
    return {label: flat(label) for label in steps}, lists, jax.tree.leaves(grads)


def _code_alone(alone: Measurement) -> str:
    by_hand, genuine = (alone.ratio(bar).median for bar in BARS)
    return (
        f"On lists of arrays, without its trees, the same code takes {by_hand:.2f} × by hand and"
        f" {genuine:.2f} × genuine."
    )
