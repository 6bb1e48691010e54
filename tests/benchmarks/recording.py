"""All that one run of the benchmarks measured, as a JSON file."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flaxoptim_compat.atomic import appearing_file
from tests.benchmarks.measurement import Bar, Measurement


@dataclass(frozen=True)
class Recording:
    """The rows, the machine, and whether it was a quick run."""

    machine: Mapping[str, str]
    quick: bool
    rows: Sequence[Measurement]

    def save(self, path: Path) -> None:
        """Write a file, which is there whole or not at all."""
        head = json.dumps({"machine": dict(self.machine), "quick": self.quick}, ensure_ascii=False)
        rows = ",\n".join(map(_line, self.rows))
        with appearing_file(path) as file:
            file.write(f'{head[:-1]}, "rows": [\n{rows}\n]}}\n'.encode())

    @classmethod
    def load(cls, path: Path) -> Recording:
        """Read a file that ``save`` wrote."""
        document = json.loads(path.read_text())
        return cls(document["machine"], document["quick"], list(map(_row, document["rows"])))


def _line(row: Measurement) -> str:
    # A sample is far less certain than its sixth digit.
    samples = {
        subject: [each if float(each).is_integer() else float(f"{each:.6g}") for each in values]
        for subject, values in row.samples.items()
    }
    document = dataclasses.asdict(dataclasses.replace(row, samples=samples))
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _row(document: dict[str, Any]) -> Measurement:
    bars = tuple(Bar(**bar) for bar in document.pop("bars"))
    return Measurement(**document, bars=bars)
