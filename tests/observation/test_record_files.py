"""The file that record.py writes of a program, alone and copied, and what is read from it."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.observation import record, record_files
from flaxoptim_compat.observation.records import ObservedState
from flaxoptim_compat.parity.errors import ParityError
from tests.support.oracle.cache import clean_environment

PROGRAM = """\
import multiprocessing, os, signal, subprocess, sys
import jax, jax.numpy as jnp, optax
from flax.training.train_state import TrainState

def train(steps):
    params = {"w": jnp.ones((20, 30)), "b": jnp.arange(3, dtype=jnp.bfloat16)}
    state = TrainState.create(apply_fn=None, params=params, tx=optax.adam(0.1))
    for _ in range(steps):
        state = jax.jit(lambda state: state.apply_gradients(grads=state.params))(state)

"""
ENDINGS = {
    "train(2)": 0,
    "train(2); sys.exit(3)": 3,
    "train(2); raise ValueError": 1,
    "train(2); os._exit(4)": 4,
    "train(2); os.kill(os.getpid(), signal.SIGKILL)": 137,
    "if __name__ == '__main__': subprocess.run([sys.executable, '-c', 'import t; t.train(2)'])": 0,
    "if __name__ == '__main__':\n"
    "    child = multiprocessing.get_context('spawn').Process(target=train, args=(2,))\n"
    "    child.start(); child.join()": 0,
}


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of record.py, without this package, in the current folder."""
    shutil.copy(record.__file__, "record.py")
    return subprocess.run(
        [sys.executable, "record.py", *arguments],
        capture_output=True,
        text=True,
        env=clean_environment(JAX_PLATFORMS="cpu"),
        check=False,
    )


def states_of(path: str) -> list[ObservedState]:
    found = record_files.read(Path(path))
    assert not found.trouble and found.versions["flax"]
    return [state for states in found.states.values() for state in states]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_however_a_program_ends_its_states_are_there(ending: str) -> None:
    Path("t.py").write_text(PROGRAM + ending)
    done = run("then.npz", "t.py")
    assert (done.returncode, [state.step for state in states_of("then.npz")]) == (
        ENDINGS[ending],
        [(0,), (1,), (2,)],
    )
    assert "3 states of 1 optimizer are in " in done.stderr
    assert sorted(path.name for path in Path().iterdir() if path.is_file()) == [
        *("record.py", "t.py", "then.npz")
    ]


def test_numpy_reads_the_file_and_words_of_python_are_words_of_python() -> None:
    Path("t.py").write_text(PROGRAM + "print(sys.argv[1:], __name__); train(1)")
    done = run("then.npz", "-m", "t", "--more", "x")
    assert done.stdout == "['--more', 'x'] __main__\n"
    with np.load("then.npz") as arrays:
        assert arrays["0/step"].tolist() == [0, 1]
        assert arrays["0/params/b"].dtype == np.float32 and arrays["0/params/b"].shape == (2, 3)
        assert arrays["0/sketches/params/w"].shape == (2, record.NUMBERS)
        assert arrays["0/moments/0/mu/b"].shape == (2, 3)
        about = json.loads(arrays["about"].tobytes())
    assert about["processes"][0][0] == {"program": "t"}
    first = states_of("then.npz")[0]
    assert [leaf.dtype for leaf in first.leaves] == ["bfloat16", "float32"]
    assert first.moments[0][0].path == "0/mu/b" and Path(first.place.file).name == "t.py"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["there", "t.py"], "there exists already"),
        (["nowhere/then.npz", "t.py"], "There is no folder"),
        (["then.npz", "t.py"], "No state of an optimizer was seen"),
        (["then.npz"], "python record.py THEN.npz train.py"),
    ],
)
def test_what_is_not_recorded_is_said(arguments: list[str], said: str) -> None:
    Path("there").touch()
    Path("t.py").write_text("print(1)")
    done = run(*arguments)
    assert done.returncode in (1, 2) and said in done.stderr + done.stdout
    assert not Path("then.npz").exists()


def changed(**changes: Any) -> Path:
    """A file with other members; None takes one away."""
    if not Path("then.npz").exists():
        Path("t.py").write_text(PROGRAM + "train(1)")
        run("then.npz", "t.py")
    with np.load("then.npz") as arrays:
        members = dict(arrays) | changes
    np.savez("changed.npz", **{name: each for name, each in members.items() if each is not None})
    return Path("changed.npz")


def test_files_that_are_damaged_or_hostile(tmp_path: Path) -> None:
    path = changed()
    about = json.loads(np.load(path)["about"].tobytes())

    def with_about(**changes: Any) -> Any:
        return np.frombuffer(json.dumps(about | changes).encode(), np.uint8)

    table = about["tables"][0]
    for changes, said in (
        ({"about": None}, "no record"),
        ({"about": np.frombuffer(b"{", np.uint8)}, "damaged"),
        ({"about": with_about(what="x")}, "no record"),
        ({"about": with_about(format=2)}, "another release"),
        ({"about": with_about(processes=[[{"state": 0}]])}, "damaged"),
        ({"about": with_about(processes=3)}, "damaged"),
        ({"about": with_about(tables=[{**table, "dtypes": ["O", "O"]}])}, "damaged"),
        ({"about": with_about(tables=[{**table, "shapes": [[-1], [10**30]]}])}, "damaged"),
        ({"about": with_about(tables=[])}, "damaged"),
        ({"0/params/b": None}, "damaged"),
        ({"0/params/b": np.zeros((1, 3))}, "damaged"),
        ({"0/params/b": np.array([object()])}, "pickled"),
    ):
        with pytest.raises(ParityError, match=said):
            record_files.read(changed(**changes))
    content = Path("then.npz").read_bytes()
    for size in (0, 100, len(content) // 2, len(content) - 30):
        path.write_bytes(content[:size])
        with pytest.raises(ParityError):
            record_files.read(path)
    with pytest.raises(ParityError, match="There is no file"):
        record_files.read(tmp_path / "nowhere")


def test_a_file_promises_no_more_than_it_has() -> None:
    header = io.BytesIO()
    about = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40,)}
    np.lib.format.write_array_header_1_0(header, about)
    with zipfile.ZipFile("large.npz", "w") as archive:
        archive.writestr("about.npy", header.getvalue())
    with pytest.raises(ParityError, match="cannot be an array"):
        record_files.read(Path("large.npz"))
