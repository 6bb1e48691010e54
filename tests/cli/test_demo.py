"""``flaxoptim-compat demo``: an old program all the way, and what stands in its way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from PIL import Image

from flaxoptim_compat.cli import demo, main
from tests.support import compiling
from tests.support.pages import blocks
from tests.support.places import GUIDE
from tests.support.processes import compat

pytestmark = pytest.mark.usefixtures("folder_of_its_own")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What the demo prints where the environment is not activated, and where it was started."""
    folder = tmp_path_factory.mktemp("demo")
    environment = {**compiling.variables(devices=1), "PATH": os.defpath, "PYTHONUNBUFFERED": "1"}
    process = compat(["demo"], folder, environment)
    assert process.returncode == 0, process.stdout + process.stderr
    assert process.stderr == ""
    return process.stdout, folder


def test_both_runs_end_on_the_same_bits(done: tuple[str, Path]) -> None:
    output, folder = done
    assert "are equal, bit for bit.\n" in output and "NOT" not in output
    old, new = (
        np.load(folder / f"flaxoptim_demo/{name}/losses.npy") for name in ("old_run", "new_run")
    )
    assert old.shape == (400,) and old[200:].tobytes() == new.tobytes()
    assert old[-50:].mean() < 0.15 * old[0]


def test_the_demo_leaves_its_folder(done: tuple[str, Path]) -> None:
    _, folder = done
    (made,) = folder.iterdir()
    old, new = (made / "train_2021.py").read_bytes(), (made / "train.py").read_text()
    assert old == demo.PROGRAM.read_bytes()
    assert "import optax" in new and "optim.Adam" not in new and "flaxoptim_compat" not in new
    for run in ("old_run", "new_run"):
        files = {file.name for file in (made / run).iterdir()}
        assert files == {"checkpoint_200", "losses.npy", "params.msgpack"}
    with Image.open(made / "losses.png") as picture:
        assert min(picture.size) > 500


def test_each_step_is_in_sight(done: tuple[str, Path]) -> None:
    output, _ = done
    assert f"`python` stands for {sys.executable} here" in output
    expected = iter(
        [
            "$ python train.py\nTraceback ",
            "ImportError: cannot import name 'optim' from 'flax'",
            "$ flaxoptim-compat run train.py",
            "starts at step 0\n",
            "step 400, loss 0.",
            "flaxoptim-compat: used flax.optim.Adam (1x)",
            "\n-    optimizer = optim.Adam(",
            "--write\ntrain.py: changed",
            " step 200, now a TrainState.\nWrote new_run/checkpoint_200",
            "$ python train.py --workdir new_run\nstarts at step 200\n",
            "losses of steps 201 to 400 are equal",
            "parameters after step 400 are equal",
            "For your own program:",
        ]
    )
    rest = output
    for each in expected:
        _, found, rest = rest.partition(each)
        assert found, each
    assert "Warning: " not in output


def test_the_guide_and_the_notebook_go_the_same_way(done: tuple[str, Path]) -> None:
    output, _ = done
    shown = [line[2:] for line in output.splitlines() if line.startswith("$ ")]
    page = (GUIDE / "README.md").read_text()
    (commands,) = (block for block in blocks(page, "sh") if "cd flaxoptim_demo" in block)
    assert commands.splitlines() == shown

    cells = nbformat.read(GUIDE / "notebooks" / "from_flax_optim_to_optax.ipynb", 4).cells
    (program,) = (cell.source for cell in cells if cell.source.startswith("%%writefile"))
    assert program == f"%%writefile train.py\n{demo.PROGRAM.read_text()}".rstrip("\n")
    lines = [line for cell in cells for line in cell.source.splitlines() if line.startswith("!")]
    compat, python = "{sys.executable} -m flaxoptim_compat", "{sys.executable}"
    typed = [line.replace(compat, "flaxoptim-compat").replace(python, "python") for line in lines]
    assert [line[1:] for line in typed] == shown[1:]


def test_what_is_there_stays_and_what_cannot_be_written_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path("flaxoptim_demo")

    def mkdir(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    folder.write_text("mine")
    assert main(["demo"]) == 2
    assert "The folder flaxoptim_demo cannot be written: Not a" in capsys.readouterr().err
    folder.unlink()
    folder.mkdir()
    (folder / "train.py").write_text("mine")
    assert main(["demo"]) == 2
    assert capsys.readouterr().err == (
        "flaxoptim-compat: The folder flaxoptim_demo is not empty: remove it, or start in another"
        " folder.\n"
    )
    (folder / "train.py").rename("train.py")
    monkeypatch.setattr(Path, "mkdir", mkdir)
    assert main(["demo"]) == 2
    assert "The folder flaxoptim_demo cannot be written: Permission" in capsys.readouterr().err
    assert sorted(path.name for path in Path().rglob("*")) == ["flaxoptim_demo", "train.py"]


def test_a_command_that_ends_otherwise_ends_the_demo(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path("program.txt").resolve()
    program.write_text("import sys; print('serves itself'); print('why', file=sys.stderr)")
    monkeypatch.setattr(demo, "PROGRAM", program)
    assert main(["demo"]) == 1
    output, errors = capfd.readouterr()
    assert output.endswith("$ python train.py\nserves itself\nwhy\n\n")
    assert "ended with exit status 0 instead of 1. Run" in errors


def test_other_bits_are_seen_and_without_matplotlib_nothing_is_drawn(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    for name, losses in (("old_run", [3.0, 2.0, 1.0]), ("new_run", [2.0, 1.0000001])):
        run = Path("flaxoptim_demo", name)
        run.mkdir(parents=True)
        np.save(run / "losses.npy", np.asarray(losses, np.float32))
        (run / "params.msgpack").write_bytes(b"same")
    assert not demo.compare()
    assert capsys.readouterr().out == (
        "The losses of steps 2 to 3 are NOT equal, bit for bit.\n"
        "The parameters after step 3 are equal, bit for bit.\n"
        "After pip install matplotlib, the demo draws both curves too.\n"
    )
    Path("flaxoptim_demo").rename("before")
    monkeypatch.setattr(demo, "_run_all", lambda: False)
    assert main(["demo"]) == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no groups of processes to ask for")
def test_stopped_it_leaves_no_process_behind(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", "demo"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    while "starts at step 0" not in process.stdout.readline():
        assert process.poll() is None
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == (
        "flaxoptim-compat: stopped. Remove the folder flaxoptim_demo before you start again."
    )
    # What was killed is gone once the system has taken note of it.
    end = time.monotonic() + 30
    with contextlib.suppress(ProcessLookupError):
        while os.killpg(process.pid, 0) is None:
            assert time.monotonic() < end
            time.sleep(0.05)
