"""``rewrite --verify``, whole: commands that train, before and after, and what is said of them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.rewriting_folders import OLD, Rewrite, read

PROGRAM = """\
import multiprocessing, os, pickle, sys, time
import jax
import jax.numpy as jnp
import numpy as np
from flax import optim

text = open(__file__).read()
IS_REWRITTEN = "opt" + "ax" in text
RATE = 0.1

def loss(params, x):
    return jnp.mean((x @ params["w"] - 1.0) ** 2)

def train(seed, steps):
    draw = np.random.RandomState(seed)
    params = {"w": jnp.asarray(draw.randn(3, 2), jnp.float32)}
    optimizer = optim.Momentum(learning_rate=RATE, beta=0.9).create(params)
    for _ in range(steps):
        x = jnp.asarray(draw.randn(4, 3), jnp.float32)
        optimizer = step(optimizer, x)
    return optimizer

@jax.jit
def step(optimizer, x):
    return optimizer.apply_gradient(jax.grad(loss)(optimizer.target, x))
"""
MAIN = (
    f'{PROGRAM}\nif __name__ == "__main__":\n    train(int(sys.argv[1]), 5)\n    print("trained")\n'
)


def said(text: str) -> str:
    return " ".join(text.split())


def test_a_script_that_starts_a_program_and_a_test(rewrite: Rewrite) -> None:
    uses = MAIN.replace("RATE = 0.1", 'RATE = 0.1\ngetattr(jax, "tree" + "_map")(abs, RATE)')
    test = (
        "from train import train\n\ndef test_it():\n    assert train(3, 2).state.step == 2\n\n"
        "def test_it_once_more():\n    assert train(3, 2).state.step == 2\n"
    )
    Path("all.sh").write_text(f"{sys.executable} -m flaxoptim_compat run train.py 1 2> /dev/null")
    commands = ("sh all.sh", f"{sys.executable} -m pytest -q -p no:cacheprovider test_it.py")
    verify = [word for command in commands for word in ("--verify", command)]
    done = rewrite("--write", *verify, to="optax", train=uses, test_it=test)
    assert done.status == 0, done.errors
    assert "optim." not in read("train.py")
    assert "1 of 1 moved optimizer, 9 of 9 steps: the same bits" in done.output
    # A lost name that the program looks up is no name in its text.
    assert (
        "with flaxoptim-compat run, as --verify did: the\nprogram still uses jax.tree_map."
        in done.output
    )
    assert "trained" not in done.output + done.errors
    assert [line for line in done.errors.splitlines() if re.match("Before|After", line)] == [
        f"{when}: {command}" for when in ("Before", "After") for command in commands
    ]


def test_a_trajectory_that_parts(rewrite: Rewrite) -> None:
    # What rewrite writes is right, so the program itself does another thing then.
    parts = MAIN.replace("RATE = 0.1", "RATE = 0.2 if IS_REWRITTEN else 0.1")
    done = rewrite("--write", "--verify", f"{sys.executable} train.py 0", to="optax", train=parts)
    assert (done.status, read("train.py")) == (2, parts)
    line = parts.splitlines().index(next(each for each in parts.splitlines() if ".create(" in each))
    assert (
        "The numbers differ.\n"
        f"  train.py:{line + 1}  optimizer = optim.Momentum(learning_rate=RATE, beta=0.9)"
        ".create(params)\nStep 1: w (float32, 3 × 2) differs by "
    ) in done.errors
    assert "\nChanged lines that may be the cause:\n  train.py:" in done.errors
    assert "apply_gradients(" in done.errors.partition("Changed lines")[2]
    assert "Once more, with the old program: " in done.errors
    assert not done.output


@pytest.mark.exhaustive
def test_a_program_without_a_seed(rewrite: Rewrite) -> None:
    unseeded = MAIN.replace("RandomState(seed)", "RandomState(None)")
    done = rewrite(
        "--write", "--verify", f"{sys.executable} train.py 0", to="optax", train=unseeded
    )
    assert (done.status, read("train.py")) == (2, unseeded)
    text = "Two runs of the old program differ too, first in w of step 0: fix the seed of"
    assert f"{text} the program, then verify again." in said(done.errors)


@pytest.mark.exhaustive
def test_a_command_that_fails_after_training(rewrite: Rewrite) -> None:
    fails = MAIN.replace('print("trained")', 'print("trained")\n    assert not IS_REWRITTEN')
    done = rewrite("--write", "--verify", f"{sys.executable} train.py 0", to="optax", train=fails)
    assert (done.status, read("train.py")) == (2, fails)
    assert "trained\n" in done.errors and "AssertionError" in done.errors
    assert "With the new program, the command fails with exit status 1: " in said(done.errors)


def test_a_command_that_reads_what_it_has_saved(rewrite: Rewrite) -> None:
    reads = MAIN.replace("train(int(sys.argv[1]), 5)", "print(saved(train(0, 1))['target'])")
    reads = reads.replace(
        "@jax.jit",
        "def saved(optimizer):\n    from pathlib import Path\n    from flax import serialization\n"
        "    Path('saved').write_bytes(serialization.to_bytes(optimizer))\n"
        "    return serialization.msgpack_restore(Path('saved').read_bytes())\n\n@jax.jit",
    )
    done = rewrite("--write", "--verify", f"{sys.executable} train.py", to="optax", train=reads)
    assert (done.status, read("train.py")) == (2, reads)
    line = next(number for number, each in enumerate(reads.splitlines(), 1) if "print" in each)
    assert "these lines read an entry of a saved optimizer. Let" in done.errors
    told = "FOC215 A saved optimizer has this entry; a saved TrainState has `params`.\n"
    assert re.search(rf"^train\.py:{line}:\d+: {re.escape(told)}", done.errors, re.MULTILINE)


def test_a_command_without_optimizers(rewrite: Rewrite) -> None:
    done = rewrite("--write", "--verify", "true", to="optax", train=MAIN)
    assert done.status == 2 and read("train.py") == MAIN
    assert "The command did no step of an optimizer. " in done.errors


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="has no /proc of Linux")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_stopped_it_leaves_no_process_behind(
    tmp_path: Path, number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.py").write_text(OLD)
    # The shell waits for a program, and a program for another one, which is in a group of its own.
    starts = "import subprocess, sys; subprocess.run(sys.argv[1:], start_new_session=True)"
    Path("starts.py").write_text(starts)
    sleep = "echo $$ > process.new; mv process.new process; exec sleep 60"
    # A command that names the folder gets the copy.
    number_of = tmp_path.with_name(f"{tmp_path.name}.process")
    sleep = sleep.replace("process", str(number_of))
    command = f"grep -q tree_map a.py || {sys.executable} starts.py sh -c '{sleep}'; true"
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "flaxoptim_compat"),
            *("rewrite", "a.py", "--to", "shim", "--write", "--verify", command),
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    while not number_of.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, read("a.py")) == (130, OLD)
    assert "flaxoptim-compat: stopped. All files are as they were before" in said(errors)
    assert sorted(os.listdir()) == ["a.py", "starts.py"]
    end = time.monotonic() + 30
    with contextlib.suppress(ProcessLookupError):
        while os.kill(int(number_of.read_text()), 0) is None:
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.mark.exhaustive
def test_processes_of_a_program_and_the_shim(rewrite: Rewrite) -> None:
    main = (
        f'{PROGRAM}\nif __name__ == "__main__":\n'
        # Each training in a process of its own: else one worker may be done before another starts.
        '    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:\n'
        "        pool.starmap(train, [(0, 3), (1, 2), (0, 3)], chunksize=1)\n"
    )
    done = rewrite("--write", "--verify", f"{sys.executable} train.py", to="shim", train=main)
    assert done.status == 0, done.errors
    # Each training counts, wherever it was done.
    assert "1 of 1 moved optimizer, 8 of 8 steps: the same bits before and after." in done.output


SERVED = """\
import sys

