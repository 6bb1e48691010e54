"""What importing the package, its command line and its hook cost, in new processes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.benchmarks.measurement import Bar, Effort, Measurement
from tests.benchmarks.subjects import BY_HAND, OURS
from tests.benchmarks.timing import interleaved
from tests.support.places import ROOT

MODERN = "import jax, flax, optax"
TRAIN_STATE = f"{MODERN}; from flax.training.train_state import TrainState"
STATEMENTS = {
    "import flaxoptim_compat": MODERN,
    "from flaxoptim_compat import optim": TRAIN_STATE,
}
NOT_SLOWER = (Bar(OURS, BY_HAND, 1.05),)

PROGRAMS = Path("tests", "data", "legacy_programs")
COMMANDS = {
    "flaxoptim-compat --help": ["--help"],
    "flaxoptim-compat scan, a training script": ["scan", str(PROGRAMS / "mnist_cnn.py")],
    "flaxoptim-compat scan, a folder of 13 programs": ["scan", str(PROGRAMS)],
}
SOON = (Bar(OURS, "", 0.150),)

NOT_ENABLED, ENABLED, HOOK = "not enabled", "enabled", "the hook"
HARDLY_ANYTHING = (Bar(HOOK, "", 0.005),)


def measure(effort: Effort) -> Iterator[Measurement]:
    """New processes in turn; the two commands that look at one file or none have a bar."""
    with tempfile.TemporaryDirectory() as folder:
        for statement, by_hand in STATEMENTS.items():
            effort.report(statement)
            programs = {OURS: ["-c", statement], BY_HAND: ["-c", by_hand]}
            samples = interleaved(_processes(programs, folder), effort.rounds(15))
            yield Measurement("import", statement, "s", samples, NOT_SLOWER)
        for label, arguments in COMMANDS.items():
            effort.report(label)
            programs = {OURS: ["-m", "flaxoptim_compat", *arguments]}
            samples = interleaved(_processes(programs, folder), effort.rounds(25))
            bars = () if arguments[-1] == str(PROGRAMS) else SOON
            yield Measurement("import", label, "s", samples, bars)
        effort.report("the hook of flaxoptim-compat enable")
        yield _hook(effort, Path(folder))


def _hook(effort: Effort, folder: Path) -> Measurement:
    pythons = {label: _environment(folder / label) for label in (NOT_ENABLED, ENABLED)}
    _process(["-m", "flaxoptim_compat", "enable"], str(folder), pythons[ENABLED])()
    functions = {
        label: _process(["-c", "pass"], str(folder), python) for label, python in pythons.items()
    }
    samples = interleaved(functions, effort.rounds(100))
    pairs = zip(samples[ENABLED], samples[NOT_ENABLED], strict=True)
    samples[HOOK] = [enabled - without for enabled, without in pairs]
    setting = "start of a Python that imports nothing"
    return Measurement("import", setting, "s", samples, HARDLY_ANYTHING)


def _environment(folder: Path) -> Path:
    """The Python of a new virtual environment that has this package."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    # Python reads these files by name, and the one of enable comes later.
    (packages / "a_package.pth").write_text(f"{ROOT}\n")
    return folder / "bin" / "python"


def _processes(programs: Mapping[str, list[str]], folder: str) -> dict[str, Callable[[], None]]:
    return {label: _process(arguments, folder) for label, arguments in programs.items()}


def _process(
    arguments: list[str], folder: str, python: Path = Path(sys.executable)
) -> Callable[[], None]:
    """Runs Python to its end; it has run once, so that its bytecode is there."""
    # As pip leaves an installed package, whatever the settings of this process.
    environment = {**os.environ, "PYTHONPYCACHEPREFIX": str(Path(folder, "bytecode"))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)

    def run() -> None:
        done = subprocess.run(
            [python, *arguments], cwd=ROOT, env=environment, capture_output=True, check=False
        )
        # 1: scan has found something.
        if done.returncode not in (0, 1) or done.stderr:
            raise RuntimeError(f"{arguments} failed: {done.stderr.decode()}")

    run()
    return run
