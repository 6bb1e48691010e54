"""Old checkpoints as those of a nnx.Optimizer, restored as the report says, and back."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import optax
import pytest
from flax import serialization

from flaxoptim_compat import from_nnx, optim, to_nnx
from flaxoptim_compat.checkpoint_contents.summary import summary
from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings
from flaxoptim_compat.checkpoint_files import CheckpointError, open_checkpoint
from tests.support.compiled_steps import NAMES, gradients, make, optax_step, train
from tests.support.nnx_models import (
    compiled_step,
    gradients_like,
    model_like,
    needs_nnx,
)
from tests.support.options import ONE_EACH, each
from tests.support.side_by_side import assert_same

FORMATS: list[Literal["msgpack", "orbax"]] = ["msgpack", "orbax"]
# The test model with other names, one of them in a list.
PATHS = {"conv": "encoder/0", "dense": "encoder/1", "dense/bias": "bias", "norm": "norm"}
BACK = {"encoder/0": "conv", "encoder/1": "dense", "bias": "dense/bias"}


def trained(name: str) -> Any:
    return train(make(name), range(2))


def saved(tree: Any, tmp_path: Path) -> Path:
    path = tmp_path / "old"
    path.write_bytes(serialization.to_bytes(tree))
    return path


def renamed_parameters(params: Mapping[str, Any]) -> Any:
    """The parameters of the test model, where ``PATHS`` has them."""
    rest = {name: params[name] for name in params if name not in ("conv", "dense")}
    encoder = [params["conv"], {"kernel": params["dense"]["kernel"]}]
    return {**rest, "encoder": encoder, "bias": params["dense"]["bias"]}


def restored(report: str, model: Any, optimizer: Any) -> None:
    """Do what the report says."""
    code = report.partition("Restore it with\n\n")[2].partition("\n\nwhere optimizer is ")[0]
    scope = {"jax": jax, "jnp": jnp, "model": model, "optimizer": optimizer}
    exec(compile(textwrap.dedent(code), "<report>", "exec"), scope)


@needs_nnx
@pytest.mark.parametrize("name", each(NAMES, [case.name for case in ONE_EACH]))
def test_what_is_restored_is_the_old_optimizer_and_comes_back_byte_for_byte(
    name: str, tmp_path: Path
) -> None:
    optimizer = trained(name)
    source, new, back = saved(optimizer, tmp_path), tmp_path / "new", tmp_path / "back"
    definition = optimizer.optimizer_def
    report = convert_checkpoint(
        source, new, ConversionSettings("nnx", definitions=definition, paths=PATHS)
    )
    model = model_like(renamed_parameters(optimizer.target))
    # A fresh one, such as a new program makes, whose values are all replaced.
    fresh = definition.create(jax.tree.map(jnp.zeros_like, optimizer.target))
    moved = to_nnx(fresh, model, paths=PATHS)
    restored(report, model, moved)
    assert_same(from_nnx(moved, model), optimizer)
    convert_checkpoint(new, back, ConversionSettings("legacy", definitions=definition, paths=BACK))
    assert back.read_bytes() == source.read_bytes()


@needs_nnx
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("name", ["Adam-all", "MultiOptimizer-two", "WeightNorm-over_Adam"])
def test_what_nnx_saves_later_comes_back(
    name: str, format_: Literal["msgpack", "orbax"], tmp_path: Path
) -> None:
    from flax import nnx
    from orbax.checkpoint import StandardCheckpointer

    optimizer = trained(name)
    settings = ConversionSettings("nnx", definitions=optimizer.optimizer_def)
    new, later, back = (tmp_path / each for each in ("new", "later", "back"))
    report = convert_checkpoint(saved(optimizer, tmp_path), new, settings, format_=format_)
    model = model_like(optimizer.target)
    moved = to_nnx(optimizer.optimizer_def.create(optimizer.target), model)
    restored(report, model, moved)
    state, grads = optimizer.to_train_state(), gradients(optimizer.target, 2)
    compiled_step()(moved, model, gradients_like(model, grads))
    again = optim.Optimizer.from_train_state(optax_step(state, grads))
    assert_same(from_nnx(moved, model), again)
    # What flax's own documentation says of saving, and from there back to the old program.
    with StandardCheckpointer() as checkpointer:
        pure = nnx.to_pure_dict(nnx.state({"model": model, "optimizer": moved}))
        checkpointer.save(later, pure)
    settings = ConversionSettings("legacy", definitions=optimizer.optimizer_def)
    convert_checkpoint(later, back, settings, format_="msgpack")
    assert back.read_bytes() == serialization.to_bytes(again)


@needs_nnx
def test_the_keys_are_those_of_nnx_itself(tmp_path: Path) -> None:
    from flax import nnx

    for name in ("Adam-all", "MultiOptimizer-two", "WeightNorm-over_Adam", "Adafactor-all"):
        optimizer = trained(name)
        model = model_like(optimizer.target)
        pure = nnx.to_pure_dict(nnx.state({"model": model, "optimizer": to_nnx(optimizer, model)}))
        (tmp_path / name).mkdir()
        source, new = saved(optimizer, tmp_path / name), tmp_path / name / "new"
        convert_checkpoint(
            source, new, ConversionSettings("nnx", definitions=optimizer.optimizer_def)
        )
        assert_same(serialization.msgpack_restore(new.read_bytes()), _with_texts(pure))


def _with_texts(tree: Any) -> Any:
    """The numbers among the names as a file has them."""
    if not isinstance(tree, dict):
        return tree
    return {str(name): _with_texts(child) for name, child in tree.items()}


def test_a_train_state_becomes_the_same(tmp_path: Path) -> None:
    optimizer = trained("WeightNorm-over_Adam")
    definition = optimizer.optimizer_def
    source = saved(optimizer, tmp_path)
    convert_checkpoint(
        source, tmp_path / "state", ConversionSettings("train-state", definitions=definition)
    )
    convert_checkpoint(tmp_path / "state", tmp_path / "one", ConversionSettings("nnx", paths=PATHS))
    convert_checkpoint(
        source, tmp_path / "other", ConversionSettings("nnx", definitions=definition, paths=PATHS)
    )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_what_is_read_off_the_fields(tmp_path: Path) -> None:
    for name in ("Momentum-default", "GradientDescent-default", "LARS-default"):
        (tmp_path / name).mkdir()
        optimizer = trained(name)
        source, new = saved(optimizer, tmp_path / name), tmp_path / name / "new"
        kind = name.partition("-")[0]
        also = {} if kind == "GradientDescent" else {"name": kind}
        report = convert_checkpoint(source, new, ConversionSettings("nnx", **also))  # type: ignore[arg-type]
        assert '\n  optimizer.opt_state.hyperparams["learning_rate"][...] = 0.001' in report
        convert_checkpoint(new, tmp_path / name / "back", ConversionSettings("legacy"))
        assert (tmp_path / name / "back").read_bytes() == source.read_bytes()


def test_a_transformation_of_the_new_program(tmp_path: Path) -> None:
    optimizer = trained("Adam-default")
    tx = optax.chain(optax.clip(1.0), optax.adam(0.1))
    new = tmp_path / "new"
    convert_checkpoint(
        saved(optimizer, tmp_path),
        new,
        ConversionSettings("nnx", definitions=tx, paths={"dense": "hidden"}),
    )
    tree = serialization.msgpack_restore(new.read_bytes())
    assert list(tree["optimizer"]["opt_state"]) == ["1"]
    moments = tree["optimizer"]["opt_state"]["1"]["0"]["mu"]
    assert_same(
        moments["hidden"]["kernel"], optimizer.state.param_states["dense"]["kernel"].grad_ema
    )


def test_what_stands_beside_it_stays(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1).create({"w": jnp.ones(3)})
    everything = {"training": {"optimizer": optimizer}, "batch_stats": {"mean": jnp.ones(2)}}
    new = tmp_path / "new"
    report = convert_checkpoint(
        saved(everything, tmp_path),
        new,
        ConversionSettings("nnx", definitions=optimizer.optimizer_def),
    )
    tree = serialization.msgpack_restore(new.read_bytes())
    assert_same(tree["batch_stats"], {"mean": jnp.ones(2)})
    assert list(tree["training"]["optimizer"]) == ["model", "optimizer"]
    assert "msgpack_restore(file.read())['training']['optimizer']\n" in report


def test_what_inspect_shows(tmp_path: Path) -> None:
    optimizer = trained("Adam-default")
    new = tmp_path / "new"
    convert_checkpoint(
        saved(optimizer, tmp_path),
        new,
        ConversionSettings("nnx", definitions=optimizer.optimizer_def, paths=PATHS),
    )
    with open_checkpoint(new) as checkpoint:
        lines = summary(checkpoint).splitlines()
    assert lines[2:8] == [
        "Optimizer at the top of the checkpoint",
        "  kind      Adam, AdaBelief or LAMB",
        "  layout    a nnx.Optimizer with optax and inject_hyperparams",
        "  step      2",
        "  state     mu, nu, 2.8 kB",
        "  settable  learning_rate 0.05",
    ]
    assert any(line.startswith("  encoder/1/kernel ") for line in lines)


# --- what is refused


def refused(source: Path, to: Any, **settings: Any) -> str:
    destination = source.with_name("refused")
    with pytest.raises(CheckpointError) as caught:
        convert_checkpoint(source, destination, ConversionSettings(to, **settings))
    assert not destination.exists()
    return str(caught.value).removeprefix(
        "Cannot convert the optimizer at the top of the checkpoint: "
    )


def test_what_cannot_be_converted(tmp_path: Path) -> None:
    optimizer = optim.Adam(0.1).create({"a": jnp.ones(3), "b": jnp.ones(3)})
    definition = optimizer.optimizer_def
    source, new, state = saved(optimizer, tmp_path), tmp_path / "new", tmp_path / "state"
    text = refused(source, "nnx", definitions=definition, paths={"c": "d"})
    assert text == (
        "No path of a parameter begins with 'c', which is a key of `paths`. The parameters are"
        " a, b."
    )
    text = refused(source, "train-state", definitions=definition, paths={"a": "c"})
    assert text.startswith("--paths is for the way to NNX")
    convert_checkpoint(source, new, ConversionSettings("nnx", definitions=definition))
    assert "Convert the checkpoint --to legacy" in refused(
        new, "train-state", definitions=definition
    )
    assert refused(new, "nnx").endswith("is a nnx.Optimizer already.")
    convert_checkpoint(source, state, ConversionSettings("train-state", definitions=definition))
    assert "needs no definition" in refused(state, "nnx", definitions=definition)
    everything = serialization.msgpack_restore(state.read_bytes())
    del everything["step"]
    assert "no number 'step'" in refused(saved(everything, tmp_path), "nnx")
    copies = {**everything, "step": jnp.zeros(8, jnp.int32)}
    assert "a copy for every device" in refused(saved(copies, tmp_path), "nnx")


def test_the_momentum_of_optax_lars_is_not_taken_for_ours(tmp_path: Path) -> None:
    params = {"w": jnp.ones((2, 3))}
    in_state = optax.inject_hyperparams(optax.lars)
    cases_ = [
        (optax.sgd(0.1, momentum=0.9), True),
        (optax.lars(0.1), False),
        (in_state(0.1), False),
    ]
    for tx, passes in cases_:
        state = serialization.to_state_dict(tx.init(params))
        pure = _without_empty(state)
        tree = {"model": params, "optimizer": {"step": jnp.uint32(0), "opt_state": pure}}
        if passes:
            convert_checkpoint(
                saved(tree, tmp_path), tmp_path / "back", ConversionSettings("legacy")
            )
        else:
            assert "as in optax.lars" in refused(saved(tree, tmp_path), "legacy")


def _without_empty(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    children = {name: _without_empty(child) for name, child in tree.items()}
    return {name: child for name, child in children.items() if not isinstance(child, dict) or child}
