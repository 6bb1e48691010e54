"""``tests/data/layers.json``: the variables that a layer had in each Flax, where they changed.

Beside it, what a program with GroupNorm left in Flax 0.3.5, the last release with the old shapes.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from tests.generate.generator import Files, Generator
from tests.support.layers import Variables
from tests.support.oracle.environments import run_in_old_environment
from tests.support.oracle.wheel import WHEEL_SHA256, genuine_wheel
from tests.support.places import DATA, OLD_ENVIRONMENT

RECORD = DATA / "layers.json"
GROUP_NORM = DATA / "group_norm"


def files() -> Files:
    """The record, and the checkpoints of the program after 5 steps and, restored, after 10."""
    with tempfile.TemporaryDirectory() as folder:
        five, ten = Path(folder, "5.msgpack"), Path(folder, "10.msgpack")
        for arguments in (("5", "-", str(five)), ("10", str(five), str(ten))):
            _run("0.3.5", GROUP_NORM / "train.py", *arguments)
        checkpoints = {GROUP_NORM / path.name: path.read_bytes() for path in (five, ten)}
    return {RECORD: f"{json.dumps(_record(), indent=1)}\n".encode(), **checkpoints}


def _record() -> dict[str, dict[str, dict[str, Variables]]]:
    """For each layer, the first release with these variables."""
    record: dict[str, dict[str, dict[str, Variables]]] = {}
    for release in WHEEL_SHA256:
        found = json.loads(_run(release, OLD_ENVIRONMENT / "record_layers.py"))
        for module, layers in found.items():
            for layer, variables in layers.items():
                since = record.setdefault(module, {}).setdefault(layer, {})
                if not since or [*since.values()][-1] != variables:
                    since[release] = variables
    return record


def _run(release: str, script: Path, *arguments: str) -> str:
    runner = OLD_ENVIRONMENT / "old_release.py"
    folder = str(genuine_wheel(release))
    return run_in_old_environment(runner, folder, str(script), *arguments).stdout


GENERATOR = Generator("tests/data/layers.json: the variables of layers, Flax 0.2.2 to 0.5.3", files)
