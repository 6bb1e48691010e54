"""``checkpoint convert``: what it asks, what a definition decides, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization, struct

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_files import CheckpointError
from tests.support.cases import case
from tests.support.checkpoint_conversions import converted, with_moments, with_rate, written
from tests.support.training import create

PARAMS = {"bias": jnp.zeros(3), "kernel": jnp.linspace(-1.0, 1.0, 6).reshape(2, 3)}


def legacy_file(path: Path, name: str) -> tuple[Any, Path]:
    optimizer = with_moments(create(case(name), optim))
    return optimizer, written(path / "legacy", optimizer)


@pytest.mark.parametrize("wrapped", [False, True])
def test_where_two_layouts_fit_it_says_what_decides(wrapped: bool, tmp_path: Path) -> None:
    name = "WeightNorm-over_Adam" if wrapped else "Adam-default"
    _, source = legacy_file(tmp_path, name)
    with pytest.raises(CheckpointError) as error:
        converted(source, "train-state")
    assert str(error.value) == (
        "Cannot convert the optimizer at the top of the checkpoint: the fields of the state are"
        " grad_ema, grad_sq_ema, those of Adam, AdaBelief or LAMB, whose TrainStates differ. Name"
        " the optimizer: --optimizer Adam, --optimizer AdaBelief or --optimizer LAMB, without"
        " weight decay. A --definition names the optimizer too, with its learning rate, such as"
        " --definition 'optim.Adam(0.001, weight_decay=0.1)'."
    )
    assert sorted(each.name for each in tmp_path.iterdir()) == ["legacy"]


def test_the_name_decides(tmp_path: Path) -> None:
    optimizer, source = legacy_file(tmp_path, "Adam-default")
    adam = converted(source, "train-state", name="Adam")
    (tmp_path / "legacy.train-state").unlink()
    assert converted(source, "train-state", name="AdaBelief") == adam
    (tmp_path / "legacy.train-state").unlink()
    lamb = converted(source, "train-state", name="LAMB")
    twin = optim.LAMB(0.05).create(optimizer.target).replace(state=optimizer.state)
    assert with_rate(lamb, 0.05) == serialization.to_bytes(twin.to_train_state())


def test_a_name_that_does_not_fit(tmp_path: Path) -> None:
    _, source = legacy_file(tmp_path, "Adam-default")
    with pytest.raises(CheckpointError, match="those of AdaBelief, Adam, LAMB"):
        converted(source, "train-state", name="Momentum")


def test_hyper_parameters_that_shape_the_state_of_adafactor(tmp_path: Path) -> None:
    _, source = legacy_file(tmp_path, "Adafactor-default")
    with pytest.raises(CheckpointError, match="--optimizer Adafactor assumes clipping"):
        converted(source, "train-state")
    for name in ("clipping_threshold", "weight_decay_rate", "all"):
        entry = case(f"Adafactor-{name}")
        directory = tmp_path / name
        directory.mkdir()
        optimizer, source = legacy_file(directory, entry.name)
        content = converted(source, "train-state", definitions=entry.build(optim))
        assert content == serialization.to_bytes(optimizer.to_train_state())


def test_several_optimizers_of_a_multi_optimizer_need_the_definition(tmp_path: Path) -> None:
    _, source = legacy_file(tmp_path, "MultiOptimizer-two")
    with pytest.raises(CheckpointError, match=r"moves which parameter.*--definition 'optim.Multi"):
        converted(source, "train-state")


def test_one_optimizer_on_a_part_is_a_focus(tmp_path: Path) -> None:
    focus = optim.ModelParamTraversal(lambda path, _: path.endswith("kernel"))
    optimizer = optim.Adagrad(0.05).create(PARAMS, focus=focus)
    content = converted(written(tmp_path / "legacy", optimizer), "train-state")
    assert with_rate(content, 0.05) == serialization.to_bytes(optimizer.to_train_state())


def test_a_learning_rate_that_the_definition_lacks_is_nan(tmp_path: Path) -> None:
    optimizer = optim.Adam().create(PARAMS)
    source = written(tmp_path / "legacy", optimizer)
    content = converted(source, "train-state", definitions=optimizer.optimizer_def)
    rated = serialization.to_bytes(optimizer.to_train_state(learning_rate=0.05))
    assert with_rate(content, 0.05) == rated


@struct.dataclass
class _Hyper:
    learning_rate: Any


@struct.dataclass
class _Velocity:
    velocity: Any


class OwnOptimizer(optim.OptimizerDef):
    """A definition that only its program knows."""

    def __init__(self) -> None:
        super().__init__(_Hyper(0.1))

    def init_param_state(self, param: Any) -> Any:
        return _Velocity(jnp.zeros_like(param))

    def apply_param_gradient(
        self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
    ) -> Any:
        velocity = state.velocity + grad
        return param - hyper_params.learning_rate * velocity, _Velocity(velocity)


def test_a_definition_with_code_of_its_own(tmp_path: Path) -> None:
    optimizer = with_moments(OwnOptimizer().create(PARAMS))
    source = written(tmp_path / "legacy", optimizer)
    with pytest.raises(CheckpointError, match=r"fields of its state: velocity\)"):
        converted(source, "train-state")
    content = converted(source, "train-state", definitions=OwnOptimizer())
    assert content == serialization.to_bytes(optimizer.to_train_state())
    (tmp_path / "state").write_bytes(content)
    again = converted(tmp_path / "state", "legacy", definitions=OwnOptimizer())
    assert again == source.read_bytes()


def test_a_definition_that_does_not_fit_the_file(tmp_path: Path) -> None:
    _, source = legacy_file(tmp_path, "Adam-default")
    with pytest.raises(CheckpointError, match="conv/kernel/momentum expected an array"):
        converted(source, "train-state", definitions=optim.Momentum(0.1))
    state = written(tmp_path / "state", create(case("Adam-default"), optim).to_train_state())
    with pytest.raises(CheckpointError, match="has mu, nu in the optax state, which does not fit"):
        converted(state, "legacy", definitions=optim.Momentum(0.1))


def test_a_definition_that_fails(tmp_path: Path) -> None:
    focus = optim.ModelParamTraversal(lambda path, value: value.no_such_attribute)
    _, source = legacy_file(tmp_path, "Adam-default")
    with pytest.raises(CheckpointError, match=r"the definition raises AttributeError: .*no_such"):
        converted(source, "train-state", definitions=optim.MultiOptimizer((focus, optim.Adam(0.1))))


def test_several_optimizers_want_definitions_by_path(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    source = written(tmp_path / "legacy", {"a": optimizer, "b": {"c": optimizer}})
    definition = optimizer.optimizer_def
    with pytest.raises(CheckpointError, match=r"at a, b/c\. Give a dict by these paths"):
        converted(source, "train-state", definitions=definition)
    with pytest.raises(CheckpointError, match="a definition for d, but the optimizers are at a, b"):
        converted(source, "train-state", definitions={"d": definition})
    content = converted(source, "train-state", definitions={"a": definition, "b/c": definition})
    state = optimizer.to_train_state()
    assert content == serialization.to_bytes({"a": state, "b": {"c": state}})


@pytest.mark.parametrize(
    ("definition", "rate"),
    [
        (optim.Adam(0.1), "fixed"),
        (optim.Adam(beta1=...), "settable"),
        (optim.Adam(...), "settable"),
    ],
)
def test_one_definition_is_that_of_several_whose_rates_are_not_written(
    tmp_path: Path, definition: Any, rate: Any
) -> None:
    optimizer = optim.Adam(0.1).create(PARAMS)
    contents = []
    for name, given in {"one": definition, "two": {"a": definition, "b/c": definition}}.items():
        source = written(tmp_path / name, {"a": optimizer, "b": {"c": optimizer}})
        contents.append(converted(source, "train-state", definitions=given, rate=rate))
    assert contents[0] == contents[1]


def test_nothing_to_convert(tmp_path: Path) -> None:
    _, source = legacy_file(tmp_path, "Adam-default")
    with pytest.raises(CheckpointError, match="at the top of the checkpoint is a legacy op"):
        converted(source, "legacy")
    with pytest.raises(CheckpointError, match="The checkpoint has no optimizer"):
        converted(written(tmp_path / "params", PARAMS), "train-state")


def test_an_optimizer_with_a_copy_for_every_device_is_refused(tmp_path: Path) -> None:
    optimizer = optim.Momentum(0.1).create(PARAMS)
    copies = jax.tree.map(lambda leaf: jnp.stack([leaf] * 2), optimizer)
    with pytest.raises(CheckpointError, match=r"a copy for every device.*unreplicate"):
        converted(written(tmp_path / "legacy", copies), "train-state", name="Momentum")


def test_a_moment_of_another_shape_is_refused(tmp_path: Path) -> None:
    optimizer = optim.Momentum(0.1).create(PARAMS)
    tree = serialization.to_state_dict(optimizer)
    tree["state"]["param_states"]["kernel"]["momentum"] = np.zeros((3, 2), np.float32)
    source = written(tmp_path / "legacy", tree)
    with pytest.raises(CheckpointError, match=r"kernel/momentum expected .* \(2, 3\).*\(3, 2\)"):
        converted(source, "train-state", name="Momentum")
