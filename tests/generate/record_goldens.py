"""Record what the genuine flax 0.5.3 computes on jax 0.4.13 (runs in that environment)."""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Before jax starts: the replicated checkpoint needs more than one device.
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

from tests.support.oracle import old_flax  # isort: skip - must precede flax

import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from tests.data.goldens import REPLICA_SHARES, TRAJECTORIES, write_checkpoint
from tests.support.cases import CASES, Case, case, gradients

RELEASE = "flax-0.5.3"
PARAMS_AFTER = (1, 2, 4, 8, 16)
STATE_AFTER = (1, 16)
CHECKPOINT_CASES = (
    "Adam-default",
    "Momentum-default",
    "Adafactor-default",
    "Adafactor-bf16_momentum",
    "RMSProp-default",
    "RMSProp-centered",
    "WeightNorm-over_Momentum",
    "MultiOptimizer-two",
    "LAMB-all",
)
REPLICATED_CASE = "Momentum-default"

Step = Callable[[Any, Any], Any]


def apply_gradient(optimizer: Any, grads: Any) -> Any:
    """Apply gradients op by op, as the genuine optimizer does when not jitted."""
    return optimizer.apply_gradient(grads)


def create(entry: Case) -> Any:
    """Create the genuine optimizer of a case on the test model."""
    params = jax.tree_util.tree_map(jnp.asarray, entry.parameters())
    return entry.build(old_flax.genuine_optim()).create(params)


def state_dict(tree: Any) -> Any:
    """Return the state dict of a tree with numpy leaves."""
    return jax.tree_util.tree_map(np.asarray, serialization.to_state_dict(tree))


def trajectory(entry: Case, kind: str, step: Step, every: bool) -> dict[str, Any]:
    """Train a case and return its parameters (and state) after the steps of interest."""
    optimizer = create(entry)
    recorded: dict[str, Any] = {"params": {}, "param_states": {}}
    last = PARAMS_AFTER[-1]
    for done in range(1, last + 1):
        optimizer = step(optimizer, gradients(done - 1, entry.parameters(), kind))
        if done in PARAMS_AFTER and (every or done == last):
            recorded["params"][str(done)] = state_dict(optimizer.target)
        if done in STATE_AFTER and every:
            recorded["param_states"][str(done)] = state_dict(optimizer.state.param_states)
    return recorded


def trajectories() -> dict[str, Any]:
    """Return the recorded numbers of every case."""
    recorded = {}
    for entry in CASES:
        jitted = jax.jit(apply_gradient)
        recorded[entry.name] = {
            "varying": trajectory(entry, "varying", apply_gradient, every=True),
            "varying_jit": trajectory(entry, "varying", jitted, every=False),
            "tiny": trajectory(entry, "tiny", apply_gradient, every=False),
        }
    return recorded


def record_checkpoints(directory: Path, entry: Case) -> None:
    """Store a case's checkpoints after 10 and after 20 steps."""
    optimizer = create(entry)
    for done in range(1, 21):
        optimizer = optimizer.apply_gradient(gradients(done - 1, entry.parameters()))
        if done in (10, 20):
            write_checkpoint(
                directory, RELEASE, entry.name, done, serialization.to_bytes(optimizer)
            )


def record_replicated(directory: Path, entry: Case) -> None:
    """Store the checkpoints of an optimizer replicated over two devices."""
    optimizer = create(entry).replicate()
    step = jax.pmap(apply_gradient, axis_name="batch")
    shares = np.asarray(REPLICA_SHARES, np.float32)
    for done in range(1, 21):
        grads = gradients(done - 1, entry.parameters())
        split = jax.tree_util.tree_map(lambda g: np.multiply.outer(shares, g), grads)
        optimizer = step(optimizer, split)
        if done in (10, 20):
            name = f"Replicated-{entry.name}"
            write_checkpoint(directory, RELEASE, name, done, serialization.to_bytes(optimizer))


def main(directory: Path) -> None:
    """Record everything in a directory."""
    packed = serialization.msgpack_serialize(trajectories())
    (directory / TRAJECTORIES.name).write_bytes(lzma.compress(packed, preset=9))
    for name in CHECKPOINT_CASES:
        record_checkpoints(directory, case(name))
    record_replicated(directory, case(REPLICATED_CASE))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
