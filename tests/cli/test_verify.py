"""``flaxoptim-compat verify``, and proofs of programs that save and restore in their folder."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import flaxoptim_compat.cli
from tests.support.oracle.cache import clean_environment
from tests.support.places import OLD_ENVIRONMENT, ROOT
from tests.support.processes import compat
from tests.support.rewriting_folders import Commands

# The commonest program of 2021.
PROGRAM = """\
import jax
import jax.numpy as jnp
from flax import optim
from flax.training import checkpoints

RATE = 0.01


def loss(params, x):
    return jnp.mean((x @ params["w"] - 1.0) ** 2)


@jax.jit
def step(optimizer, x):
    value, grads = jax.value_and_grad(loss)(optimizer.target, x)
    return optimizer.apply_gradient(grads, learning_rate=RATE), value


optimizer = optim.Adam(learning_rate=0.001).create({"w": jnp.ones((3, 2))})
optimizer = checkpoints.restore_checkpoint("runs", optimizer)
start = int(optimizer.state.step)
key = jax.random.PRNGKey(0)
for i in range(start, start + 8):
    optimizer, value = step(optimizer, jax.random.normal(jax.random.fold_in(key, i), (4, 3)))
    if (i + 1) % 4 == 0:
        checkpoints.save_checkpoint("runs", optimizer, i + 1, keep=2)
"""
# The same as a program that prints and writes what differs from run to run, in three processes.
NOISY = (
    "import json, multiprocessing, os, sys, time, uuid\nimport absl.logging, numpy as np\n"
    + PROGRAM.partition("optimizer = optim")[0]
    + """\
def train(seed):
    begin = time.time()
    optimizer = optim.Adam(learning_rate=0.1).create({"w": jnp.ones((3, 2))})
    drawn = time.strftime("%Y-%m-%d_%H-%M-%S") + "-" + uuid.uuid4().hex[:8]
    run = os.path.join("runs", f"{seed}_{drawn}")
    os.makedirs(run)
    print("Run", run, "in", os.getpid(), object())
    losses = []
    for i in range(6):
        x = jax.random.normal(jax.random.PRNGKey(10 * seed + i), (4, 3))
        optimizer, value = step(optimizer, x)
        losses.append(float(value))
        rate = (i + 1) / (time.time() - begin)
        sys.stderr.write(f"\\r{i + 1}/6 |{'#' * i}| [{rate:.2f}it/s, loss={value:.4f}]")
        absl.logging.info("step %d loss %.5f, %.3f sec/step", i, value, 1 / rate)
    print(f"\\nworker {seed} done after {time.time() - begin:.1f} seconds, loss {value}")
    with open(os.path.join(run, "metrics.json"), "w") as f:
        json.dump({"time": time.time() - begin, "process": os.getpid(), "loss": losses}, f)
    checkpoints.save_checkpoint(f"ckpt{seed}", optimizer, 6)
    np.save(f"last{seed}.npy", optimizer.target["w"])


if __name__ == "__main__":
    absl.logging.set_verbosity("info")
    with multiprocessing.get_context("spawn").Pool(2, maxtasksperchild=1) as pool:
        pool.map(train, [1, 2], chunksize=1)
