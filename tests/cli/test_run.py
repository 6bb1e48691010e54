"""``flaxoptim-compat run`` runs a program as python does, with the legacy names there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.cli import main
from tests.support.options import exhaustive
from tests.support.processes import compat, start
from tests.support.written_programs import write

STEP = """
import jax, flax
from flax import optim
optimizer = optim.Momentum(0.1).create({"w": jax.numpy.ones(2)})
optimizer = optimizer.apply_gradient(optimizer.target, learning_rate=0.5)
print(optimizer.target["w"])
"""
ABOUT = """
import sys, __main__
print(sys.argv, __name__, __file__, __spec__ and __spec__.name, __package__)
print(__main__.__dict__ is globals())
print(sys.path)
print(sys.flags)
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["about.py"],
        ["./about.py", "--quiet", "-m", "x y", "--", "-h"],
        ["inside/about.py", "run"],
        ["-m", "about", "-q", "--only-optim"],
        ["-m", "inside.about"],
        ["-m", "inside"],
        ["archive.zip", "1"],
    ],
    ids=" ".join,
)
def test_everything_is_as_with_python(arguments: Sequence[str], tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write(tmp_path, about=ABOUT)
    write(inside, about=ABOUT, __init__="", __main__=ABOUT)
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", ABOUT)
    flags = ["-W", "error::ImportWarning", "-X", "dev", "-B"]
    path = {"PYTHONPATH": os.pathsep.join([str(tmp_path / "elsewhere"), str(tmp_path)])}
    plain = start([*flags, *arguments], tmp_path, path)
    run = start([*flags, "-m", "flaxoptim_compat", "run", *arguments], tmp_path, path)
    assert plain.returncode == 0, plain.stderr
    assert (run.returncode, run.stdout) == (0, plain.stdout), run.stderr


@pytest.mark.parametrize(
    "program",
    [
        "raise SystemExit(3)",
        "import sys; sys.exit('in words')",
        "import os; os._exit(7)",
        "import atexit; atexit.register(print, 'the end'); print('hello')",
        "def f():\n    return 1 / 0\n\n\nf()",
        "1 +",
        "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
        "import os, signal; os.kill(os.getpid(), signal.SIGINT); import time; time.sleep(9)",
        "import sys; print(sys.stdin.read().upper())",
        "import pickle\nclass A: pass\nprint(pickle.dumps(A()))",
    ],
)
def test_the_end_is_as_with_python(program: str, tmp_path: Path) -> None:
    write(tmp_path, program=program)
    ends = []
    for launcher in ([], ["-m", "flaxoptim_compat", "run", "--quiet"]):
        done = subprocess.run(
            [sys.executable, *launcher, "program.py"],
            cwd=tmp_path,
            input="typed",
            capture_output=True,
            text=True,
            check=False,
        )
        ends.append((done.returncode, done.stdout, done.stderr))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [(["missing.py"], 2, "can't open file"), (["-m", "missing"], 1, "No module named missing")],
)
def test_where_there_is_no_program_only_python_says_so(
    program: Sequence[str], status: int, said: str, tmp_path: Path
) -> None:
    done = compat(["run", *program], tmp_path)
    assert done.returncode == status
    assert said in done.stderr and "flaxoptim-compat" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--quiet"], ["-m"], ["--only-optim", "-m"]])
def test_no_program(arguments: Sequence[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["run", *arguments])
    error = capsys.readouterr().err
    assert "the program is missing: name a script, or a module after -m." in error
    assert "usage: flaxoptim-compat run [-h] [--only-optim] [--observe] [--random then]" in error


def test_a_command_in_place_of_a_script(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable), prepend=os.pathsep)
    with pytest.raises(SystemExit, match="2"):
        main(["run", "python", "train.py"])
    said = "python is a command: name a script, or a module after -m, as for python."
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            "from flax import optim\noptim.Adam(0.1).create(1).frobnicate()\n",
            "AttributeError: 'Optimizer' object has no attribute 'frobnicate'",
        ),
        ("import flax\nflax.optimizers\n", "AttributeError: module 'flax' has no attribute 'opti"),
    ],
)
def test_the_traceback_begins_in_the_program(program: str, said: str, tmp_path: Path) -> None:
    write(tmp_path, program=program)
    done = compat(["run", "--quiet", "program.py"], tmp_path)
    lines = done.stderr[done.stderr.index("Traceback") :].splitlines()
    assert lines[1] == f'  File "{tmp_path}/program.py", line 2, in <module>'
    assert lines[-1].startswith(said)
    if "frobnicate" in program:
        assert sum(line.startswith("  File") for line in lines) == 1


def test_only_optim(tmp_path: Path) -> None:
    write(tmp_path, program="from flax import optim\nimport jax\njax.tree_multimap\n")
    done = compat(["run", "--only-optim", "program.py"], tmp_path)
    assert "AttributeError: module 'jax' has no attribute 'tree_multimap'" in done.stderr


