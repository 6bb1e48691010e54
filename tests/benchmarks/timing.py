"""Timing several functions in turn, so that a drift of the machine's speed falls on all of them."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax

from tests.benchmarks.subjects import parameters_of

# A sample of at least this many seconds: the clock and a wake-up of the machine are far below.
SAMPLE = 0.02


class Loop:
    """A training loop: each call is a step from where the one before ended.

    The state before the step is dropped within the call, as the name ``optimizer`` is bound anew in
    a program. A call returns the parameters: the next gradient waits for no more, and they are the
    same tree for all subjects, so that waiting costs all of them the same. Of a state that is a
    list of arrays it returns all.
    """

    def __init__(self, step: Callable[[Any, Any], Any], state: Any, grads: Any) -> None:
        self._step = step
        self._state = state
        self._grads = grads

    def __call__(self) -> Any:
        self._state = self._step(self._state, self._grads)
        return self._state if isinstance(self._state, list) else parameters_of(self._state)


def interleaved(
    functions: Mapping[str, Callable[[], Any]], rounds: int, repeats: Mapping[str, int] | int = 1
) -> dict[str, list[float]]:
    """Seconds per call of each function, in every round all of them, the first one in turn.

    Args:
      functions: what to time, by label; what they return is waited for.
      rounds: how many samples to take of each.
      repeats: calls in one sample, for what is too short to time alone.
    """
    labels = list(functions)
    samples: dict[str, list[float]] = {label: [] for label in labels}
    gc.collect()
    # What there is already is no garbage, and need not be looked through before every sample.
    gc.freeze()
    try:
        for number in range(rounds):
            shift = number % len(labels)
            for label in labels[shift:] + labels[:shift]:
                count = repeats if isinstance(repeats, int) else repeats[label]
                # The garbage of one subject must not be collected in another one's time.
                gc.collect()
                samples[label].append(seconds(functions[label], count) / count)
    finally:
        gc.unfreeze()
    return samples


def filling(functions: Mapping[str, Callable[[], Any]], sample: float = SAMPLE) -> dict[str, int]:
    """How many calls of each function fill a sample; each is called three times to find out."""
    return {
        label: max(1, round(sample / min(seconds(function) for _ in range(3))))
        for label, function in functions.items()
    }


def seconds(function: Callable[[], Any], count: int = 1) -> float:
    """What some calls of a function take together, until what they return is there."""
    began = time.perf_counter()
    for _ in range(count):
        jax.block_until_ready(function())
    return time.perf_counter() - began


def merged(blocks: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """The samples of several blocks of rounds, as if taken in one."""
    return {label: [each for block in blocks for each in block[label]] for label in blocks[0]}
