"""A program trains and saves, is rewritten, and goes on from its checkpoint as if nothing was.

The old program runs on this package, the checkpoint is converted by the command that ``rewrite``
prints, and the new program ends on the bits of the old one.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.legacy.installing import installed
from tests.support.options import exhaustive
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
RATES = {"constant": OWN, "each step": GIVEN}

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
    rate = "" if step == GIVEN else "0.05"
    text = definition.replace("{}", rate).replace("(, ", "(")
    return PROGRAM.replace("DEFINITION", text).replace("STEP", step).replace("FOCUS", focus)


def trained(path: Path, *arguments: Any) -> Any:
    scope: dict[str, Any] = {"__name__": "train"}
    exec(compile(path.read_text(), path, "exec"), scope)
    return scope["main"]("checkpoint", *arguments)


def moved(
    text: str, capsys: pytest.CaptureFixture[str], by_hand: Mapping[str, str] | None = None
) -> list[str]:
    """Train, save, rewrite, convert and go on, in this folder; the command that was printed.

    Args:
      text: the program.
      capsys: has the command.
      by_hand: what its user writes for words in it, beside the paths.
    """
    train = Path("train.py")
    train.write_text(text)
    with installed(era=True):
        expected = trained(train, 0, 6, 3)
    assert main(["rewrite", "train.py", "--to", "optax", "--write"]) == 0
    (command,) = (
        line for line in capsys.readouterr().out.splitlines() if "checkpoint convert" in line
    )
    words = shlex.split(command)
    assert words[:5] == ["flaxoptim-compat", "checkpoint", "convert", "OLD", "NEW"]
    Path("checkpoint").rename("old")
    converted = words
    for word, meant in {"OLD": "old", "NEW": "checkpoint", **(by_hand or {})}.items():
        assert any(word in each for each in converted)
        converted = [each.replace(word, meant) for each in converted]
    assert main([*converted[1:], "--fits", "train:new_state"]) == 0
    assert_same(trained(train, 3, 6), expected)
    return words


# Every definition with one kind of rate, and every kind with several definitions.
@pytest.mark.parametrize(
    ("name", "step"),
    [
        pytest.param(
            name, step, id=f"{name}-{kind}", marks=() if turn == number % len(RATES) else exhaustive
        )
        for number, name in enumerate(DEFINITIONS)
        for turn, (kind, step) in enumerate(RATES.items())
    ],
)
def test_it_goes_on(name: str, step: str, capsys: pytest.CaptureFixture[str]) -> None:
    moved(program(DEFINITIONS[name], step), capsys)


@pytest.mark.parametrize("step", RATES.values(), ids=RATES)
def test_a_focus_goes_on(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = moved(program("optim.Adam({})", step, f", focus={BIASES}"), capsys)
    assert any("optim.ModelParamTraversal(lambda path, _: path.endswith" in each for each in words)


# As a program does that leaves out steps with gradients that are not finite: it counts them.
REPLACED = """optimizer.replace(
        state=optimizer.state.replace(step=optimizer.state.step + 1)
    ).apply_gradient(grads, learning_rate=rate)"""


@pytest.mark.parametrize("decay", ["0.0", "1e-3"])
def test_a_definition_that_stays_has_the_weight_decay_of_the_program(
    decay: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = program("optim.Adam(weight_decay=WEIGHT_DECAY, beta1=float(0.8))", REPLACED)
    text = text.replace("WEIGHT_DECAY = 1e-3", f"WEIGHT_DECAY = float({decay})")
    words = moved(text, capsys, {"VALUE": decay})
    assert "optim.Adam(weight_decay=VALUE, beta1=...)" in words
    assert "=VALUE" not in Path("train.py").read_text()


OWN_CLASS = """
class Plain(optim.OptimizerDef):
    def __init__(self, scale):
        super().__init__(optim.GradientDescent(scale).hyper_params)

    def init_param_state(self, param):
        return jnp.zeros_like(param)

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        state = grad + state
        return param - hyper_params.learning_rate * state, state


def definition():
    return Plain(0.25)


def new_state():"""


@pytest.mark.parametrize("step", [OWN, GIVEN], ids=["constant", "each step"])
def test_a_definition_of_a_class_of_its_own(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = program("definition()", step).replace("\n\ndef new_state():", OWN_CLASS)
    words = moved(text, capsys, {"MODULE:DEFINITION": "train:definition"})
    assert words[8:] == ["MODULE:DEFINITION", *(["--rate", "fixed"] if step == OWN else [])]


EVALUATE = """from flax import optim
from flax.training import checkpoints

import train


def evaluate(folder, params):
    optimizer = optim.Adam(0.0).create(params)
    optimizer = checkpoints.restore_checkpoint(folder, optimizer)
    return train.loss_fn(optimizer.target)
"""


def test_one_command_where_only_the_rate_differs_that_no_step_takes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("evaluate.py").write_text(EVALUATE)
    Path("train.py").write_text(
        program("optim.Adam(rate_at(0))", GIVEN)
        .replace("from flax import serialization", "from flax.training import checkpoints")
        .replace("serialization.from_bytes(optimizer, file.read())", "0")
        .replace("serialization.to_bytes(optimizer)", "0")
        .replace(
            "    return optimizer.target", '    checkpoints.save_checkpoint(".", optimizer, 6)'
        )
    )
    assert main(["rewrite", ".", "--to", "optax", "--write"]) == 0
    (command,) = (
        line for line in capsys.readouterr().out.splitlines() if "checkpoint convert" in line
    )
    assert shlex.split(command)[-2:] == ["--definition", "optim.Adam()"]


def test_several_optimizers_have_a_command_each_with_their_places(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, definition in (
        ("a", "optim.Adam({})"),
        ("b", "optim.Momentum({})"),
        ("c", "optim.Adam({})"),
    ):
        Path(f"{name}.py").write_text(program(definition, GIVEN))
    assert main(["rewrite", ".", "--to", "optax", "--write"]) == 0
    lines = capsys.readouterr().out.splitlines()
    number = PROGRAM[: PROGRAM.index("DEFINITION")].count("\n") + 1
    first = lines.index(f"# a.py:{number}, c.py:{number}")
    assert lines[first + 1].endswith("'optim.Adam()'")
    assert lines[first + 2] == f"# b.py:{number}"
    assert lines[first + 3].endswith("'optim.Momentum()'")
