"""What runs in the environment of jax 0.4.13 and flax 0.5.3, and is recorded in ``tests/data``."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.data.goldens import CHECKPOINTS, DIRECTORY
from tests.generate.generator import Files, Generator
from tests.legacy.cases import random_numbers as random_cases
from tests.legacy.cases.old_names import RUN_NAMES
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import DATA, OLD_ENVIRONMENT

SIGNATURES_FILE = DATA / "signatures.json"
_SCRIPTS = tuple(
    Path(__file__).with_name(name) for name in ("record_goldens.py", "record_old_layouts.py")
)


def goldens() -> Files:
    """What the genuine optimizers compute and write now."""
    with tempfile.TemporaryDirectory() as name:
        for script in _SCRIPTS:
            run_in_old_environment(script, name)
        recorded = (path for path in Path(name).rglob("*") if path.is_file())
        return {DIRECTORY / path.relative_to(name): path.read_bytes() for path in recorded}


def random_numbers() -> Files:
    """The random numbers of some seeds."""
    done = run_in_old_environment(RUN_NAMES, random_cases.__name__)
    outcomes = json.loads(done.stdout)["outcomes"]
    found = {name: [leaf[1:] for leaf in leaves] for name, (_, *leaves) in outcomes.items()}
    return {DATA / "random_numbers.json": _a_line_each(found)}


def signatures() -> Files:
    """What functions took."""
    done = run_in_old_environment(OLD_ENVIRONMENT / "record_signatures.py")
    return {SIGNATURES_FILE: _a_line_each(json.loads(done.stdout))}


def _a_line_each(found: Mapping[str, Any]) -> bytes:
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in found.items())
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


GOLDENS = Generator(
    "tests/data/goldens: runs of flax 0.2.2 to 0.5.3 on jax 0.4.13", goldens, CHECKPOINTS
)
RANDOM_NUMBERS = Generator("tests/data/random_numbers.json: seeds on jax 0.4.13", random_numbers)
SIGNATURES = Generator(
    "tests/data/signatures.json: the arguments of jax 0.4.13, flax 0.5.3", signatures
)
