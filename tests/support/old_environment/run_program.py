"""Run an old program with the genuine flax 0.5.3 and jax 0.4.13, and the names older than these.

What functions took is what it was; only names that jax 0.4.13 had no more are put back.
"""

from __future__ import annotations

import functools
import glob
import os
import runpy
import shutil
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

import jax
import jax.experimental.pjit
import jax.numpy as jnp
import numpy as np
from jax.example_libraries import optimizers, stax

# What flax 0.5.3 imports for its checkpoints, and does not ask of a program of one process.
UNUSED = {
    "jax.experimental.gda_serialization": "",
    "jax.experimental.gda_serialization.serialization": (
        "GlobalAsyncCheckpointManager get_tensorstore_spec"
    ),
    "jax.experimental.global_device_array": "GlobalDeviceArray",
}


def main(arguments: list[str]) -> None:
    """Run ``script.py ARGS…`` as python would."""
    warnings.simplefilter("ignore")
    _put_back_modules()
    _put_back_names()
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


def _put_back_modules() -> None:
    for name, classes in UNUSED.items():
        # No value is an instance of a class that nobody else knows.
        _put("", name, {each: type(each, (), {}) for each in classes.split()})
    _put("", "tensorflow", {})
    _put("", "tensorflow.io", {})
    _put("tensorflow.io", "gfile", _files())
    for module in (optimizers, stax):
        name = f"jax.experimental.{module.__name__.rpartition('.')[2]}"
        _put("", name, vars(module))


def _put(package: str, name: str, contents: dict[str, Any]) -> None:
    module = ModuleType(name)
    vars(module).update(contents)
    if package:
        setattr(sys.modules[package], name, module)
        return
    sys.modules[name] = module
    package, _, last = name.rpartition(".")
    if package:
        setattr(sys.modules[package], last, module)


def _files() -> dict[str, Any]:
    def rename(source: str, to: str, overwrite: bool = False) -> None:
        assert overwrite or not os.path.exists(to)
        os.replace(source, to)

    return {
        "GFile": open,
        "exists": os.path.exists,
        "glob": glob.glob,
        "isdir": os.path.isdir,
        "makedirs": functools.partial(os.makedirs, exist_ok=True),
        "remove": os.remove,
        "rename": rename,
        "rmtree": shutil.rmtree,
    }


def _put_back_names() -> None:
    tree_map = jax.tree_util.tree_map
    for where, names in (
        (jax, {"partial": functools.partial, "tree_multimap": tree_map}),
        (jax.tree_util, {"tree_multimap": tree_map}),
        (jax.experimental.pjit, {"PartitionSpec": jax.sharding.PartitionSpec}),
        (
            jax.ops,
            {
                "index": np.s_,
                "index_update": lambda array, where, value: jnp.asarray(array).at[where].set(value),
                "index_add": lambda array, where, value: jnp.asarray(array).at[where].add(value),
            },
        ),
        (type(jnp.zeros(())), {"to_py": lambda array: np.asarray(array)}),
    ):
        for name, value in names.items():
            setattr(where, name, value)


if __name__ == "__main__":
    main(sys.argv[1:])
