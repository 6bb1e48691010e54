"""Old programs, rewritten by the command: they run as they are, and end on the same parameters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.migrate.unmarked import without_marks
from tests.support.legacy_program_runs import (
    CASES,
    OURS,
    PROGRAMS,
    assert_equal_up_to,
    final_of,
    losses_until,
)
from tests.support.places import ROOT
from tests.support.rewriting_folders import TARGETS, copied, rewrite, texts

STEPS, SAVE_EVERY, KILLED_AT = 12, 3, 4
PROTOCOL = ("--steps", str(STEPS), "--save_every", str(SAVE_EVERY))

# The optimizers of these stay those of flax.optim, because the program reads single entries of
# their state dicts. All others become TrainStates.
STAY = {"seq2seq"}
# Attention does not see what is added to all keys: this gradient is zero, but for rounding.
NOTHING_BUT_ROUNDING = "/key/bias"
# What rewritten programs still take from flaxoptim_compat: classes of their own, or looked up by
# name, the state of single parameters, and transformations that optax does not have.
STILL_OURS = {
    "shim": {path.name for path in PROGRAMS.rglob("*.py")}
    - {"__init__.py", "genuine.py", "rendering.py"},
    "optax": {
        "adafactor.py",
        "detr.py",
        "l2p.py",
        "train.py",
    },
}

# Python runs it at its start, and at the end of every program it writes what was imported.
LISTS_MODULES = """\
import atexit, sys

def list_modules():
    assert "optim" not in vars(sys.modules["flax"])
    names = [name for name in sys.modules if name.startswith(("flax.optim", "jax.config"))]
    with open("modules.txt", "w") as file:
        print("listed", *names, file=file)

atexit.register(list_modules)
"""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All programs after each rewrite."""
    folder = tmp_path_factory.mktemp("programs")
    found = {target: copied(PROGRAMS, folder / target) for target in TARGETS}
    for target, path in found.items():
        rewrite(path, target)
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CASES)
def test_it_runs_by_itself_and_ends_on_the_same_parameters(
    name: str, tmp_path: Path, folders: dict[str, Path]
) -> None:
    program = CASES[name]
    command = [*program.command.split(), "--workdir", "work", *PROTOCOL]
    unedited = copied(PROGRAMS, tmp_path / "unedited")
    losses = losses_until(None, [*OURS, *command], unedited)
    assert losses.keys() == set(range(STEPS))
    expected = final_of(unedited)

    shim = copied(folders["shim"], tmp_path / "shim")
    assert run_alone(command, shim) == losses
    assert_equal_up_to(0.0, final_of(shim), expected)

    optax = copied(folders["optax"], tmp_path / "optax")
    before = losses_until(KILLED_AT, command, optax)
    assert not list(optax.glob("work/final.*"))
    after = run_alone(command, optax)
    assert 0 < min(after) <= max(before) + 1
    assert {**before, **after} == pytest.approx(losses, abs=1e-4)
    ended = final_of(optax)
    if name not in STAY:
        expected = as_train_states(expected)
        assert [each for each in {*ended} - {*expected} if "opt_state/" not in each] == []
    compared = [key for key in expected if not key.endswith(NOTHING_BUT_ROUNDING)]
    assert_equal_up_to(
        program.ulps,
        {key: ended[key] for key in compared},
        {key: expected[key] for key in compared},
    )


def run_alone(command: list[str], folder: Path) -> dict[int, float]:
    """The losses of a program that is run to its end, with flax.optim nowhere."""
    (folder / "customized").mkdir()
    (folder / "customized" / "sitecustomize.py").write_text(LISTS_MODULES)
    path = f"{folder / 'customized'}:{ROOT}"
    losses = losses_until(None, command, folder, {"PYTHONPATH": path})
    assert (folder / "modules.txt").read_text() == "listed\n"
    return losses


def as_train_states(ended: Mapping[str, Any]) -> dict[str, Any]:
    """What a program left, by the names that it has when its optimizers are TrainStates."""
    found = {}
    for name, value in ended.items():
        if "state/param_states" not in name:
            name = re.sub(r"(^|/)target/", r"\1params/", name)
            found[re.sub(r"(^|/)state/step$", r"\1step", name)] = value
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_flax_optim_is_nowhere_in_their_text(target: str, folders: dict[str, Path]) -> None:
    rewritten = texts(folders[target])
    for path, text in rewritten.items():
        assert not re.search(r"flax\.optim|from flax import .*\boptim\b", text), path
    ours = {Path(path).name for path, text in rewritten.items() if "flaxoptim_compat" in text}
    assert ours == STILL_OURS[target]


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_rewrite_changes_nothing(
    target: str, tmp_path: Path, folders: dict[str, Path]
) -> None:
    again = copied(folders[target], tmp_path / target)
    rewrite(again, target)
    assert texts(again) == texts(folders[target])


def test_after_shim_optax_finds_all_that_it_finds_without(
    tmp_path: Path, folders: dict[str, Path]
) -> None:
    step_by_step = copied(folders["shim"], tmp_path / "both")
    rewrite(step_by_step, "optax")
    directly = texts(folders["optax"])
    for path, text in texts(step_by_step).items():
        assert code_of(text) == code_of(directly[path]), path


def code_of(text: str) -> list[str]:
    """A program without its imports and marks, which stand in another order or on other lines."""
    return [
        line
        for line in without_marks(text).splitlines()
        if line.strip() and not line.startswith(("from ", "import "))
    ]
