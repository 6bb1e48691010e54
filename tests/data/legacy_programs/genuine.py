"""Run a legacy program with the genuine flax.optim 0.5.3 and the names of its time.

It is the other side of a comparison, so it takes nothing from flaxoptim_compat.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import flax
import jax
import jax.numpy as jnp
import numpy as np

from tests.support.oracle.in_process import genuine_optim


def main(arguments: list[str]) -> None:
    """Run ``script.py ARGS…`` or ``-m package.module ARGS…`` as python would."""
    _install_flax_optim()
    _install_names()
    # The checkpoints and the variables that flax had then.
    flax.config.update("flax_return_frozendict", True)
    flax.config.update("flax_use_orbax_checkpointing", False)
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path[0] = str(Path.cwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    assert not any(name.partition(".")[0] == "flaxoptim_compat" for name in sys.modules)


def _install_flax_optim() -> None:
    genuine = genuine_optim()
    package = genuine.__name__
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            sys.modules["flax.optim" + name.removeprefix(package)] = module
    flax.optim = genuine  # type: ignore[attr-defined]


def _install_names() -> None:
    # jax knows no other staging any more.
    jax.config.enable_omnistaging = lambda: None  # type: ignore[attr-defined]
    module: Any = ModuleType("jax.config")
    module.config = jax.config
    sys.modules["jax.config"] = module
    tree_util = jax.tree_util
    for where, names in (
        (
            jax,
            {
                "tree_leaves": tree_util.tree_leaves,
                "tree_map": tree_util.tree_map,
                "tree_multimap": tree_util.tree_map,
            },
        ),
        (tree_util, {"tree_multimap": tree_util.tree_map}),
        (jnp, {"DeviceArray": jax.Array}),
        (jax.random, {"KeyArray": jax.Array, "shuffle": jax.random.permutation}),
        (jax.lax, {"tie_in": lambda _, value: value}),
        (
            jax.ops,
            {
                "index": np.s_,
                "index_update": lambda array, where, value: jnp.asarray(array).at[where].set(value),
                "index_add": lambda array, where, value: jnp.asarray(array).at[where].add(value),
            },
        ),
        (np, {"product": np.prod, "float_": np.float64}),
    ):
        for name, value in names.items():
            setattr(where, name, value)


if __name__ == "__main__":
    main(sys.argv[1:])