@exhaustive
def test_child_processes_are_served_and_do_not_report(tmp_path: Path) -> None:
    program = """
import multiprocessing, subprocess, sys
from flax import optim

def work(number):
    import flax, jax
    return jax.tree_map(lambda x: x + number, flax.optim.OptimizerState(number, 0)).step

if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        print(pool.map(work, [1, 2]))
    subprocess.run([sys.executable, "-c", "from flax.optim import Adam; print(Adam)"], check=True)
"""
    write(tmp_path, program=program)
    done = compat(["run", "program.py"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[2, 4]"
    assert "Adam" in done.stdout.splitlines()[1]
    assert done.stderr.count("flaxoptim-compat:") == 1


@pytest.mark.parametrize(
    "flag",
    [["-W", "error"], pytest.param(["-W", "error::DeprecationWarning"], marks=exhaustive)],
    ids=" ".join,
)
def test_warnings_as_errors(flag: Sequence[str], tmp_path: Path) -> None:
    if hasattr(jax, "tree_map"):
        pytest.skip("jax has it still, and warns itself")
    # numpy warns of numpy.object before it says that there is none.
    more = "jax.tree_map(abs, [1])\nimport numpy\nassert numpy.object is object\n"
    write(tmp_path, train=STEP + more)
    done = start([*flag, "-m", "flaxoptim_compat", "run", "train.py"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "[0.5 0.5]\n"), done.stderr
    assert "train.py:4: FlaxOptimDeprecationWarning: " in done.stderr
    assert "train.py:7: FlaxOptimDeprecationWarning: jax.tree_map is gone" in done.stderr


def test_a_step_in_zip_imported_code(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "code.zip", "w") as archive:
        archive.writestr("zipped/__init__.py", "")
        archive.writestr("zipped/train.py", STEP)
    write(tmp_path, main="import sys\nsys.path.insert(0, 'code.zip')\nimport zipped.train\n")
    done = start(["-W", "always", "-m", "flaxoptim_compat", "run", "main.py"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "[0.5 0.5]\n"), done.stderr
    (line,) = [each for each in done.stderr.splitlines() if each.startswith("flaxoptim-compat:")]
    assert line == (
        "flaxoptim-compat: used flax.optim.Momentum (1x)."
        " To see where: flaxoptim-compat scan main.py"
    )
    # The line itself is shown too, which only the zip's own loader can read.
    assert f"code.zip{os.sep}zipped{os.sep}train.py:4: FlaxOptim" in done.stderr
    assert 'optimizer = optim.Momentum(0.1).create({"w": jax.numpy.ones(2)})' in done.stderr


def test_pytest(tmp_path: Path) -> None:
    write(
        tmp_path,
        conftest="import flax\nfrom flax import optim\n",
        test_old=f"def test_step():\n    {STEP.strip().replace(chr(10), chr(10) + '    ')}\n",
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    done = compat(["run", "-m", "pytest", "-q", "-p", "no:cacheprovider"], tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_the_sitecustomize_of_the_environment_still_runs(tmp_path: Path) -> None:
    program = "import sitecustomize; print(sitecustomize.marker)"
    write(tmp_path, sitecustomize="marker = 1", program=program)
    done = compat(["run", "--quiet", "program.py"], tmp_path, {"PYTHONPATH": str(tmp_path)})
    assert done.stdout == "1\n", done.stderr


def test_a_flax_optim_that_is_there(tmp_path: Path) -> None:
    package = tmp_path / "flax" / "optim"
    package.mkdir(parents=True)
    write(package.parent, __init__="")
    write(package, __init__="")
    write(tmp_path, program="")
    done = compat(["run", "program.py"], tmp_path, {"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 2
    said = " ".join(done.stderr.split())
    assert f"this Python has a flax.optim of its own, {package / '__init__.py'}." in said


@pytest.mark.parametrize("flag", ["-E", "-I", "-S"])
def test_flags_that_keep_it_from_working(flag: str, tmp_path: Path) -> None:
    root = Path(flaxoptim_compat.__file__).parents[1]
    code = (
        f"import sys; sys.path.append({str(root)!r}); from flaxoptim_compat.cli import main;"
        " sys.exit(main(['run', 'x.py']))"
    )
    done = start([flag, "-c", code], tmp_path)
    assert done.returncode == 2
    assert "Start flaxoptim-compat without them." in done.stderr


def test_an_interrupt_reaches_the_program_itself(tmp_path: Path) -> None:
    write(tmp_path, program="import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    command = [sys.executable, "-m", "flaxoptim_compat", "run", "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            assert int(process.stdout.readline()) == process.pid
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=20) == -signal.SIGTERM
        finally:
            process.kill()
