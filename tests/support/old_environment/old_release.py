"""Run a script with a release of Flax before 0.5.3: ``old_release.py FOLDER SCRIPT ARGS…``."""

from __future__ import annotations

import runpy
import sys

import jax.interpreters.xla
from jax._src.numpy import lax_numpy


def use(folder: str) -> None:
    """Let Python find the Flax in a folder before the one that is installed."""
    sys.path.insert(0, folder)
    # What these releases ask for, and jax 0.4.13 no longer has.
    for module, names in {
        jax: {"tree_multimap": jax.tree_util.tree_map},
        jax.config: {"omnistaging_enabled": True},
        jax.interpreters.xla: {"DeviceArray": jax.Array, "call_translations": {}},
        lax_numpy: {"isin": jax.numpy.isin},
    }.items():
        for name, value in names.items():
            setattr(module, name, value)


if __name__ == "__main__":
    folder, *sys.argv = sys.argv[1:]
    use(folder)
    runpy.run_path(sys.argv[0], run_name="__main__")
