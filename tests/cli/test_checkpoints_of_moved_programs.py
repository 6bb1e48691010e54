"""A program trains and saves, is rewritten, and goes on from its checkpoint as if nothing was.

The old program runs on this package, the checkpoint is converted by the command that ``rewrite``
prints, and the new program ends on the bits of the old one.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.legacy.installing import installed
from tests.support.side_by_side import assert_same

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

PROGRAM = """\
import jax
import jax.numpy as jnp
from flax import optim
from flax import serialization

WEIGHT_DECAY = 1e-3


def rate_at(step):
    return 0.05 / (1.0 + step)


def loss_fn(params):
    hidden = jnp.tanh(jnp.linspace(-1.0, 1.0, 8).reshape(2, 4) @ params["kernel"])
    return jnp.sum((hidden + params["bias"]) ** 2)


@jax.jit
def train_step(optimizer, rate):
    grads = jax.grad(loss_fn)(optimizer.target)
    return STEP


def new_state():
    params = {"kernel": jnp.linspace(-1.0, 1.0, 12).reshape(4, 3), "bias": jnp.ones(3)}
    return DEFINITION.create(paramsFOCUS)


def main(path, first, last, save_at=None):
    optimizer = new_state()
    if first:
        with open(path, "rb") as file:
            optimizer = serialization.from_bytes(optimizer, file.read())
    for step in range(first, last):
        optimizer = train_step(optimizer, rate_at(step))
        if step + 1 == save_at:
            with open(path, "wb") as file:
                file.write(serialization.to_bytes(optimizer))
    return optimizer.target
"""

GIVEN = "optimizer.apply_gradient(grads, learning_rate=rate)"
OWN = "optimizer.apply_gradient(grads)"
SCHEDULED = "optimizer.apply_gradient(grads, learning_rate=rate_at(optimizer.state.step))"

BIASES = 'optim.ModelParamTraversal(lambda path, _: path.endswith("bias"))'
KERNELS = 'optim.ModelParamTraversal(lambda path, _: "kernel" in path)'
DEFINITIONS = {
    "Adam": "optim.Adam({})",
    "Adam with weight decay": "optim.Adam({}, weight_decay=WEIGHT_DECAY)",
    "AdaBelief": "optim.AdaBelief({})",
    "Momentum": "optim.Momentum({}, beta=0.95)",
    "Momentum with weight decay": "optim.Momentum({}, weight_decay=1e-4, nesterov=True)",
    "GradientDescent": "optim.GradientDescent({})",
    "RMSProp": "optim.RMSProp({}, centered=True)",
    "LAMB": "optim.LAMB({}, weight_decay=WEIGHT_DECAY)",
    "LARS": "optim.LARS({}, weight_decay=1e-4)",
    "Adagrad": "optim.Adagrad({})",
    "Adadelta": "optim.Adadelta({})",
    "Adafactor": "optim.Adafactor({}, min_dim_size_to_factor=2)",
    "WeightNorm": "optim.WeightNorm(optim.Adam({}))",
    "MultiOptimizer": f"optim.MultiOptimizer(({KERNELS}, optim.Adam({{}})), ({BIASES},"
    " optim.Momentum({})))",
}


def program(definition: str, step: str, focus: str = "") -> str:
    rate = "" if step in (GIVEN, SCHEDULED) else "0.05"
    text = definition.replace("{}", rate).replace("(, ", "(")
    return PROGRAM.replace("DEFINITION", text).replace("STEP", step).replace("FOCUS", focus)


def trained(path: Path, *arguments: Any) -> Any:
    scope: dict[str, Any] = {"__name__": "train"}
    exec(compile(path.read_text(), path, "exec"), scope)
    return scope["main"]("checkpoint", *arguments)


def moved(text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Train, save, rewrite, convert and go on, in this folder; the command that was printed."""
    train = Path("train.py")
    train.write_text(text)
    with installed(era=True):
        expected = trained(train, 0, 6, 3)
    assert main(["rewrite", "train.py", "--to", "optax", "--write"]) == 1
    (command,) = (
        line for line in capsys.readouterr().out.splitlines() if "checkpoint convert" in line
    )
    words = shlex.split(command)
    assert words[:5] == ["flaxoptim-compat", "checkpoint", "convert", "OLD", "NEW"]
    Path("checkpoint").rename("old")
    converted = [
        "old" if each == "OLD" else "checkpoint" if each == "NEW" else each for each in words
    ]
    assert main([*converted[1:], "--fits", "train:new_state"]) == 0
    assert_same(trained(train, 3, 6), expected)
    return words


@pytest.mark.parametrize(
    "step", [OWN, GIVEN, SCHEDULED], ids=["constant", "each step", "scheduled"]
)
@pytest.mark.parametrize("name", DEFINITIONS)
def test_it_goes_on(name: str, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    moved(program(DEFINITIONS[name], step), capsys)


@pytest.mark.parametrize(
    "step", [OWN, GIVEN, SCHEDULED], ids=["constant", "each step", "scheduled"]
)
def test_a_focus_goes_on(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = moved(program("optim.Adam({})", step, f", focus={BIASES}"), capsys)
    assert any("optim.ModelParamTraversal(lambda path, _: path.endswith" in each for each in words)
