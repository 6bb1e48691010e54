"""Print what jax 0.4.13 and flax 0.5.3 take as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

import jax.experimental.pjit
import jax.sharding

from tests.legacy.calls.signatures import signatures

# What flax 0.5.3 imports to write and read files: of an older jax, and of TensorFlow.
IMPORTED = {
    "tensorflow": "",
    "tensorflow.io": "gfile",
    "jax.experimental.gda_serialization": "",
    "jax.experimental.gda_serialization.serialization": (
        "GlobalAsyncCheckpointManager get_tensorstore_spec"
    ),
    "jax.experimental.global_device_array": "GlobalDeviceArray",
}


def put_what_flax_imports(made: Callable[[str], Any] = lambda _: object) -> None:
    """Let flax import what it asks for.

    Args:
      made: what stands for a name.
    """
    for name, attributes in IMPORTED.items():
        module: Any = ModuleType(name)
        vars(module).update({each: made(each) for each in attributes.split()})
        sys.modules[name] = module
        package, _, last = name.rpartition(".")
        if package:
            setattr(sys.modules[package], last, module)
    vars(jax.experimental.pjit)["PartitionSpec"] = jax.sharding.PartitionSpec


def main() -> None:
    """Print all."""
    put_what_flax_imports()
    recorded = signatures()
    # Methods of one class that another one inherits are compared once.
    inherited = {
        name
        for name, parameters in recorded.items()
        if parameters[:1] == ["="] and name.rpartition(".")[0].rpartition(".")[2][:1].isupper()
    }
    print(json.dumps({name: recorded[name] for name in sorted(recorded.keys() - inherited)}))


if __name__ == "__main__":
    main()
