"""Programs of several files, as users wrote them: they do the same after each rewrite.

Each trains something small for a few steps, with what old programs have around an optimizer:
classes, registries, dataclasses, checkpoints of their own, and functions that take any tree.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from flaxoptim_compat.observation.places import new_folder
from tests.support.legacy_program_runs import CLOSED_LOOP
from tests.support.optimizers_moved import Measured, measure
from tests.support.places import DATA, ROOT
from tests.support.program_results import errors, results
from tests.support.rewriting_folders import TARGETS, copied, rewrite, texts

PROGRAMS = DATA / "large_programs"
# How many lines in each make an optimizer.
CREATED = {"agents": 5, "gan": 2, "registry_trainer": 1, "text_to_text": 1, "vision": 1}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All programs after each rewrite; each was rewritten without the others."""
    folder = tmp_path_factory.mktemp("programs")
    found = {target: copied(PROGRAMS, folder / target) for target in TARGETS}
    for target, path in found.items():
        for program in CREATED:
            rewrite(path / program, target)
    return found


@pytest.fixture(scope="module")
def measured() -> dict[str, Measured]:
    """What the command does with each program."""
    # In front, so that it is the package beside these tests.
    environment = {"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    return {program: measure(PROGRAMS / program, environment=environment) for program in CREATED}


def test_the_table_names_all_programs() -> None:
    found = {path.name for path in PROGRAMS.iterdir() if path.name != "__pycache__"}
    assert found == CREATED.keys()


def test_they_end_on_the_same_numbers(tmp_path: Path, folders: dict[str, Path]) -> None:
    unedited = results(PROGRAMS, tmp_path / "unedited.npz", "--install")
    assert [str(unedited[name]) for name in unedited if name.endswith("/error")] == []
    assert {name.partition("[")[0] for name in unedited} == CREATED.keys()
    assert errors(results(folders["shim"], tmp_path / "shim.npz"), unedited) == {}
    different = errors(results(folders["optax"], tmp_path / "optax.npz"), unedited)
    assert {name: ulps for name, ulps in different.items() if ulps > CLOSED_LOOP} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_rewrite_changes_nothing(
    target: str, tmp_path: Path, folders: dict[str, Path]
) -> None:
    again = copied(folders[target], tmp_path / target)
    for program in CREATED:
        rewrite(again / program, target)
    assert texts(again) == texts(folders[target])


def test_all_optimizers_are_counted(measured: dict[str, Measured]) -> None:
    assert {name: each.failure for name, each in measured.items() if each.failure} == {}
    assert {name: each.created for name, each in measured.items()} == CREATED
    # What the command says of itself is what the text says that it wrote.
    assert {name: each.remaining for name, each in measured.items()} == {
        name: each.created - each.moved for name, each in measured.items()
    }


def test_with_a_run_they_end_on_a_train_state_and_on_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = copied(PROGRAMS, tmp_path / "programs")
    monkeypatch.chdir(tmp_path)
    before = results(programs, tmp_path / "before.npz", "--install", observed=new_folder())
    capsys.readouterr()
    rewrite(programs, "optax")
    (moved,) = re.findall(r"Of 1. optimizers (\d+) become", capsys.readouterr().out)
    assert int(moved) >= 9
    different = errors(results(programs, tmp_path / "after.npz"), before)
    assert {name: ulps for name, ulps in different.items() if ulps > CLOSED_LOOP} == {}


def test_for_each_optimizer_that_stays_one_line_is_named(measured: dict[str, Measured]) -> None:
    assert [left for each in measured.values() for left in each.unexplained] == []
