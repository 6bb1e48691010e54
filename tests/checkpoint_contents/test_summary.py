"""``flaxoptim-compat checkpoint inspect``: what a checkpoint holds, read without jax."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import jax_utils, serialization
from flax.training.train_state import TrainState

from flaxoptim_compat import catalogue, optim
from flaxoptim_compat.checkpoint_contents import fields
from flaxoptim_compat.cli import main
from flaxoptim_compat.optim.legacy_loop import LegacyState
from flaxoptim_compat.transforms.weight_norm import WeightNormState
from tests.data import goldens
from tests.generate.layers import GROUP_NORM
from tests.support.cases import CASES, case
from tests.support.group_norm import parameters
from tests.support.optax_states import named_tuples
from tests.support.optimizer_checkpoints import LAYOUTS
from tests.support.training import create

Inspected = Callable[[Any], str]


@pytest.fixture
def inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Inspected:
    """What the command says of a checkpoint, or of a tree that is written to one."""

    def said(held: Any) -> str:
        path = held if isinstance(held, Path) else written(tmp_path, held)
        assert main(["checkpoint", "inspect", str(path)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return str(out)

    return said


def written(directory: Path, tree: Any) -> Path:
    path = directory / "checkpoint.msgpack"
    path.write_bytes(serialization.to_bytes(tree))
    return path


def lines_about(output: str) -> dict[str, str]:
    """The lines with a name and a text, of the first optimizer."""
    block = output.partition("Optimizer at ")[2].partition("\n\n")[0]
    return dict(line.split(maxsplit=1) for line in block.splitlines()[1:])


@pytest.mark.parametrize(
    ("release", "name", "kind"),
    [
        ("flax-0.2.2", "RMSProp-default", "RMSProp"),
        ("flax-0.3.6", "WeightNorm-over_Adam", "WeightNorm over Adam, AdaBelief or LAMB"),
        ("flax-0.5.3", "Adafactor-default", "Adafactor"),
        ("flax-0.5.3", "Adam-default", "Adam, AdaBelief or LAMB"),
        ("flax-0.5.3", "Momentum-default", "Momentum or LARS"),
        ("flax-0.5.3", "RMSProp-centered", "RMSProp"),
        ("flax-0.5.3", "WeightNorm-over_Momentum", "WeightNorm over Momentum or LARS"),
    ],
)
def test_kind_layout_and_step_of_what_flax_wrote(
    release: str, name: str, kind: str, inspected: Inspected
) -> None:
    path = goldens.CHECKPOINTS / release / name / "step10.msgpack"
    about = lines_about(inspected(path))
    assert about["kind"] == kind
    assert about["step"] == "10"
    assert about["layout"] == f"legacy, as Flax {release.removeprefix('flax-')} wrote it"


def test_every_parameter_with_its_shape_and_size(inspected: Inspected) -> None:
    path = goldens.CHECKPOINTS / "flax-0.5.3" / "Adam-default" / "step10.msgpack"
    assert (
        inspected(path)
        == f"""\
{path}: msgpack, 4.2 kB in 19 entries

Optimizer at the top of the checkpoint
  kind      Adam, AdaBelief or LAMB
  layout    legacy, as Flax 0.5.3 wrote it
  step      10
  state     grad_ema, grad_sq_ema, 2.8 kB

  parameter        shape    dtype     size
  conv/kernel      2×3×5×4  float32  480 B
  dense/bias       6        float32   24 B
  dense/kernel     4×6      float32   96 B
  embed/embedding  16×12    float32  768 B
  norm/offset      5        float32   20 B
  temperature      scalar   float32    4 B
  6 parameters, 348 numbers, 1.4 kB
