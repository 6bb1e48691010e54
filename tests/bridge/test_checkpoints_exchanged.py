"""Checkpoints that Flax 0.5.3 wrote train on here, and those written here train on there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import optim
from tests.data import goldens
from tests.support.cases import CASES, case, gradients
from tests.support.continued import Continued, allowed
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import OLD_ENVIRONMENT
from tests.support.side_by_side import assert_same_bits
from tests.support.training import create, train
from tests.support.ulps import LargestValues, errors_in_ulps, worst

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
