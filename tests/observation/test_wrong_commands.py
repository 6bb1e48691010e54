"""A wrong rewrite is caught in several processes, behind a pipe, and before another command."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.replacing_files import Replacement
from flaxoptim_compat.observation.copies import Copies
from flaxoptim_compat.observation.proof import NotProven, Proof, Terms

OLD = """\
import sys

import jax
import jax.numpy as jnp
from flax import optim


def train(seed, steps=1):
    params = {"w": jax.random.normal(jax.random.PRNGKey(seed), (3, 2))}
    optimizer = optim.Momentum(0.1, beta=0.9).create(params)
    for _ in range(steps):
        grads = jax.grad(lambda p: jnp.mean((p["w"] - 1.0) ** 2))(optimizer.target)
        optimizer = optimizer.apply_gradient(grads)
    return jax.device_get(optimizer.target)


for seed in map(int, sys.argv[1:]):
    train(seed)
"""
NEW = OLD.replace("from flax import optim", "import optax\nfrom flax.training import train_state")
NEW = NEW.replace(
    "optim.Momentum(0.1, beta=0.9).create(params)",
    "train_state.TrainState.create(\n"
    "        apply_fn=None, params=params, tx=optax.sgd(0.1, momentum=0.9)\n    )",
)
NEW = NEW.replace("apply_gradient(grads)", "apply_gradients(grads=grads)")
NEW = NEW.replace("optimizer.target", "optimizer.params")
PYTHON = sys.executable
COMMANDS = {
    "two processes": f"{PYTHON} train.py 1 && {PYTHON} train.py 2",
    "a pipe": f"{PYTHON} train.py 2 1 | cat",
    "an echo": f"{PYTHON} train.py 1 2; echo done",
}
# What is wrong, from a text to another one, and what is said of it.
OTHERWISE = "The numbers differ"
CRASHED = "the command fails|A process of the command ends otherwise"
WRONG = [
    ("the rate of the second", "sgd(0.1", "sgd(0.1 if seed == 1 else 0.2", OTHERWISE),
    (
        "another one for the second",
        "optax.sgd(",
        "(optax.rmsprop if seed == 2 else optax.sgd)(",
        OTHERWISE,
    ),
    ("no momentum", ", momentum=0.9", "", OTHERWISE),
    ("half the momentum", "momentum=0.9", "momentum=0.5", OTHERWISE),
    ("none of the second", "train(seed)", "train(seed, 1 if seed == 1 else 0)", OTHERWISE),
    ("a crash at the end", "train(seed)\n", "train(seed)\nraise ValueError('bad')\n", CRASHED),
]


@pytest.fixture(scope="module", params=COMMANDS)
def proof(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Proof]:
    """A proof whose old program has been run by a command."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "train.py").write_text(OLD)
    with Copies(folder) as copies:
        proof = Proof([COMMANDS[request.param]], copies, Path(), Terms(), lambda _: None)
        proof.run_old({})
        yield proof


def said(proof: Proof, new: str) -> list[str]:
    proof.run_new({Path("train.py"): new.encode()})
    return proof.judged([Replacement(Path("train.py"), OLD.encode(), new.encode())], None)


@pytest.mark.exhaustive
def test_the_right_one_is_proven(proof: Proof) -> None:
    line, *others = said(proof, NEW)
    # Of these commands one prints something.
    assert others in ([], ["1 line of output: the same before and after."])
    assert "2 of 2 steps: the same bits before and after." in line


@pytest.mark.exhaustive
@pytest.mark.parametrize(("what", "text", "by", "told"), WRONG)
def test_the_wrong_one_is_caught(proof: Proof, what: str, text: str, by: str, told: str) -> None:
    assert what and text in NEW
    with pytest.raises(NotProven, match=told):
        said(proof, NEW.replace(text, by))
