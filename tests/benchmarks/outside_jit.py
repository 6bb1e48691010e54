"""Steps outside of jit, as most old programs of one device made them at the prompt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax

from tests.benchmarks.first_call import SHAPE, first_call
from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS, optimizers, subjects
from tests.benchmarks.timing import Loop, filling, interleaved

SIZES = (100, 1000)
FASTER = Bar(GENUINE, OURS, 15, at_least=True)
NEARLY_BY_HAND = Bar(OURS, BY_HAND, 1.3)


def measure(effort: Effort) -> Iterator[Measurement]:
    """Rows of steps in a loop, then of the first step of a process."""
    for leaves in effort.up_to(SIZES):
        params = parameters(leaves, SHAPE)
        grads = gradients(params)
        for optimizer in optimizers(effort.quick):
            effort.report(f"{optimizer}, {leaves} × 64²")
            yield _steps(effort, optimizer, leaves, params, grads)
    for leaves in effort.up_to(SIZES):
        # New processes take their time: of a thousand leaves, those of some are enough.
        for optimizer in optimizers(effort.quick or leaves != SIZES[0]):
            effort.report(f"{optimizer}, {leaves} × 64², new processes")
            yield _first(effort, optimizer, leaves)


def _steps(effort: Effort, optimizer: str, leaves: int, params: Any, grads: Any) -> Measurement:
    loops = {}
    for label, each in subjects(optimizer).items():
        # Not donated: the old optimizer stays valid, as it did with flax.optim.
        step = jax.jit(each.step) if label == BY_HAND else each.step
        loops[label] = Loop(step, each.create(params), grads)
    rounds = effort.rounds(30 if leaves == SIZES[0] else 15)
    samples = interleaved(loops, rounds, filling(loops))
    setting = f"step, {optimizer}, {leaves} × 64²"
    row = Measurement("outside jit", setting, "s", samples, (FASTER, NEARLY_BY_HAND))
    if row.reached(FASTER):
        return row
    attainable = row.ratio(Bar(GENUINE, BY_HAND, FASTER.limit)).median
    note = f"By hand, a step in jit is {attainable:.1f} × as fast as the genuine one here."
    return Measurement("outside jit", setting, "s", samples, row.bars, note)


def _first(effort: Effort, optimizer: str, leaves: int) -> Measurement:
    samples: dict[str, list[float]] = {OURS: [], GENUINE: []}
    for _ in range(effort.rounds(3)):
        for label, values in samples.items():
            values.append(first_call(label, optimizer, leaves))
    setting = f"first call, {optimizer}, {leaves} × 64²"
    return Measurement("outside jit", setting, "s", samples, (Bar(OURS, GENUINE, 1.0),))