import jax
import jax.numpy as jnp
from flax import optim
from flax.training import checkpoints

sys.path.append("elsewhere")
import helpers

optimizer = optim.Adam(learning_rate=0.1).create({"w": jnp.ones((3, 2))})
optimizer = checkpoints.restore_checkpoint("runs", optimizer)
start = int(optimizer.state.step)
for i in range(start, start + 2):
    optimizer = helpers.first(optimizer)
    grads = jax.tree.map(jnp.sin, optimizer.target)
    optimizer = optimizer.apply_gradient(grads, learning_rate=0.1 / (i + 1))
    checkpoints.save_checkpoint("runs", optimizer, i + 1, keep=9)
print(i, jnp.sum(helpers.first(optimizer).target["w"]))
"""


def test_what_the_text_does_not_show_is_dual_until_a_run_shows_it(rewrite: Rewrite) -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere/helpers.py").write_text("def first(*given):\n    return given[0]\n")
    Path("train.py").write_text(SERVED)

    def printed(*command: str) -> str:
        words = [sys.executable, "-W", "ignore", *command, "train.py"]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout

    old = [printed("-m", "flaxoptim_compat", "run") for _ in range(3)]
    for step in range(3, 7):
        Path(f"runs/checkpoint_{step}").unlink()
    done = rewrite("--write", to="optax", train=SERVED, paths=("train.py",))
    assert "\n1 of 1 optimizer moves: 0 to TrainState, 1 to DualTrainState.\n" in done.output
    text = read("train.py")
    assert "dual(optim.Adam(learning_rate=0.1)).create(" in text
    assert "optimizer.apply_gradient(grads, learning_rate=" in text
    # The run folder goes on, with a checkpoint of flax.optim in it.
    assert printed() == old[1]
    verify = ("--write", "--verify", f"{sys.executable} train.py")
    done = rewrite(*verify, to="optax", train=text, paths=("train.py",))
    assert done.status == 0, done.errors
    assert "\n1 of 1 optimizer becomes a TrainState, 0 stay.\n" in done.output
    assert "1 of 1 moved optimizer, 3 of 3 steps: the same bits" in done.output
    assert "1 line of output and 2 written files: the same before and after." in done.output
    text = read("train.py")
    assert "optim." not in text.replace("optax.", "") and "dual" not in text
    assert printed() == old[2]
