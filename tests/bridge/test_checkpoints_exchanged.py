"""Checkpoints that Flax 0.5.3 wrote train on here, and those written here train on there.

So do those in the layouts of earlier releases, which become the present one.
"""

from __future__ import annotations

import copy
import dataclasses
import math
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import compiled_steps, optim
from tests.data import goldens
from tests.support.cases import CASES, case, gradients, parameters
from tests.support.optimizer_checkpoints import TrainState
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import OLD_ENVIRONMENT
from tests.support.side_by_side import assert_same_bits
from tests.support.tolerances import tolerance
from tests.support.training import create, train
from tests.support.ulps import LargestValues, errors_in_ulps, worst

# One unit of bfloat16 in units of float32: XLA has changed since jax 0.4.13, and where the last bit
# of a float32 tips the rounding to bfloat16, the next step starts from another momentum.
# Run kernel by kernel, jax 0.4.30 ends 1.016 of these units away; jax 0.4.38 to 0.12 within one.
ALLOWED_FOR = {
    "Adafactor-bf16_momentum": 2.0**16 * (1.0 if jax.__version_info__ >= (0, 4, 38) else 1.02)
}


def allowed(name: str) -> float:
    """How far ten steps may lead away, on another jax version even where nothing else differs."""
    row = tolerance(name.removeprefix("Replicated-"), "float32", "varying")
    return ALLOWED_FOR.get(name, max(1.5, row.params) * math.sqrt(10))


@dataclasses.dataclass
class Continued:
    """An optimizer after steps 10 to 20, and how large its leaves became."""

    optimizer: Any
    largest: LargestValues

    @classmethod
    def of(cls, name: str, optimizer: Any, compiled: bool = True) -> Continued:
        """Train an optimizer that has done ten steps."""
        largest = LargestValues(optimizer)
        with compiled_steps(compiled):
            optimizer = train(optimizer, case(name), range(10, 20), largest.add)
        return cls(optimizer, largest)

    def error(self, other: Any) -> float:
        """The largest error of any leaf of another optimizer."""
        assert int(self.optimizer.state.step) == int(other.state.step) == 20
        return worst(errors_in_ulps(self.optimizer, other, self.largest))


FLAX = "flax-0.5.3"
WRITTEN = [name for release, name in goldens.checkpoints() if release == FLAX]
SINGLE = [name for name in WRITTEN if not name.startswith("Replicated-")]
HERE = [entry.name for entry in CASES if entry.name.endswith("-default") or entry.name in SINGLE]
TRAIN_ON = OLD_ENVIRONMENT / "train_on.py"


# Kernel by kernel these moments are the same on both jax versions; others have sums in them.
SAME_MOMENTS = {"Adam-default", "LAMB-all", "Momentum-default", "RMSProp-centered"}
SAME_MOMENTS |= {"RMSProp-default"}
# Kernel by kernel the parameters are the same to the bit, too, as the genuine ones in this process.
SAME_PARAMETERS = {"Adafactor-default", "Adafactor-bf16_momentum", "Momentum-default"}


def read(name: str, step: int, into: Any = optim) -> Any:
    """The optimizer that Flax 0.5.3 wrote."""
    fresh = create(case(name.removeprefix("Replicated-")), into)
    return serialization.from_bytes(fresh, goldens.checkpoint(FLAX, name, step))


@pytest.mark.parametrize("name", SINGLE)
def test_checkpoint_of_flax_restores_to_what_the_genuine_restores(genuine: Any, name: str) -> None:
    mine = serialization.to_state_dict(read(name, 10))
    assert_same_bits(mine, serialization.to_state_dict(read(name, 10, genuine)))
    assert_same_bits(mine, serialization.msgpack_restore(goldens.checkpoint(FLAX, name, 10)))
    assert serialization.to_bytes(read(name, 10)) == goldens.checkpoint(FLAX, name, 10)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "kernel_by_kernel"])
@pytest.mark.parametrize("name", SINGLE)
def test_checkpoint_of_flax_trains_on_to_its_step_20(name: str, compiled: bool) -> None:
    # As the recorded one trained: of a 0-d array of numpy, numpy 1 makes float64.
    restored = jax.tree.map(jnp.asarray, read(name, 10))
    mine, theirs = Continued.of(name, restored, compiled), read(name, 20)
    assert mine.error(theirs) <= allowed(name)
    if name in SAME_MOMENTS and not compiled:
        assert_same_bits(mine.optimizer.state, theirs.state)


