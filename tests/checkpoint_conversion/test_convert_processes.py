"""``checkpoint convert`` in processes of its own: its memory, killing it, and flax without what it
deprecates.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from flax import serialization

from tests.support.options import each
from tests.support.places import ROOT
from tests.support.processes import output_of

LARGEST = 8_000_000
ARRAYS = 4
MEASURED = r"""
import re, sys
from flaxoptim_compat.cli import main
assert main(sys.argv[1:]) == 0
# Not getrusage: its peak is at least that of the process which started this one.
print(re.search(r"VmHWM:\s+(\d+) kB", open("/proc/self/status").read())[1])
"""


def write(path: Path, size: int) -> None:
    """A checkpoint of Adam with parameters of this many bytes each."""
    values = np.random.default_rng(0).integers(0, 255, size, np.uint8).view(np.float32)
    params = {f"layer_{number}": np.roll(values, number) for number in range(ARRAYS)}
    states = {name: {"grad_ema": -leaf, "grad_sq_ema": leaf} for name, leaf in params.items()}
    state = {"step": np.asarray(5, np.int32), "param_states": states}
    path.write_bytes(
        serialization.msgpack_serialize({"target": params, "state": state}, in_place=True)
    )


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "legacy.msgpack"
    write(path, LARGEST)
    return path


def command(source: Path, destination: Path) -> list[str]:
    arguments = ["checkpoint", "convert", str(source), str(destination)]
    return [*arguments, "--to", "train-state", "--optimizer", "Adam"]


def peak(source: Path, directory: Path) -> int:
    """The most memory that converting a file took, in bytes."""
    destination = directory / f"{source.name}.new"
    output = output_of(
        ["-c", MEASURED, *command(source, destination)], directory, {"PYTHONPATH": str(ROOT)}
    )
    return int(output.splitlines()[-1]) * 1024


def test_it_takes_the_memory_of_one_array(large: Path, tmp_path: Path) -> None:
    small = tmp_path / "small"
    write(small, 400)
    assert large.stat().st_size > 11 * LARGEST
    # jax and flax alone are 200 MB; what is on top must not grow with the file.
    assert peak(large, tmp_path) - peak(small, tmp_path) < 1.5 * LARGEST + 6_000_000


@pytest.mark.parametrize("delay", each([0.0, 0.05, 0.1, 0.2, 0.4], [0.0, 0.1]))
def test_killed_at_any_moment_it_leaves_nothing_half_done(
    large: Path, tmp_path: Path, delay: float
) -> None:
    before = large.read_bytes(), large.stat().st_mtime_ns
    outcome = killed_while_writing(large, tmp_path / "new", delay)
    assert (large.read_bytes(), large.stat().st_mtime_ns) == before
    assert delay or outcome == "absent"


def killed_while_writing(source: Path, destination: Path, delay: float) -> str:
    """Start a conversion, and kill it some time after it has begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", *command(source, destination)],
        cwd=destination.parent,
        env={**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
    )
    known = set(os.listdir(destination.parent))
    while set(os.listdir(destination.parent)) <= known and process.poll() is None:
        time.sleep(0.001)
    time.sleep(delay)
    process.send_signal(signal.SIGKILL)
    process.wait()
    if not destination.exists():
        return "absent"
    restored = serialization.msgpack_restore(destination.read_bytes())
    assert sorted(restored) == ["opt_state", "params", "step"]
    assert int(restored["opt_state"]["inner_state"]["0"]["count"]) == 5
    return "whole"


WITHOUT_CHECKPOINTS = """
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name == "flax.training.checkpoints":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hiding())
import numpy as np
import flaxoptim_compat
flaxoptim_compat.install()
from flax import optim, serialization
from flaxoptim_compat.cli import main

def stepped(optimizer):
    return optimizer.apply_gradient({"w": np.ones(3, np.float32)})

def written(path, optimizer):
    with open(path, "wb") as file:
        file.write(serialization.to_bytes(optimizer))

def restored(path):
    fresh = optim.Adam(0.1).create({"w": np.zeros(3, np.float32)})
    with open(path, "rb") as file:
        return serialization.from_bytes(fresh, file.read())

optimizer = stepped(optim.Adam(0.1).create({"w": np.ones(3, np.float32)}))
written("legacy", optimizer)
expected = serialization.to_bytes(stepped(optimizer))
same = [serialization.to_bytes(stepped(restored("legacy"))) == expected]
for format_ in ("msgpack", "orbax"):
    new, back = f"new.{format_}", f"back.{format_}"
    adam = ["--definition", "optim.Adam(0.1)", "--format", format_]
    convert = ["checkpoint", "convert"]
    assert main([*convert, "legacy", new, "--to", "train-state", *adam]) == 0
    assert main([*convert, new, back, "--to", "legacy", "--format", "msgpack"]) == 0
    assert main(["checkpoint", "inspect", back]) == 0
    same.append(serialization.to_bytes(stepped(restored(back))) == expected)
try:
    import flax.training.checkpoints
except ImportError:
    print(same)
"""


def test_saving_converting_and_restoring_do_without_flax_checkpoints(tmp_path: Path) -> None:
    assert output_of(["-c", WITHOUT_CHECKPOINTS], tmp_path).endswith("[True, True, True]\n")