"""
)
TRAIN = f"{sys.executable} train.py"
BITS = "the same bits before and after.\n"


def git(*words: str) -> None:
    subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a", *words], check=True)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def commands(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Commands:
    return Commands(tmp_path, capsys, monkeypatch)


def test_a_run_folder_stays_as_it_is(commands: Commands, tmp_path: Path) -> None:
    Path("train.py").write_text(PROGRAM)
    assert compat(["run", "--quiet", "train.py"], tmp_path).returncode == 0
    git("init", "-q")
    git("add", "train.py")
    git("commit", "-qm", "with flax.optim")
    before = contents(Path("runs"))
    assert len(before) == 2
    done = commands.rewrite("--write", "--verify", TRAIN, to="optax")
    assert done.status == 0, done.errors
    assert "went on from a converted copy of runs/checkpoint_" in done.output
    assert done.output.count(BITS) == 1 and contents(Path("runs")) == before
    (convert,) = (line for line in done.output.splitlines() if " OLD NEW " in line)

    verify = commands._run(["verify", TRAIN, "--convert", convert], {})
    assert verify.status == 0, verify.errors
    assert verify.output.endswith(f"{BITS}2 written files: the same before and after.\n")
    assert contents(Path("runs")) == before
    refused = commands._run(["verify", TRAIN], {})
    assert refused.status == 2 and "give the command that converts it" in refused.errors

    Path("train.py").write_text(Path("train.py").read_text().replace("RATE = 0.01", "RATE = 0.02"))
    differs = commands._run(["verify", TRAIN, "--convert", convert], {})
    assert differs.status == 1 and "The numbers differ." in differs.errors
    assert contents(Path("runs")) == before


@pytest.mark.exhaustive
def test_the_old_program_from_a_folder_or_a_revision(commands: Commands, tmp_path: Path) -> None:
    Path("old").mkdir()
    Path("old/train.py").write_text(PROGRAM)
    Path("train.py").write_text(PROGRAM.replace("from flax import", "from flaxoptim_compat import"))
    done = commands._run(["verify", TRAIN, "--before", "old"], {})
    assert done.status == 0 and BITS in done.output, done.errors
    assert "The old program: the folder old\n" in done.errors and not Path("runs").exists()
    done = commands._run(["verify", TRAIN, "--before", "nosuch"], {})
    assert done.status == 2 and "git has no old program here" in done.errors


def test_there_has_to_be_an_old_program(commands: Commands) -> None:
    git("init", "-q")
    git("commit", "-qm", "nothing", "--allow-empty")
    done = commands._run(["verify", "true"], {"a": "import jax\n"})
    assert done.status == 2 and "No commit has a file in" in done.errors


@pytest.mark.exhaustive
def test_what_two_runs_of_the_old_program_do_differently_is_left_out(commands: Commands) -> None:
    Path("old").mkdir()
    Path("old/train.py").write_text(NOISY)
    options = ("--write", "--verify", TRAIN)
    done = commands.rewrite(*options, paths=("train.py",), to="optax", train=NOISY)
    assert done.status == 0, done.errors
    text = Path("train.py").read_text()
    assert re.search(
        r"\n\d+ lines of output and 6 written files: the same .* two runs", done.output
    )
    wrong = text.replace('"loss": losses}', '"loss": losses[1:]}')
    done = commands._run(["verify", TRAIN, "--before", "old"], {"train": wrong})
    assert done.status == 1 and "metrics.json: `" in done.errors and wrong != text


def test_another_output_is_shown_and_can_be_accepted(commands: Commands) -> None:
    prints = f'{PROGRAM}\nprint("a", str(optimizer)[:9], "of", start)\n'
    options = ["--write", "--verify", TRAIN]
    done = commands.rewrite(*options, to="optax", train=prints)
    assert (done.status, Path("train.py").read_text()) == (2, prints)
    told = "The output differs in 1 line:\n  - a Optimizer of 0\n  + a TrainStat of 0\n"
    assert told in done.errors and "No file was changed." in done.errors
    done = commands.rewrite(*options, "--accept-output", to="optax")
    assert done.status == 0 and f"{BITS}Accepted:\n{told}" in done.output


def test_crashes_behind_a_pipe_are_no_proof(commands: Commands) -> None:
    crashes = PROGRAM.replace('"runs"', '"runs" + str(1 // ("opt" + "ax" not in text))').replace(
        "RATE = 0.01", "RATE = 0.01\ntext = open(__file__).read()"
    )
    done = commands.rewrite("--write", "--verify", f"{TRAIN} | cat", to="optax", train=crashes)
    assert done.status == 2 and Path("train.py").read_text() == crashes
    assert "A process of the command ends otherwise with the new program: train.py" in done.errors


def test_code_of_the_folder_itself_is_no_proof(commands: Commands, tmp_path: Path) -> None:
    parts = str(tmp_path / "train.py").split("/")
    launcher = f"import runpy\n\nrunpy.run_path('/'.join({parts}))\n"
    Path("launch.py").write_text(launcher)
    done = commands.rewrite(
        "--write", "--verify", f"{sys.executable} launch.py", to="optax", train=PROGRAM
    )
    assert done.status == 2 and Path("train.py").read_text() == PROGRAM
    assert "The command ran code of your folder, not of its copy:" in done.errors


def test_a_hand_made_migration_is_paired_and_its_cause_is_named(commands: Commands) -> None:
    decaying = PROGRAM.replace(", learning_rate=RATE", "").replace(
        "0.001", "0.001, weight_decay=0.1"
    )
    Path("old").mkdir()
    Path("old/train.py").write_text(decaying)
    by_hand = f"""\
