"""``rewrite --to optax`` of programs of which a run has shown where they use their optimizers."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from tests.support.places import DATA
from tests.support.processes import output_of
from tests.support.rewriting_folders import Rewrite
from tests.support.written_programs import write

PROGRAM = DATA / "observed_programs" / "agents"
FILES = ("agent.py", "array_of_one.py", "chosen.py", "plugins.py", "tools.py", "unreached.py")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, and what one run of it has shown."""
    folder = tmp_path_factory.mktemp("seen") / "agents"
    shutil.copytree(PROGRAM, folder)
    output_of(["-m", "flaxoptim_compat", "run", "--observe", "main.py"], folder)
    return folder


@pytest.fixture
def program(seen: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(seen)
    return seen


def checked(capsys: pytest.CaptureFixture[str], *paths: str) -> str:
    """What ``rewrite --check`` says of these files."""
    assert main(["rewrite", *paths, "--to", "optax", "--check"]) in (0, 1)
    return capsys.readouterr().out


def test_the_text_alone_makes_none_a_plain_train_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PROGRAM, tmp_path / "agents")
    monkeypatch.chdir(tmp_path)
    assert "5 of 5 optimizers move: 0 to TrainState, 5 to DualTrainState." in checked(
        capsys, "agents"
    )


def test_the_run_moves_all(program: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = checked(capsys, ".")
    assert "5 of 5 optimizers become TrainStates, 0 stay." in said
    assert "12 places seen in the run, 3 inferred, 1 not understood." in said
    # The same field of the same class, in a method that was not called.
    assert "agent.py:34: the run did not come here: inferred" in said
    # A field of that name of something else.
    assert "agent.py:37:16: not understood: the run did not come here" in said
    assert "unreached.py:5: the run did not come here: rewritten from the text alone" in said
    # The other definition, and a function that may be given an optimizer of either.
    for line in (8, 13):
        assert f"chosen.py:{line}: the run did not come here: inferred" in said
    # Its parameters are such as a TrainState does not take.
    assert "array_of_one.py:6:17: FOC201 left" in said


def test_a_file_that_was_not_given_is_named(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = checked(capsys, "agent.py", "plugins.py")
    # Where the optimizer is made, there is no other line to look at.
    said = " ".join(said.split())
    reason = "`tools.py:2` uses this optimizer too: give rewrite that file as well."
    assert "agent.py:23: makes " in said and said.count(reason) == 1
    assert "2 of 2 optimizers move: 0 to TrainState, 2 to DualTrainState." in said


def test_a_file_that_has_changed_since_is_not_believed(
    program: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = program / "tools.py"
    before = path.read_bytes()
    path.write_bytes(before + b"# changed\n")
    try:
        said = checked(capsys, *FILES)
    finally:
        path.write_bytes(before)
    assert "`tools.py` has changed since the run: run the program again." in said


def test_of_two_runs_the_one_of_the_text_of_today_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(PROGRAM, tmp_path / "agents")
    monkeypatch.chdir(tmp_path / "agents")
    for _ in range(2):
        output_of(["-m", "flaxoptim_compat", "run", "--observe", "main.py"], tmp_path / "agents")
        before = checked(capsys, ".")
        # All that stands below is elsewhere then, for the second run as well.
        Path("agent.py").write_text(f"import os\n{Path('agent.py').read_text()}")
    assert "`agent.py` has changed since the run" not in before
    assert "12 places seen in the run, 3 inferred, 1 not understood." in before


SHARED = """
def given(optimizer, params=None):
    if params is not None:
        optimizer = optimizer.replace(target=params)
    return optimizer
"""
TRAIN = """
import shared
from flax import optim
from jax import numpy as jnp

optimizer = shared.given(optim.Adam(0.1).create({"w": jnp.ones(3)}))
optimizer = optimizer.apply_gradient(optimizer.target)
"""


def test_where_one_goes_that_the_run_did_not_reach_all_stay_that_may_go_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = f"import unknown{TRAIN}unknown.keep(optimizer)\n"
    write(tmp_path, shared=SHARED, train=TRAIN, other=other)
    monkeypatch.chdir(tmp_path)
    output_of(["-m", "flaxoptim_compat", "run", "--observe", "train.py"], tmp_path)
    said = checked(capsys, ".")
    # `replace` stands there for both, and neither is given parameters there in this run.
    assert "2 of 2 optimizers move: 0 to TrainState, 2 to DualTrainState." in said
    assert "No run has shown it: add a --verify COMMAND that comes here." in " ".join(said.split())
    Path("other.py").unlink()
    assert "1 of 1 optimizer becomes a TrainState" in checked(capsys, ".")


CLASSES = """
import sys
from flax import optim
from jax import numpy as jnp


def made(cls):
    return cls(0.1).create({"w": jnp.ones(3)})


several = {"adam": optim.Adam, "lamb": optim.LAMB}
made(optim.Adam)
optimizer = several[sys.argv[1]](0.1).create({"w": jnp.ones(3)})
optimizer = optimizer.apply_gradient(optimizer.target)
"""


def test_no_run_can_show_that_another_class_will_not_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, classes=CLASSES)
    monkeypatch.chdir(tmp_path)
    output_of(["-m", "flaxoptim_compat", "run", "--observe", "classes.py", "adam"], tmp_path)
    said = " ".join(checked(capsys, ".").split())
    assert "The class comes from an argument, so that other calls may give another class." in said
    assert "The program chooses the class when it runs, Adam or LAMB:" in said
    assert "--verify" not in said.partition("would be changed")[0]


COPIES = """
import jax
from flax import optim, serialization
from jax import numpy as jnp

optimizer = optim.Momentum(0.1).create({"w": jnp.ones(3)})
optimizer = serialization.from_bytes(optimizer, serialization.to_bytes(optimizer))
start = int(optimizer.state.step)
optimizer = optimizer.replicate()
optimizer = jax.pmap(lambda each: each.apply_gradient(each.target), axis_name="batch")(optimizer)
saved = serialization.to_bytes(optimizer.unreplicate())
"""


def test_of_one_variable_the_text_says_which_assignment_gives_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path, train=COPIES)
    monkeypatch.chdir(tmp_path)
    assert "1 of 1 optimizer becomes a TrainState" in checked(capsys, "train.py")
    output_of(["-m", "flaxoptim_compat", "run", "--observe", "train.py"], tmp_path)
    # Copies are stored otherwise than a TrainState, and these are none.
    assert "1 of 1 optimizer becomes a TrainState" in checked(capsys, "train.py")


PARTS = """
from flax import optim
from jax import numpy as jnp

part = optim.Adam(0.1)
kernels = optim.ModelParamTraversal(lambda path, _: "kernel" in path)
optimizer = optim.MultiOptimizer((kernels, part)).create({"kernel": jnp.ones(3)})
optimizer = optimizer.apply_gradient(optimizer.target)
"""


def test_parts_with_names_are_rewritten_with_the_whole(rewrite: Rewrite) -> None:
    write(Path(), train=PARTS)
    output_of(["-m", "flaxoptim_compat", "run", "--observe", "train.py"], Path())
    assert "+part = optax.adam(0.1)" in rewrite(to="optax").output


@pytest.mark.parametrize(
    "reached",
    [["train.py"], pytest.param(["train.py", "evaluate.py"], marks=pytest.mark.exhaustive)],
)
def test_who_restores_a_checkpoint_has_the_form_of_who_saves_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reached: list[str],
) -> None:
    shutil.copytree(DATA / "observed_programs" / "resumed", tmp_path / "resumed")
    monkeypatch.chdir(tmp_path / "resumed")
    for each in reached:
        command = ["-m", "flaxoptim_compat", "run", "--observe", each, "saved"]
        output_of(command, tmp_path / "resumed")
    assert main(["rewrite", ".", "--to", "optax", "--write"]) == 0
    assert "2 of 2 optimizers become TrainStates, 0 stay." in capsys.readouterr().out
    # The learning rate is set by the steps of the one, and so it is in the state of the other.
    for name in ("train.py", "evaluate.py"):
        assert "optax.inject_hyperparams(" in Path(name).read_text()


def test_it_does_the_same_after_the_rewrite(rewrite: Rewrite) -> None:
    shutil.copytree(PROGRAM, Path(), dirs_exist_ok=True)
    done = rewrite("--write", "--verify", f"{sys.executable} main.py", to="optax")
    assert done.status == 0, done.output + done.errors
    assert "4 of 5 moved optimizers, 10 of 10 steps: the same bits before and after." in done.output
    assert "Moved from the text alone, since no command reached them: " in done.output
    # What the command did not choose works as well.
    other = "import chosen, jax; p = {'w': jax.numpy.ones(3)}; chosen.run(p, '', print, p)"
    assert output_of(["-c", other], Path()) == "loss 0.5\n"
