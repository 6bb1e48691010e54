"""Optimizers that lie on the devices of two processes, and on one of them from there on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import sharding
from tests.support import sharded_launch, sharded_processes
from tests.support.places import ROOT
from tests.support.sharded_cases import (
    DEFINITIONS,
    TWO_AXES,
    ULPS,
    apply,
    assert_placed,
    gradients,
    mesh,
    parameters,
    restored,
)
from tests.support.side_by_side import assert_same


def on_one_device(name: str) -> Any:
    optimizer, step = DEFINITIONS[name]().create(parameters()), jax.jit(apply)
    for number in range(sharded_processes.STEPS):
        optimizer = step(optimizer, gradients(number))
    return optimizer


@pytest.mark.exhaustive
def test_on_two_processes_and_from_there_on_one(tmp_path: Path) -> None:
    program = ROOT / "tests" / "support" / "sharded_processes.py"
    arguments = ["{address}", "2", "{number}", str(tmp_path)]
    sharded_launch.run_together(program, arguments, tmp_path, seconds=240)
    for name in sharded_processes.NAMES:
        expected = on_one_device(name)
        for kind in ("Optimizer", "TrainState"):
            tree = DEFINITIONS[name]().create(parameters())
            tree = tree if kind == "Optimizer" else tree.to_train_state()
            places = sharding.shardings(mesh(2, 2), tree, TWO_AXES)
            found = restored(tmp_path / f"{name}-{kind}", tree, places)
            assert_placed(found, places)
            if kind == "TrainState":
                found = optim.Optimizer.from_train_state(found, expected.optimizer_def)
            assert_same(found, expected, ulps=ULPS[name])
    adam = on_one_device("Adam")
    for process in range(2):
        with np.load(tmp_path / f"copies-{process}.npz") as file:
            copies = jax.tree.unflatten(jax.tree.structure(adam), list(file.values()))
        # The mean over the devices is compiled into one loop with the update.
        assert_same(copies, adam, ulps=4.0)


def test_the_processes_of_a_run_end_with_it(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import os, pathlib, sys, time\n"
        "pathlib.Path(f'{sys.argv[1]}.pid').write_text(str(os.getpid()))\n"
        "while not all(pathlib.Path(f'{each}.pid').exists() for each in (0, 1)): time.sleep(0.01)\n"
        "if sys.argv[1:] == ['1', 'fails']: sys.exit('it failed')\n"
        "time.sleep(100)\n"
    )
    with pytest.raises(AssertionError, match="it failed"):
        sharded_launch.run_together(program, ["{number}", "fails"], tmp_path, seconds=60)
    assert not any(map(is_running, tmp_path.glob("*.pid")))
    with pytest.raises(AssertionError, match="took more than 2 seconds"):
        sharded_launch.run_together(program, ["{number}", "waits"], tmp_path, seconds=2)
    assert not any(map(is_running, tmp_path.glob("*.pid")))


def is_running(pid: Path) -> bool:
    try:
        os.kill(int(pid.read_text()), 0)
    except ProcessLookupError:
        return False
    return True
