"""Record checkpoints of the layouts that older releases wrote (runs beside flax 0.5.3)."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

from tests.support.oracle import old_flax  # noqa: F401  # isort: skip - must precede flax

import jax
import jax.numpy as jnp
from flax import core, jax_utils, serialization, struct, traverse_util

from tests.data.goldens import write_checkpoint
from tests.support.cases import Case, case, gradients
from tests.support.oracle.private_package import load_private_package
from tests.support.oracle.wheel import genuine_wheel

# A release that wrote each layout:
OLD_LAYOUTS = (
    # RMSProp's state had no ``mg`` before centering came.
    ("0.2.2", "RMSProp-default"),
    # MultiOptimizer's state was a list, one whole optimizer state per sub-optimizer.
    ("0.3.2", "MultiOptimizer-single"),
    ("0.3.2", "MultiOptimizer-two"),
    # WeightNorm kept ``mult`` in place of direction and scale. Its gradients treat the
    # direction as if it had norm one, so 0.5.3 does not train to the same parameters.
    ("0.3.6", "WeightNorm-over_Momentum"),
    ("0.3.6", "WeightNorm-over_Adam"),
)


def old_optim(version: str) -> ModuleType:
    """Load the ``flax/optim`` of an old release on top of flax 0.5.3's other modules."""
    # Serialization's wire format has not changed since; only ``nn`` is gone, of which
    # flax/optim used no more than the class of its models, to recognise them.
    nn = ModuleType("nn")
    nn.base = SimpleNamespace(Model=type("Model", (), {}))  # type: ignore[attr-defined]
    companions = {
        "core": core,
        "jax_utils": jax_utils,
        "nn": nn,
        "serialization": serialization,
        "struct": struct,
        "traverse_util": traverse_util,
    }
    name = f"flax_{version.replace('.', '_')}.optim"
    return load_private_package(name, genuine_wheel(version) / "flax" / "optim", companions)


def record(directory: Path, version: str, entry: Case) -> None:
    """Store a case's checkpoints after 10 and after 20 steps of an old release."""
    params = jax.tree_util.tree_map(jnp.asarray, entry.parameters())
    optimizer = entry.build(old_optim(version)).create(params)
    for done in range(1, 21):
        optimizer = optimizer.apply_gradient(gradients(done - 1, entry.parameters()))
        if done in (10, 20):
            content = serialization.to_bytes(optimizer)
            write_checkpoint(directory, f"flax-{version}", entry.name, done, content)


def main(directory: Path) -> None:
    """Record everything in a directory."""
    for version, name in OLD_LAYOUTS:
        record(directory, version, case(name))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