"""
    )


def test_which_optimizer_moves_which_parameter(inspected: Inspected) -> None:
    path = goldens.CHECKPOINTS / "flax-0.5.3" / "MultiOptimizer-two" / "step10.msgpack"
    output = inspected(path)
    kinds = "Adam, AdaBelief or LAMB and Momentum or LARS"
    assert lines_about(output)["kind"] == f"{kinds} for a part, 3 parameters frozen"
    rows = [line.split("  ") for line in output.splitlines() if "float32" in line]
    assert [row[-1] for row in rows] == [
        "Adam, AdaBelief or LAMB",
        "Momentum or LARS",
        "Adam, AdaBelief or LAMB",
        *["frozen"] * 3,
    ]


def test_a_list_of_states_does_not_tell_whose_they_are(inspected: Inspected) -> None:
    path = goldens.CHECKPOINTS / "flax-0.3.2" / "MultiOptimizer-two" / "step10.msgpack"
    about = lines_about(inspected(path))
    assert about["kind"].endswith("the file does not tell which optimizer moves which parameter")
    assert about["layout"] == "legacy, as Flax 0.3.2 wrote it"
    assert about["step"] == "10"


def test_optimizers_anywhere_and_what_stands_beside(inspected: Inspected) -> None:
    adam = create(case("Adam-default"), optim)
    momentum = create(case("Momentum-default"), optim)
    tree = {
        "generator": {"optimizer": adam, "ema": {"w": jnp.ones((3, 4))}},
        "opt": momentum.to_train_state(),
        "epoch": 7,
        "note": "a text",
        "nothing": None,
    }
    output = inspected(tree)
    headings = [line for line in output.splitlines() if line.startswith("Optimizer at")]
    assert headings == ["Optimizer at generator/optimizer", "Optimizer at opt"]
    beside = output.partition("Other entries:\n\n")[2].splitlines()
    assert [line.split() for line in beside] == [
        ["name", "shape", "dtype", "size"],
        ["generator/ema/w", "3×4", "float32", "48", "B"],
        ["epoch", "7", "int"],
        ["note", "'a", "text'", "str"],
        ["nothing", "None", "NoneType"],
    ]


@pytest.mark.parametrize("entry", LAYOUTS, ids=lambda entry: entry.name)
def test_a_train_state_has_the_kind_of_the_optimizer_it_came_from(
    entry: Any, inspected: Inspected
) -> None:
    optimizer = create(entry, optim)
    legacy = inspected(optimizer)
    state = inspected(optimizer.to_train_state())
    about = lines_about(state)
    if entry.name == "MultiOptimizer-three":
        # Its part without moments cannot be told from what nothing moves.
        assert about["kind"].endswith(
            "the file does not tell which optimizer moves which parameter"
        )
    else:
        assert about["kind"] == lines_about(legacy)["kind"]
    assert about["layout"] == "a TrainState with optax and inject_hyperparams"
    rate = optimizer.optimizer_def.hyper_params
    if not isinstance(rate, list):
        rate = getattr(rate, "inner", rate).learning_rate
        assert about["settable"] == f"learning_rate {rate}"


def test_a_train_state_with_plain_optax(inspected: Inspected) -> None:
    params = {"w": jnp.ones((2, 3))}
    for tx, kind in (
        (optax.adamw(0.1), "Adam, AdaBelief or LAMB"),
        (optax.sgd(0.1, momentum=0.9), "Momentum or LARS"),
        (optax.sgd(0.1), "GradientDescent"),
        (optax.rmsprop(0.1), "RMSProp"),
        (optax.adafactor(0.1), "Adafactor"),
        (
            optax.chain(optax.trace(0.9), optax.scale_by_adam(), optax.scale(-0.1)),
            "no optimizer of flax.optim (fields of its state: trace, mu, nu)",
        ),
    ):
        state = TrainState.create(apply_fn=None, params=params, tx=tx)
        about = lines_about(inspected(state))
        assert about["kind"] == kind
        assert about["layout"] == "a TrainState with optax"
        assert about["step"] == "0"
        assert about["settable"] == "nothing: the rates are in the program"


def test_a_step_with_a_copy_for_every_device(inspected: Inspected) -> None:
    tree = {
        "target": {"w": np.ones((8, 3), np.float32)},
        "state": {
            "step": np.full((8,), 5, np.int32),
            "param_states": {"w": {"momentum": np.zeros((8, 3), np.float32)}},
        },
    }
    about = lines_about(inspected(tree))
    assert about["step"] == "5, with a copy for each of 8 devices"


def test_parameters_with_axes_that_linen_has_no_more(inspected: Inspected) -> None:
    def said(tree: Any) -> str:
        text = inspected(tree)
        return text.partition(" may be of a GroupNorm of Linen up to Flax 0.3.5, such as ")[2]

    definition = optim.Momentum(0.1)
    five, today = GROUP_NORM / "5.msgpack", definition.create(parameters(0))
    assert inspected(five).count("4 parameters may be of a GroupNorm of Linen") == 1
    assert said(definition.create(parameters(3))).startswith("GroupNorm_0/scale.\n")
    assert not said(today)
    assert not said(jax_utils.replicate(today, devices=jax.devices()[:1]))
    # A single array, and a bias beside a kernel, are none of a GroupNorm.
    assert not said(definition.create(jnp.ones((1, 3))))
    assert not said(definition.create({"kernel": jnp.ones((4, 1, 3)), "bias": jnp.ones((1, 3))}))


def test_without_an_optimizer_it_says_so(inspected: Inspected) -> None:
    output = inspected({"params": {"w": jnp.ones(3)}})
    assert "No optimizer: neither 'target' beside 'state'" in output
    assert output.splitlines()[-1].split() == ["params/w", "3", "float32", "12", "B"]


def test_the_newest_of_a_directory(tmp_path: Path, inspected: Inspected) -> None:
    for step in (1, 20, 3):
        (tmp_path / f"checkpoint_{step}").write_bytes(serialization.to_bytes({"step": step}))
    output = inspected(tmp_path).splitlines()
    assert output[0].startswith(f"{tmp_path}/checkpoint_20: msgpack")
    assert output[1] == "The newest of 3 checkpoints in the directory, whose steps are 1, 3, 20."


def test_ten_thousand_parameters(tmp_path: Path, inspected: Inspected) -> None:
    params = {f"layer_{number}": np.zeros(2, np.float32) for number in range(10_000)}
    states = {name: {"momentum": value} for name, value in params.items()}
    state = {"step": np.int32(1), "param_states": states}
    path = written(tmp_path, {"target": params, "state": state})
    output = inspected(path).splitlines()
    assert len(output) == 111
    assert output[-2] == "  … and 9,900 more"
    assert output[-1] == "  10,000 parameters, 20,000 numbers, 80.0 kB"


@pytest.mark.parametrize("step", [np.float32("nan"), np.float64("inf"), 2.5, -3, 2**64 - 1, "x"])
@pytest.mark.parametrize("command", ["inspect", "convert"])
def test_a_step_that_is_none_is_refused(
    tmp_path: Path, step: Any, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    moments = {"grad_ema": np.ones(2), "grad_sq_ema": np.ones(2)}
    state = {"step": step, "param_states": {"k": moments}}
    path = written(tmp_path, {"target": {"k": np.ones(2)}, "state": state})
    new = ["new", "--to", "train-state", "--definition", "optim.Adam(0.1)"]
    arguments = ["checkpoint", command, str(path), *(new if command == "convert" else [])]
    assert main(arguments) == 2
    value = step if isinstance(step, str | int) else float(step)
    assert f"has the step {value!r}, which is no number" in " ".join(
        capsys.readouterr().err.split()
    )


def test_a_name_of_many_digits_is_no_place_in_a_list(tmp_path: Path, inspected: Inspected) -> None:
    name = "1" * 5000
    path = written(tmp_path, {"target": {name: np.ones(2)}, "state": {name: {"step": 1}}})
    assert f"/{'1' * 100}" in inspected(path)


PLAIN = [getattr(optim, row.name) for row in catalogue.PLAIN]


def test_the_fields_of_legacy_states_are_those_of_the_classes() -> None:
    expected: dict[frozenset[str], list[str]] = {frozenset({"v"}): ["RMSProp"]}
    for definition in PLAIN:
        state: Any = definition.formula.state
        names = [] if state is None else [field.name for field in dataclasses.fields(state)]
        expected.setdefault(frozenset(names), []).append(definition.__name__)
    assert {names: tuple(each) for names, each in expected.items()} == fields.LEGACY_KINDS


def test_the_fields_of_optax_states_are_those_of_the_classes() -> None:
    states = {LegacyState: {"param_states": ""}}
    for definition in PLAIN:
        states.update(definition.formula.state_fields)
    assert {frozenset(each._fields): names for each, names in states.items()} == fields.OPTAX_STATES
    assert frozenset(WeightNormState._fields) == fields.WEIGHT_NORM_STATE


def test_the_optax_states_of_a_definition_tell_its_kind() -> None:
    expected: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for definition in PLAIN:
        for states in combinations_in_use(definition):
            found = frozenset(tuple(sorted(state._fields)) for state in states)
            expected.setdefault(found, []).append(definition.__name__)
    unique = {found: tuple(dict.fromkeys(names)) for found, names in expected.items()}
    assert unique == fields.OPTAX_KINDS


def combinations_in_use(definition: Any) -> list[tuple[Any, ...]]:
    """The optax states that definitions of a class have together, whatever hyper-parameters."""
    of_class = [entry for entry in CASES if entry.optimizer == definition.__name__]
    known = tuple(definition.formula.state_fields)
    found = []
    for entry in of_class:
        values = entry.build(optim)
        chain = values.formula.transformation(values.values(values.hyper_params))
        found.append(tuple(state for state in named_tuples(chain.init(())) if state in known))
    return found