@pytest.mark.parametrize("name", SINGLE)
def test_checkpoint_of_flax_trains_on_as_in_the_genuine(genuine: Any, name: str) -> None:
    mine = Continued.of(name, read(name, 10), compiled=False)
    # As both are restored, with arrays of numpy, numpy does a part of the arithmetic.
    theirs = train(read(name, 10, genuine), case(name), range(10, 20))
    both = (mine.optimizer, theirs)
    # The step that flax counts in numpy is an int64 with numpy 1.
    assert int(mine.optimizer.state.step) == int(theirs.state.step)
    states = (each.state.param_states for each in both)
    assert_same_bits(*map(serialization.to_state_dict, states))
    if name in SAME_PARAMETERS:
        assert_same_bits(*(each.target for each in both))
    # Optax scales the update before it subtracts it: rounded once more, or in another order.
    assert mine.error(mine.optimizer.replace(target=theirs.target)) <= allowed(name)


@pytest.fixture(scope="module")
def sent(old_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of our checkpoints at step 10, and of what the genuine Flax made of them."""
    directory = tmp_path_factory.mktemp("sent")
    for name in HERE:
        optimizer = train(create(case(name), optim), case(name), range(10))
        (directory / f"{name}.step10").write_bytes(serialization.to_bytes(optimizer))
    run_in_old_environment(TRAIN_ON, str(directory))
    return directory


@pytest.mark.parametrize("name", HERE)
def test_flax_reads_our_checkpoint_and_trains_it_on_as_we_do(sent: Path, name: str) -> None:
    content = (sent / f"{name}.step10").read_bytes()
    assert (sent / f"{name}.read").read_bytes() == content
    fresh = create(case(name), optim)
    mine = Continued.of(name, serialization.from_bytes(fresh, content))
    theirs = serialization.from_bytes(fresh, (sent / f"{name}.step20").read_bytes())
    assert mine.error(theirs) <= allowed(name)


def in_shares(grads: Any) -> Any:
    """The gradients as each of two replicas is given them, averaging to one."""
    shares = np.asarray(goldens.REPLICA_SHARES, np.float32)
    return jax.tree.map(lambda grad: np.multiply.outer(shares, grad), grads)


def test_replicated_optimizer_restores_and_writes_a_single_copy() -> None:
    name = "Momentum-default"
    content = goldens.checkpoint(FLAX, f"Replicated-{name}", 10)
    fresh = create(case(name), optim).replicate(jax.devices()[:2])
    restored = serialization.from_bytes(fresh, content)
    assert jax.tree.structure(restored) == jax.tree.structure(fresh)
    before, after = jax.tree.leaves(fresh), jax.tree.leaves(restored)
    assert [leaf.sharding for leaf in after] == [leaf.sharding for leaf in before]
    assert serialization.to_bytes(restored) == content
    assert_same_bits(restored.unreplicate(), read(f"Replicated-{name}", 10))
    step = jax.pmap(lambda each, grads: each.apply_gradient(grads), axis_name="batch")
    largest = LargestValues(restored.unreplicate())
    for number in range(10, 20):
        grads = gradients(number, case(name).parameters())
        restored = step(restored, in_shares(grads))
        largest.add(restored.unreplicate())
    theirs = read(f"Replicated-{name}", 20)
    assert worst(errors_in_ulps(restored.unreplicate(), theirs, largest)) <= allowed(
        "Momentum-default"
    )
    assert jnp.all(restored.state.step == 20)


OLD = [each for each in goldens.checkpoints() if each[0] != "flax-0.5.3"]
WEIGHT_NORM = [name for _, name in OLD if name.startswith("WeightNorm")]

every_old_checkpoint = pytest.mark.parametrize(("release", "name"), OLD)


def raw(release: str, name: str, step: int = 10) -> Any:
    """The state dict that a release wrote."""
    return serialization.msgpack_restore(goldens.checkpoint(release, name, step))


def read_old(release: str, name: str, step: int = 10) -> Any:
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
    fresh, restored = create(case(name), optim), read_old(release, name)
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
    single, fresh = read_old(release, name), create(case(name), optim)
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
    mine = Continued.of(name, read_old(release, name))
    assert mine.error(read_old(release, name, 20)) <= allowed(name)


@pytest.mark.parametrize("name", WEIGHT_NORM)
def test_old_weight_norm_gets_the_factors_of_its_parameters(name: str) -> None:
    written, restored = raw("flax-0.3.6", name), read_old("flax-0.3.6", name)
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
    restored = read_old("flax-0.3.6", name)
    theirs = serialization.from_bytes(create(case(name), genuine), serialization.to_bytes(restored))
    theirs = train(theirs, case(name), range(10, 20))
    state = serialization.from_state_dict(restored.state, serialization.to_state_dict(theirs.state))
    mine = Continued.of(name, restored)
    assert mine.error(restored.replace(target=theirs.target, state=state)) <= allowed(name)


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
        alone = Continued.of(name, read_old(release, name), compiled=False).optimizer
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
    assert_same_bits(restored, read_old(release, name))
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
