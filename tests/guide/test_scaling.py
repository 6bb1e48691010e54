"""The programs of the guide to sharded arrays, on eight devices and on two processes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import compiling, sharded_launch
from tests.support.pages import blocks
from tests.support.places import ROOT
from tests.support.processes import output_of

GUIDE = (ROOT / "migration_guide" / "scaling.md").read_text()

# Runs the files that are its arguments, and compares what the first two end on.
ALL_OF_THEM = """
import runpy
import sys
import jax
import numpy as np

assert jax.device_count() == 8
before, after, *_ = [runpy.run_path(path) for path in sys.argv[1:]]
start = after["init"]()
for name, param in after["optimizer"].target.items():
    assert len(param.sharding.device_set) == 8
    difference = np.max(np.abs(np.asarray(param) - np.asarray(before["optimizer"].target[name])))
    distance = np.max(np.abs(np.asarray(param) - np.asarray(start[name])))
    # Sums over the batch are rounded in another order, in each of 100 steps.
    assert difference < 1e-4 * distance, (name, difference, distance)
"""


@pytest.mark.exhaustive
def test_the_programs_run_and_the_first_two_end_on_the_same_parameters(tmp_path: Path) -> None:
    paths = []
    for number, code in enumerate(blocks(GUIDE, "python")):
        paths.append(tmp_path / f"{number}.py")
        paths[-1].write_text(code)
    variables = {**compiling.variables(devices=8), "PYTHONPATH": str(ROOT)}
    output_of(["-c", ALL_OF_THEM, *map(str, paths)], tmp_path, variables)


@pytest.mark.exhaustive
def test_the_program_for_several_machines_runs_on_two_processes(tmp_path: Path) -> None:
    (code,) = blocks(GUIDE, "py")
    (tmp_path / "train.py").write_text(code)
    text = sharded_launch.run_together(tmp_path / "train.py", ["{address}", "{number}"], tmp_path)
    assert re.search(r"^process 0: loss \d+\.\d+ on 8 devices$", text, re.MULTILINE), text
