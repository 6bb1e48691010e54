"""The rows of the report by name, each a module that measures it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from tests.benchmarks.measurement import Effort, Measurement

# In the order of the report; a module yields its measurements from ``measure(effort)``.
ROWS = (
    "compiled_step",
    "memory",
    "bandwidth",
    "tracing",
    "outside_jit",
    "compilations",
    "multi_optimizer",
    "dispatch",
    "imports",
    "checkpoints",
    "rewriting",
)


def measured(row: str, effort: Effort) -> Iterator[Measurement]:
    """The measurements of a row, as they are taken."""
    module = importlib.import_module(f"tests.benchmarks.{row}")
    yield from module.measure(effort)
