"""Checkpoints in the layouts that releases before Flax 0.5.3 wrote."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import optim
from tests.data import goldens
from tests.support.cases import case, parameters
from tests.support.continued import Continued, allowed
from tests.support.optimizer_checkpoints import TrainState
from tests.support.side_by_side import assert_same_bits
from tests.support.training import create, train

OLD = [each for each in goldens.checkpoints() if each[0] != "flax-0.5.3"]
WEIGHT_NORM = [name for _, name in OLD if name.startswith("WeightNorm")]

every_old_checkpoint = pytest.mark.parametrize(("release", "name"), OLD)


def raw(release: str, name: str, step: int = 10) -> Any:
    """The state dict that a release wrote."""
    return serialization.msgpack_restore(goldens.checkpoint(release, name, step))


def read(release: str, name: str, step: int = 10) -> Any:
    """The same as an optimizer."""
    return create(case(name), optim).restore_state(raw(release, name, step))


def of_group(part: str) -> optim.ModelParamTraversal:
    """The parameters that have this in their path."""
    return optim.ModelParamTraversal(lambda path, _: part in path)


def entries(tree: Any, path: str) -> Any:
    """What a nested dict holds at a path."""
    for name in path.split("/"):
        tree = tree[name]
    return tree


@every_old_checkpoint
def test_old_checkpoint_loads_into_the_present_layout(release: str, name: str) -> None:
    fresh, restored = create(case(name), optim), read(release, name)
    assert jax.tree.structure(restored) == jax.tree.structure(fresh)
    pairs = zip(jax.tree.leaves(fresh), jax.tree.leaves(restored), strict=True)
    assert all((one.shape, one.dtype) == (other.shape, other.dtype) for one, other in pairs)
    assert int(restored.state.step) == 10
    assert_same_bits(serialization.to_state_dict(restored)["target"], raw(release, name)["target"])
    # Every array that has kept its name is there, bit by bit.
    kept = {np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(restored)}
    written = jax.tree_util.tree_leaves_with_path(raw(release, name))
    assert all(
        leaf.tobytes() in kept for path, leaf in written if path[-1].key not in ("mult", "step")
    )


@every_old_checkpoint
def test_so_it_does_inside_a_train_state_and_onto_every_device(release: str, name: str) -> None:
    single, fresh = read(release, name), create(case(name), optim)
    written = {"optimizer": raw(release, name), "step": np.int32(10)}
    state = TrainState(fresh, jnp.asarray(0))
    restored = serialization.from_bytes(state, serialization.msgpack_serialize(written))
    assert_same_bits(restored.optimizer, single)
    copies = fresh.replicate(jax.devices()[:2])
    restored = copies.restore_state(raw(release, name))
    assert jax.tree.structure(restored) == jax.tree.structure(copies)
    for device in range(2):
        one = jax.tree.map(lambda leaf, device=device: leaf[device], restored)
        assert_same_bits(one.replace(optimizer_def=single.optimizer_def), single)


@pytest.mark.parametrize(("release", "name"), [each for each in OLD if each[1] not in WEIGHT_NORM])
def test_old_checkpoint_trains_on_as_in_its_release(release: str, name: str) -> None:
    mine = Continued.of(name, read(release, name))
    assert mine.error(read(release, name, 20)) <= allowed(name)


@pytest.mark.parametrize("name", WEIGHT_NORM)
def test_old_weight_norm_gets_the_factors_of_its_parameters(name: str) -> None:
    written, restored = raw("flax-0.3.6", name), read("flax-0.3.6", name)
    state = serialization.to_state_dict(restored)["state"]["param_states"]
    for path in ("conv/kernel", "dense/kernel", "embed/embedding"):
        param, mine = entries(written["target"], path), entries(state, path)
        mult = entries(written["state"]["param_states"], path)["mult"]
        # Flax 0.3.6 took its direction and scale from these at the start of a step.
        assert_same_bits(mine["direction"], jnp.asarray(param) / mult)
        norms = np.sqrt(np.square(param, dtype=np.float64).sum((*range(param.ndim - 1),)))
        # The sum of up to 30 squares in float32.
        np.testing.assert_allclose(mine["scale"], norms * np.sign(mult), rtol=1e-6)
    bias = entries(state, "dense/bias")
    np.testing.assert_array_equal(bias["direction"], written["target"]["dense"]["bias"])
    assert bias["scale"] == {}


@pytest.mark.parametrize("name", WEIGHT_NORM)
def test_old_weight_norm_trains_on_as_the_genuine_from_the_same_factors(
    genuine: Any, name: str
) -> None:
    # Not as Flax 0.3.6, whose gradient took the direction to have length one.
    restored = read("flax-0.3.6", name)
    theirs = serialization.from_bytes(create(case(name), genuine), serialization.to_bytes(restored))
    theirs = train(theirs, case(name), range(10, 20))
    state = serialization.from_state_dict(restored.state, serialization.to_state_dict(theirs.state))
    mine = Continued.of(name, restored)
    assert mine.error(restored.replace(target=theirs.target, state=state)) <= allowed(name)


def with_list(state: dict[str, Any], keep: type) -> Any:
    """The state of MultiOptimizer-two as a list or tuple of whole optimizer states."""
    groups = (("conv/kernel", "dense/kernel"), ("dense/bias",))
    return keep(
        optim.OptimizerState(
            state["step"], keep(entries(state["param_states"], path) for path in group)
        )
        for group in groups
    )


@pytest.mark.parametrize("keep", [list, tuple])
def test_multi_optimizer_takes_a_list_or_tuple_of_states(keep: type) -> None:
    entry = case("MultiOptimizer-two")
    source = train(create(entry, optim), entry, range(3))
    written = serialization.to_state_dict(source)
    old = serialization.to_bytes(
        {"target": written["target"], "state": with_list(written["state"], keep)}
    )
    assert_same_bits(serialization.from_bytes(create(entry, optim), old), source)


def test_old_states_inside_an_old_multi_optimizer() -> None:
    names = ("RMSProp-default", "WeightNorm-over_Momentum")
    old = [raw(*each) for each in (("flax-0.2.2", names[0]), ("flax-0.3.6", names[1]))]
    groups = (
        ("dense/bias", "embed/embedding", "norm/offset", "temperature"),
        ("conv/kernel", "dense/kernel"),
    )
    states = [
        optim.OptimizerState(
            np.int32(10), [entries(each["state"]["param_states"], path) for path in group]
        )
        for each, group in zip(old, groups, strict=True)
    ]
    target = copy.deepcopy(old[0]["target"])
    for layer in ("conv", "dense"):
        target[layer]["kernel"] = old[1]["target"][layer]["kernel"]
    definition = optim.MultiOptimizer(
        (
            optim.ModelParamTraversal(lambda path, _: "kernel" not in path),
            case(names[0]).build(optim),
        ),
        (of_group("kernel"), case(names[1]).build(optim)),
    )
    content = serialization.to_bytes({"target": target, "state": states})
    fresh = definition.create(jax.tree.map(jnp.asarray, parameters()))
    restored = serialization.from_bytes(fresh, content)
    assert jax.tree.structure(restored) == jax.tree.structure(fresh)
    after = Continued.of("RMSProp-default", restored, compiled=False).optimizer
    for release, name, group in zip(("flax-0.2.2", "flax-0.3.6"), names, groups, strict=True):
        alone = Continued.of(name, read(release, name), compiled=False).optimizer
        both = [serialization.to_state_dict(each) for each in (after, alone)]
        for path in group:
            assert_same_bits(*(entries(each["target"], path) for each in both))
            assert_same_bits(*(entries(each["state"]["param_states"], path) for each in both))


@pytest.mark.parametrize(
    ("name", "states"), [("Adam-default", ["state"]), ("MultiOptimizer-two", ["0", "1"])]
)
def test_step_as_python_int_becomes_an_int32_scalar(name: str, states: list[str]) -> None:
    release = "flax-0.5.3" if states == ["state"] else "flax-0.3.2"
    written = raw(release, name)
    for each in states:
        (written if each == "state" else written["state"])[each]["step"] = 10
    restored = serialization.from_bytes(
        create(case(name), optim), serialization.msgpack_serialize(written)
    )
    assert_same_bits(restored, read(release, name))
    assert (restored.state.step.dtype, restored.state.step.shape) == (np.int32, ())


class Layer(NamedTuple):
    """A target of a kind that up to Flax 0.3.4 had its fields numbered in checkpoints."""

    kernel: Any
    bias: Any


def numbered(layer: dict[str, Any]) -> dict[str, Any]:
    """A namedtuple as Flax 0.3.4 wrote it."""
    fields = {"0": "kernel", "1": "bias"}
    values = {number: layer[name] for number, name in fields.items()}
    return {"name": "Layer", "fields": fields, "values": values}


def test_namedtuples_with_numbered_fields(genuine: Any) -> None:
    params = {"dense": Layer(jnp.ones((2, 3)), jnp.ones(3))}
    fresh = optim.RMSProp(0.1).create(params)
    source = fresh.apply_gradient(params)
    written = serialization.to_state_dict(source)
    old = copy.deepcopy(written)
    old["target"]["dense"] = numbered(old["target"]["dense"])
    old["state"]["param_states"]["dense"] = numbered(old["state"]["param_states"]["dense"])
    theirs = serialization.from_state_dict(genuine.RMSProp(0.1).create(params), old)
    assert_same_bits(serialization.to_state_dict(theirs), written)
    assert_same_bits(serialization.from_state_dict(fresh, old), source)
    # Together with the moments' own old layout.
    for state in old["state"]["param_states"]["dense"]["values"].values():
        del state["mg"]
    assert_same_bits(serialization.from_state_dict(fresh, old), source)
