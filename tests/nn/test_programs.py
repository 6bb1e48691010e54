"""Programs of the time before Linen, unedited: they end as with the genuine flax.nn."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.legacy_program_runs import (
    CLOSED_LOOP,
    OURS,
    Protocol,
    assert_equal_up_to,
    final_of,
    losses_until,
    run_killed_and_resumed,
)
from tests.support.options import each
from tests.support.places import DATA
from tests.support.processes import compat

PROGRAMS = DATA / "flax_nn_programs"
GENUINE = ("-m", "tests.data.flax_nn_programs.genuine")
PROTOCOL = Protocol(steps=20, killed_at=8)

# {program: the last loss is less than this part of the first, the errors that are allowed}
CASES = {
    "mnist_cnn": (0.5, 0.0),
    "resnet": (0.7, 0.0),
    "seq2seq_lstm": (0.95, 0.0),
    "transformer_lm": (0.9, CLOSED_LOOP),
    "video": (0.9, 0.0),
}


def test_all_programs_are_run() -> None:
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {*CASES, "genuine"}


# Each layer by itself, those with state too, has tests beside this, in one process; and every run
# kills a program with optimizers alone. This one has state.
OFTEN, KILLED = ["mnist_cnn"], "resnet"


@pytest.mark.parametrize("name", each(CASES, OFTEN))
@pytest.mark.usefixtures("genuine", "genuine_nn")  # skips where they cannot be had
def test_it_ends_as_with_the_genuine_modules(name: str, tmp_path: Path) -> None:
    fallen, ulps = CASES[name]
    copies = [tmp_path / "ours", tmp_path / "genuine"]
    for copy in copies:
        copy.mkdir()
        shutil.copy(PROGRAMS / f"{name}.py", copy)
        (copy / "work").mkdir()
    if name == KILLED:
        assert run_killed_and_resumed([f"{name}.py"], copies[0], PROTOCOL) < fallen
    else:
        losses = losses_until(None, [*OURS, f"{name}.py", *PROTOCOL.arguments], copies[0])
        assert losses[PROTOCOL.steps - 1] < fallen * losses[0]
    uninterrupted = losses_until(None, [*GENUINE, f"{name}.py", *PROTOCOL.arguments], copies[1])
    assert uninterrupted.keys() == set(range(PROTOCOL.steps))
    assert_equal_up_to(ulps, final_of(copies[0]), final_of(copies[1]))


# A program of each kind: a model, state, and parameters without a model. Every run of the tests
# moves the optimizers of other programs, and runs one of these as it is.
@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["mnist_cnn", "resnet", "video"])
def test_the_optimizers_move_and_the_modules_stay(name: str, tmp_path: Path) -> None:
    copies = [tmp_path / "before", tmp_path / "after"]
    for copy in copies:
        copy.mkdir()
        shutil.copy(PROGRAMS / f"{name}.py", copy)
        (copy / "work").mkdir()
    path = copies[1] / f"{name}.py"
    done = compat(["rewrite", "--to", "optax", "--write", path.name], copies[1])
    assert "1 of 1 optimizer becomes a TrainState, 0 stay." in done.stdout + done.stderr
    assert "from flaxoptim_compat import nn" in path.read_text()
    before = losses_until(None, [*OURS, f"{name}.py", *PROTOCOL.arguments], copies[0])
    after = losses_until(None, [f"{name}.py", *PROTOCOL.arguments], copies[1])
    assert before.keys() == after.keys()
    assert all(abs(after[step] - loss) < 1e-3 * before[0] for step, loss in before.items())
