"""What steps outside jit leave behind: compilations at new rates, definitions nobody holds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import jax

from flaxoptim_compat import optim
from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.models import gradients, parameters
from tests.benchmarks.subjects import GENUINE, OURS
from tests.support.oracle.in_process import genuine_optim

RATES = 100
DEFINITIONS = 10_000
# Every so-manieth definition differs in more than its rate, and needs a compilation of its own.
OTHERWISE = 20
# Those compiled last are kept, a fixed number of them.
KEPT = 128


def measure(effort: Effort) -> Iterator[Measurement]:
    """Two rows of counts, ours and the genuine one."""
    params = parameters(2, (8,))
    grads = gradients(params)
    namespaces = {OURS: optim, GENUINE: genuine_optim()}
    effort.report(f"{RATES} learning rates")
    counts = {label: [float(_at_rates(each, params, grads))] for label, each in namespaces.items()}
    setting = f"compilations at {RATES} other learning rates"
    yield Measurement("outside jit", setting, "count", counts, (Bar(OURS, "", 0),))

    number = DEFINITIONS // 10 if effort.quick else DEFINITIONS
    effort.report(f"{number} definitions")
    counts = {
        label: [float(_left_of(number, each, params, grads))] for label, each in namespaces.items()
    }
    setting = f"definitions still alive of {number} that came and went"
    yield Measurement("outside jit", setting, "count", counts, (Bar(OURS, "", KEPT),))


def compilations_of(function: Callable[[], Any]) -> int:
    """How many programs XLA compiles in a call."""
    compiled = 0

    def listen(event: str, duration_secs: float, **rest: Any) -> None:
        nonlocal compiled
        compiled += listening and event.endswith("backend_compile_duration")

    # Old versions of jax have no way to take a listener away, so it is told to stop.
    listening = True
    jax.monitoring.register_event_duration_secs_listener(listen)
    function()
    listening = False
    return compiled


def _at_rates(namespace: Any, params: Any, grads: Any) -> int:
    optimizer = namespace.Adam(0.1).create(params).apply_gradient(grads)
    # As a program has it: a Python number first, another one in every step.
    optimizer = optimizer.apply_gradient(grads, learning_rate=0.1)

    def train() -> None:
        nonlocal optimizer
        for number in range(RATES):
            optimizer = optimizer.apply_gradient(grads, learning_rate=0.1 / (number + 2))

    return compilations_of(train)


def _left_of(number: int, namespace: Any, params: Any, grads: Any) -> int:
    before = _alive(namespace)
    for index in range(number):
        decay = 0.9 + 1e-4 * (index // OTHERWISE)
        definition = namespace.Adam(learning_rate=0.1 / (index + 1), beta1=decay)
        definition.create(params).apply_gradient(grads)
    del definition
    gc.collect()
    return _alive(namespace) - before


def _alive(namespace: Any) -> int:
    return sum(isinstance(each, namespace.Adam) for each in gc.get_objects())
