"""The old programs of the tests: how they are run, killed, and what they leave."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import jax
import numpy as np
from flax import serialization, traverse_util

from tests.support import compiling
from tests.support.oracle.cache import clean_environment
from tests.support.places import DATA, ROOT
from tests.support.side_by_side import assert_same, describe
from tests.support.ulps import LargestValues, errors_in_ulps

PROGRAMS = DATA / "legacy_programs"
OURS = ("-m", "flaxoptim_compat", "run")
LOSS = re.compile(r"step (\d+) loss (\S+)")

# Training is a closed loop: one rounding of another kind changes all gradients that follow. Up to
# 33 units in the last place were measured after 30 steps where XLA fuses our step in another order.
# The genuine optimizers end up to 35 units from themselves if the parameters that they start with
# are off by one. Where the operations of a step are the very same, nothing differs at all.
CLOSED_LOOP = 64.0
# That of the detector begins with 2 everywhere, after one step, and grows to up to 135 with
# jax 0.4.30, in averages of gradients of its attention.
OF_DETECTOR = CLOSED_LOOP if jax.__version_info__ >= (0, 5) else 192.0


class Program(NamedTuple):
    """What to run, and what to expect of it."""

    command: str
    fallen: float  # the last loss is less than this part of the first
    ulps: float = CLOSED_LOOP  # may be between what is left here and what the genuine one leaves


CASES = {
    "mnist_cnn": Program("mnist_cnn.py", 0.1, ulps=0.0),
    "imagenet_pmap": Program("imagenet_pmap.py", 0.4, ulps=0.0),
    "nerf": Program("nerf/train.py", 0.5),
    "detr": Program("detr.py", 0.2, OF_DETECTOR),
    "l2p": Program("l2p.py", 0.5),
    "apg": Program("apg.py", 0.2),
    "seq2seq": Program("-m seq2seq.train", 0.05, ulps=0.0),
}


class Protocol(NamedTuple):
    """How long a program trains, how often it saves, and when it is killed."""

    steps: int = 30
    save_every: int = 5
    killed_at: int = 12

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the programs take."""
        return "--workdir", "work", "--steps", f"{self.steps}", "--save_every", f"{self.save_every}"


def run_killed_and_resumed(
    command: Sequence[str],
    folder: Path,
    protocol: Protocol,
    options: Sequence[str] = (),
) -> float:
    """Run a program under ours, kill it, start it again, and return by how much its loss fell.

    Args:
      command: the program.
      folder: where to run it.
      protocol: how long, and when it is killed.
      options: those of ``run``.
    """
    command = [*OURS, *options, *command, *protocol.arguments]
    killed = losses_until(protocol.killed_at, command, folder)
    assert killed.keys() == set(range(len(killed)))
    assert protocol.killed_at < len(killed) < protocol.steps
    assert not list(folder.glob("work/final.*"))

    resumed = losses_until(None, command, folder)
    first = min(resumed)
    assert 0 < first <= len(killed) and first % protocol.save_every == 0
    assert resumed.keys() == set(range(first, protocol.steps))
    assert {step: killed[step] for step in range(first, len(killed))}.items() <= resumed.items()
    return resumed[protocol.steps - 1] / killed[0]


def losses_until(
    killed_at: int | None,
    command: Sequence[str],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> dict[int, float]:
    """Run Python with this command, and collect the losses that it prints.

    Args:
      killed_at: the step after which it is killed, or None: it must end by itself, and well.
      command: the arguments of Python.
      folder: where to run it.
      environment: variables that it has besides those that all of them have.
      python: which one runs it.
    """
    losses: dict[int, float] = {}
    with running([python, *command], folder, environment or {}) as (process, output, errors):
        for line in output:
            if found := LOSS.match(line):
                losses[int(found[1])] = float(found[2])
                if int(found[1]) == killed_at:
                    process.kill()
        expected = 0 if killed_at is None else -signal.SIGKILL
        assert process.wait(timeout=60) == expected
        assert "Traceback" not in errors.read_text()
    return losses


@contextmanager
def running(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> Iterator[tuple[subprocess.Popen[bytes], TextIO, Path]]:
    """A process, its output and the file of its errors; it is gone afterwards.

    Its output goes through a socket with the smallest of buffers. When that is full the process has
    to wait, so that it is never more than a few lines ahead of who reads them.
    """
    errors = folder / "stderr.txt"
    variables = {
        "JAX_PLATFORMS": "cpu",
        **compiling.variables(devices=2),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        **environment,
    }
    ours, theirs = socket.socketpair()
    ours.settimeout(120)
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    with ours, ours.makefile() as output, errors.open("w") as stderr:
        with theirs:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=clean_environment(**variables),
                stdin=subprocess.DEVNULL,
                stdout=theirs,
                stderr=stderr,
            )
        try:
            yield process, output, errors
        except BaseException:
            print(f"stderr of {' '.join(command)}:\n{errors.read_text()}")
            raise
        finally:
            process.kill()
            process.wait()


def final_of(folder: Path) -> dict[str, Any]:
    """What a program wrote at its end: parameters and optimizer state, by name."""
    (path,) = (folder / "work").glob("final.*")
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            return dict(arrays)
    restored = serialization.msgpack_restore(path.read_bytes())
    flat: dict[str, Any] = traverse_util.flatten_dict(restored, sep="/")
    return flat


def assert_equal_up_to(ulps: float, ours: dict[str, Any], genuine: dict[str, Any]) -> None:
    """Compare what two runs left, in units in the last place of the largest value of each array."""
    if not ulps:
        assert_same(ours, genuine)
        return
    assert {k: describe(v) for k, v in ours.items()} == {k: describe(v) for k, v in genuine.items()}
    largest = LargestValues(genuine)
    # An average of gradients passes through zero, and its errors do not: their size is that of the
    # gradients, for which the average of the squares stands.
    largest.add({name: gradient_size(name, genuine) for name in genuine})
    errors = errors_in_ulps(ours, genuine, largest)
    assert max(errors.values()) <= ulps, {k: v for k, v in errors.items() if v > ulps}


def gradient_size(name: str, arrays: dict[str, Any]) -> Any:
    squares = re.sub("grad_ema$", "grad_sq_ema", name)
    known = squares != name and squares in arrays
    return np.sqrt(arrays[squares]) if known else arrays[name]
