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
from types import SimpleNamespace
from typing import Any

from tests.support.oracle import old_flax  # noqa: F401 # isort: skip - must precede flax

import jax
import jax.numpy as jnp
import numpy as np

from tests.support.old_environment.record_signatures import put_what_flax_imports


def main(arguments: list[str]) -> None:
    """Run ``script.py ARGS…`` as python would."""
    warnings.simplefilter("ignore")
    # No value is an instance of a class that nobody else knows.
    put_what_flax_imports(lambda name: type(name, (), {}))
    vars(sys.modules["tensorflow.io"])["gfile"] = SimpleNamespace(**_files())
    _put_back_names()
    sys.argv = arguments
    sys.path[0] = str(Path(arguments[0]).resolve().parent)
    runpy.run_path(arguments[0], run_name="__main__")


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
        (
            jax.ops,
            {
                "index": np.s_,
                "index_update": lambda array, where, value: jnp.asarray(array).at[where].set(value),
            },
        ),
        (type(jnp.zeros(())), {"to_py": lambda array: np.asarray(array)}),
    ):
        for name, value in names.items():
            setattr(where, name, value)


if __name__ == "__main__":
    main(sys.argv[1:])
