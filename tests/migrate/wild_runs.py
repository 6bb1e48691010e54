"""Run the programs of folders, all in one process, and write down what they return.

``python -m tests.migrate.wild_runs FOLDER FILE.npz [FOLDER FILE.npz ...] [--install]``
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tests.support import compiling
from tests.support.written_programs import forget_programs


def main(*arguments: str) -> None:
    """Run all of one folder after another; the last one is served flax.optim with --install."""
    compiling.keep_what_is_compiled()
    *_, last = arguments
    paths = [argument for argument in arguments if argument != "--install"]
    for folder, file in zip(paths[::2], paths[1::2], strict=True):
        install = last == "--install" and file == paths[-1]
        if install:
            import flaxoptim_compat

            flaxoptim_compat.install(era=True)
        run(folder, file)
        assert install or not any(name.startswith("flax.optim") for name in sys.modules)


def run(folder: str, file: str) -> None:
    """Run all, and write an array of ``program/place`` for each leaf that one returns."""
    path_before = list(sys.path)
    sys.path[:0] = [folder, f"{folder}/left"]
    found: dict[str, Any] = {}
    for path in [*sorted(Path(folder).iterdir()), *sorted(Path(folder, "left").glob("*.py"))]:
        if path.suffix != ".py" and not (path / "__init__.py").exists():
            continue
        try:
            program = importlib.import_module(path.stem)
            returned = program.run() if hasattr(program, "run") else {}
        except Exception:
            found[f"{path.stem}/error"] = np.array(traceback.format_exc())
            continue
        for place, leaf in jax.tree_util.tree_flatten_with_path(returned)[0]:
            found[path.stem + jax.tree_util.keystr(place)] = np.asarray(leaf)
    np.savez(file, **found)
    sys.path[:] = path_before
    forget_programs(Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
