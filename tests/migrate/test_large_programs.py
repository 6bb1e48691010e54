"""Programs of several files, as users wrote them: they do the same after each rewrite.

Each trains something small for a few steps, with what old programs have around an optimizer:
classes, registries, dataclasses, checkpoints of their own, and functions that take any tree.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import flaxoptim_compat
from flaxoptim_compat.cli import main
from flaxoptim_compat.observation.places import new_folder
from tests.migrate.program_results import errors, results
from tests.support.legacy_program_runs import CLOSED_LOOP
from tests.support.places import DATA
from tests.support.rewriting_folders import TARGETS, copied, rewrite, texts
from tests.support.written_programs import forget_programs

PROGRAMS = DATA / "large_programs"
# How many lines in each make an optimizer.
CREATED = {"agents": 1, "text_to_text": 1, "vision": 1}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """All programs after each rewrite; each was rewritten without the others."""
    folder = tmp_path_factory.mktemp("programs")
    found = {target: copied(PROGRAMS, folder / target) for target in TARGETS}
    for target, path in found.items():
        for program in CREATED:
            rewrite(path / program, target)
    return found


def test_the_table_names_all_programs() -> None:
    found = {path.name for path in PROGRAMS.iterdir() if path.name != "__pycache__"}
    assert found == CREATED.keys()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """A folder with all programs and what a run of them has shown, and what they returned."""
    folder = tmp_path_factory.mktemp("seen")
    copied(PROGRAMS, folder / "programs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        observed = new_folder()
    return folder, results(
        folder / "programs", folder / "unedited.npz", "--install", observed=observed
    )


# One of the settings with which each is run: {program: (module, what lists them, which one)}
ONE_OF_EACH = {
    "agents": ("agents.main", "", ""),
    "text_to_text": ("text_to_text.main", "CONFIGS", "split"),
    "vision": ("vision.train", "EXPERIMENTS", "ema"),
}


# As in processes of their own: what old programs call is deprecated today.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("folder_of_its_own")
@pytest.mark.parametrize("program", CREATED)
def test_from_the_text_alone_one_setting_ends_on_the_same_numbers(
    program: str, tmp_path: Path, folders: dict[str, Path]
) -> None:
    with flaxoptim_compat.installed(era=True):
        unedited = after_one_setting(program, copied(PROGRAMS, tmp_path / "unedited"))
    moved = after_one_setting(program, copied(folders["optax"], tmp_path / "moved"))
    assert_close(moved, unedited)


def after_one_setting(program: str, folder: Path) -> dict[str, Any]:
    """The arrays that a program in a folder returns, run in this process."""
    module, table, name = ONE_OF_EACH[program]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        main_module = importlib.import_module(module)
        if table:
            patch.setattr(main_module, table, {name: getattr(main_module, table)[name]})
        returned = main_module.run()
    forget_programs(folder)
    leaves = jax.tree_util.tree_leaves_with_path(returned)
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}


# Each run of them compiles for 15 to 20 seconds. Every run of the tests runs the small programs
# after either rewrite, and one of several files of which a run has shown its uses.
@pytest.mark.exhaustive
def test_unedited_they_end(seen: tuple[Path, dict[str, Any]]) -> None:
    _, unedited = seen
    assert [str(unedited[name]) for name in unedited if name.endswith("/error")] == []
    assert {name.partition("[")[0] for name in unedited} == CREATED.keys()


@pytest.mark.exhaustive
def test_with_the_shim_they_end_on_the_same_numbers(
    tmp_path: Path, folders: dict[str, Path], seen: tuple[Path, dict[str, Any]]
) -> None:
    assert errors(results(folders["shim"], tmp_path / "shim.npz"), seen[1]) == {}


@pytest.mark.exhaustive
def test_with_a_run_they_end_on_a_train_state_and_on_the_same_numbers(
    tmp_path: Path,
    seen: tuple[Path, dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder, unedited = seen
    monkeypatch.chdir(folder)
    capsys.readouterr()
    rewrite(folder / "programs", "optax")
    assert "3 of 3 optimizers become TrainStates, 0 stay." in capsys.readouterr().out
    assert_close(results(folder / "programs", tmp_path / "optax.npz"), unedited)


# What a run has shown becomes a TrainState in more places, and most of the text is the same.
@pytest.mark.exhaustive
def test_from_the_text_alone_they_end_on_the_same_numbers(
    tmp_path: Path, folders: dict[str, Path], seen: tuple[Path, dict[str, Any]]
) -> None:
    assert_close(results(folders["optax"], tmp_path / "optax.npz"), seen[1])


def assert_close(found: dict[str, Any], unedited: dict[str, Any]) -> None:
    different = errors(found, unedited)
    assert {name: ulps for name, ulps in different.items() if ulps > CLOSED_LOOP} == {}


@pytest.mark.parametrize("target", TARGETS)
def test_a_second_rewrite_changes_nothing(
    target: str, tmp_path: Path, folders: dict[str, Path]
) -> None:
    again = copied(folders[target], tmp_path / target)
    for program in CREATED:
        rewrite(again / program, target)
    assert texts(again) == texts(folders[target])


@pytest.mark.parametrize("program", CREATED)
def test_all_optimizers_are_counted_and_what_holds_each_that_stays_is_named(
    program: str, folders: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    original = copied(PROGRAMS / program, tmp_path / program)
    capsys.readouterr()
    main(["scan", str(original), "--format", "json"])
    optimizers = json.loads(capsys.readouterr().out)["plan"]["optimizers"]
    kinds = [optimizers[each] for each in ("becoming", "becoming_dual", "staying")]
    assert sum(kinds) == CREATED[program]
    # What the command says of itself is what the text says that it wrote.
    written = "".join(texts(folders["optax"] / program).values())
    ways = ("TrainState.create(", ".to_train_state(")
    assert sum(map(written.count, ways)) == optimizers["becoming"]
    assert bool(written.count("dual(optim.")) == bool(optimizers["becoming_dual"])
    assert len(optimizers["held"]) <= optimizers["becoming_dual"] + optimizers["staying"]
    assert all(unit["reason"] and unit["held_by"] for unit in optimizers["held"])
