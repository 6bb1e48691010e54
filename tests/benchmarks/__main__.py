"""``python -m tests.benchmarks [ROW ...] [--quick] [--json OUT]``."""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from flaxoptim_compat import FlaxOptimDeprecationWarning
from tests.benchmarks import machine, page
from tests.benchmarks.measurement import Effort, Measurement
from tests.benchmarks.recording import Recording

# In the order of the report; a module yields its measurements from ``measure(effort)``.
ROWS = (
    *("compiled_step", "memory", "bandwidth", "tracing", "outside_jit", "compilations"),
    *("multi_optimizer", "dispatch", "imports", "checkpoints", "rewriting"),
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the rows that are asked for, print the report, and write the JSON file."""
    asked = _parser().parse_args(arguments)
    warnings.simplefilter("ignore", FlaxOptimDeprecationWarning)
    began = time.monotonic()
    rows: list[Measurement] = []
    try:
        for row in ROWS:
            if row in asked.rows or not asked.rows:
                module = importlib.import_module(f"tests.benchmarks.{row}")
                for measurement in module.measure(Effort(asked.quick, _progress(row, began))):
                    rows.append(measurement)
    except KeyboardInterrupt:
        print("Interrupted. What was measured until now follows.", file=sys.stderr)
    recording = Recording(machine.description(), asked.quick, rows)
    print(page.everything(recording))
    if asked.json:
        recording.save(asked.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Measure this package beside the genuine flax.optim and optax by hand.",
    )
    parser.add_argument(
        "rows", nargs="*", metavar="ROW", type=_row, help=f"{', '.join(ROWS)}; without any, all"
    )
    parser.add_argument("--quick", action="store_true", help="few rounds, small settings")
    parser.add_argument("--json", metavar="OUT", type=_json, help="write all samples to a file")
    return parser


def _row(name: str) -> str:
    if name not in ROWS:
        raise argparse.ArgumentTypeError(f"there is no row {name!r}; there are {', '.join(ROWS)}")
    return name


def _json(name: str) -> Path:
    # Found out now, not after the measurements.
    path = Path(name)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"{name!r} cannot be written: no such folder, or a folder")
    return path


def _progress(row: str, began: float) -> Callable[[str], None]:
    def report(text: str) -> None:
        print(f"[{time.monotonic() - began:4.0f} s] {row}: {text}", file=sys.stderr, flush=True)

    return report


if __name__ == "__main__":
    main()
