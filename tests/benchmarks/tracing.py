"""The time to trace and lower a step, which a program spends before its first step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jax

from tests.benchmarks.measurement import Bar, Effort, Measurement, Sized, growth
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import BY_HAND, GENUINE, OURS, Subject, optimizers, subjects
from tests.benchmarks.timing import interleaved

SIZES = (100, 1000, 10_000)
ROUNDS = {100: 15, 1000: 3, 10_000: 2}
# One round of ten thousand leaves takes the three of them a minute with Adam.
LARGEST = ("Adam", "Momentum")
BARS = (Bar(OURS, BY_HAND, 1.1), Bar(OURS, GENUINE, 1.0))


def measure(effort: Effort) -> Iterator[Measurement]:
    """One row for each optimizer and size, and one for how the time grows."""
    for optimizer in optimizers(effort.quick):
        found: dict[int, Measurement] = {}
        for leaves in effort.up_to(SIZES if optimizer in LARGEST else SIZES[:-1]):
            effort.report(f"{optimizer}, {leaves} leaves")
            params = parameters(leaves, (8,))
            grads = gradients(params)
            functions = {
                label: tracer(each, each.create(params), grads)
                for label, each in subjects(optimizer).items()
            }
            if leaves == SIZES[0]:
                # Once unmeasured, for what jax keeps of the pieces that every trace has.
                interleaved(functions, 1)
            samples = interleaved(functions, effort.rounds(ROUNDS[leaves]))
            setting = f"{optimizer}, {leaves} leaves"
            found[leaves] = Measurement("trace + lower", setting, "s", samples, BARS)
            yield found[leaves]
        if len(found) > 1:
            few, many = (Sized(f"{count} leaves", count, found[count]) for count in [*found][-2:])
            setting = f"{optimizer}, each of {many.size} against each of {few.units}"
            yield growth(setting, OURS, few, many)


def tracer(subject: Subject, state: Any, grads: Any) -> Callable[[], Any]:
    """Traces and lowers a step that jax has not seen before."""

    def trace_and_lower() -> None:
        jax.jit(lambda state, grads: subject.step(state, grads)).trace(state, grads).lower()

    return trace_and_lower