from flax.training.train_state import TrainState
import optax
{PROGRAM}""".replace("from flax import optim\n", "").replace('"w"', '"kernel"')
    for old, new in {
        "optimizer.target": "optimizer.params",
        "gradient(grads, learning_rate=RATE)": "gradients(grads=grads)",
        "optimizer.state.step": "optimizer.step",
        "optim.Adam(learning_rate=0.001).create(": "TrainState.create(tx=TX, apply_fn=1, params=",
    }.items():
        by_hand = by_hand.replace(old, new)
    Path("train.py").write_text(by_hand.replace("TX", "optax.adamw(0.001, weight_decay=0.1)"))
    options = ["verify", TRAIN, "--before", "old", "--report", "proof.json"]
    done = commands._run(options, {})
    assert done.status == 1 and "checkpoint_8: only the old one has parameters/w" in done.errors
    done = commands._run([*options, "--accept-output"], {})
    assert done.status == 0, done.errors
    assert "1 optimizer, 8 of 8 steps: the same" in done.output
    assert "1 of 1 parameters have other names today" in done.output
    assert json.loads(Path("proof.json").read_text())["steps"] == 8

    before = "optax.chain(optax.add_decayed_weights(0.1), optax.adam(0.001))"
    Path("train.py").write_text(by_hand.replace("TX", before))
    done = commands._run(["verify", TRAIN, "--before", "old"], {})
    assert done.status == 1 and "Once more, with the first parameters" in done.errors
    cause = "Likely cause, of `optim.Adam(learning_rate=0.001, weight_decay=0.1)` and `optax.chain("
    assert cause in (told := " ".join(done.errors.split())) and "before the moments" in told


@pytest.mark.exhaustive
def test_a_record_of_the_machine_of_then(
    commands: Commands, tmp_path: Path, old_environment: object
) -> None:
    demo = Path(flaxoptim_compat.cli.__file__).with_name("demo_program.txt").read_text()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "train.py").write_text(demo)
    recorder = compat(["verify", "--recorder"], tmp_path).stdout
    (tmp_path / "old" / "record.py").write_text(recorder)
    program = [str(OLD_ENVIRONMENT / "run_program.py"), "train.py"]
    subprocess.run(
        [str(old_environment), "record.py", "../then.npz", *program],
        cwd=tmp_path / "old",
        env=clean_environment(JAX_PLATFORMS="cpu", PYTHONPATH=str(ROOT)),
        check=True,
    )
    shutil.rmtree("old")
    command = f"{sys.executable} -m flaxoptim_compat run --random then train.py"
    Path("train.py").write_text(demo)
    done = commands._run(["verify", command, "--before", "then.npz", "--report", "a.html"], {})
    assert done.status == 0, done.errors
    assert "jax 0.4.13" in done.output and "1 optimizer, 89 of 400 steps" in done.output
    assert "within the tolerance at each of 89 steps" in Path("a.html").read_text()
    Path("train.py").write_text(demo.replace("LEARNING_RATE = 0.001", "LEARNING_RATE = 0.001001"))
    done = commands._run(["verify", command, "--before", "then.npz"], {})
    assert done.status == 1 and "train.py:66, then" in done.errors
    done = commands._run(["verify", "true", "--before", "then.npz"], {})
    assert done.status == 2 and "The command did no step" in done.errors


ALONE = """\
import jax
import jax.numpy as jnp
from flax import optim

definition = optim.Adam(0.1)


def step(params, state):
    return definition.apply_gradient(definition.hyper_params, params, state, params)


params = {"w": jnp.arange(3.0)}
state = definition.init_state(params)
for _ in range(4):
    params, state = step(params, state)
"""
BY_HAND = """\
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

state = TrainState.create(apply_fn=None, params={"w": jnp.arange(3.0)}, tx=optax.adam(RATE))
for _ in range(4):
    state = state.apply_gradients(grads=state.params)
"""


@pytest.mark.exhaustive
def test_steps_of_a_definition_by_itself(commands: Commands) -> None:
    Path("old").mkdir()
    Path("old/train.py").write_text(ALONE)
    verify = ["verify", TRAIN, "--before", "old"]
    done = commands._run(verify, {"train": BY_HAND.replace("RATE", "0.1")})
    assert (done.status, done.output) == (0, f"1 optimizer, 4 of 4 steps: {BITS}")
    assert commands._run(verify, {"train": BY_HAND.replace("RATE", "0.1001")}).status == 1
    compiled = ALONE.replace("def step", "@jax.jit\ndef step")
    Path("old/train.py").write_text(compiled)
    done = commands._run(
        verify, {"train": compiled.replace("flax import", "flaxoptim_compat import")}
    )
    told = "No numbers were compared.\nMade in train.py:10, only traced: its states were not"
    assert done.status == 2 and told in done.errors
