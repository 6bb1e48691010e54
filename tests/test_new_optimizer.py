"""An optimizer is one class and one row of the catalogue: all else is read off or made of them."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import flaxoptim_compat
from tests.support.places import ROOT
from tests.support.processes import output_of

DATA = Path(__file__).parent / "data" / "new_optimizer"
REMADE_AND_USED = """
import runpy, sys
from tests.generate import formulas
for path, content in formulas.files().items():
    path.write_bytes(content)
runpy.run_path(sys.argv.pop(1), run_name="__main__")
"""
MOST_LINES = 30
START = "OPTIMIZERS: Final = (\n"
ROW = """\
    OptimizerRow(
        "Lion",
        "lion",
        {RATE: None, "beta1": 0.9, "beta2": 0.99, "weight_decay": 0.0},
        ("grad_ema",),
        (("count mu",),),
        suggested=(("optim.Lion(0.01)", "optax.lion(0.01)"),),
        called={"beta1": "b1", "beta2": "b2"},
    ),
"""


def test_one_class_and_one_row(tmp_path: Path) -> None:
    package = tmp_path / "flaxoptim_compat"
    home = Path(flaxoptim_compat.__file__).parent
    shutil.copytree(home, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = (DATA / "lion.py").read_text()
    _, dataclasses_and_class = source.split("\n\n\n", 1)
    assert len(dataclasses_and_class.splitlines()) <= MOST_LINES
    (package / "optim" / "lion.py").write_text(source)
    catalogue = package / "catalogue.py"
    text = catalogue.read_text()
    assert text.count(START) == 1
    catalogue.write_text(text.replace(START, START + ROW))
    paths = os.pathsep.join((str(tmp_path), str(ROOT)))
    program = ["-c", REMADE_AND_USED, str(DATA / "program.py")]
    done = output_of([*program, str(tmp_path)], tmp_path, {"PYTHONPATH": paths})
    assert done == "all of it\n"
