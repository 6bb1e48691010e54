"""Record programs, and save what they do when nobody listens (runs beside Flax 0.5.3).

Arguments: a copy of recorder.py, and the folder for the files.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.oracle import old_flax  # noqa: F401  # isort: skip - must precede flax

import jax
import numpy as np

STEPS = 4
PROGRAMS = [
    *("adam:yields", "adam:step", "parts:multi", "parts:weight_norm", "pmapped:unreplicated"),
    *("old_layouts:model", "old_layouts:list_of_states"),
]


def main(recorder: Any, folder: Path) -> None:
    """Make ``adam-yields.npz`` and ``adam-yields-direct.npz``, and so on."""
    for program in PROGRAMS:
        path = folder / f"{program.replace(':', '-')}.npz"
        arguments = [str(path), f"tests.data.recorded_programs.{program}", "--steps", str(STEPS)]
        assert recorder.main(arguments) == 0
        arrays = {}
        for i, (optimizer, grads) in enumerate(itertools.islice(_steps(program), STEPS + 1)):
            for what, tree in ("target", optimizer.target), ("state", optimizer.state):
                arrays |= _leaves(f"{i}-{what}", tree)
            arrays |= _leaves(f"{i}-grads", grads)
        np.savez(path.with_name(f"{path.stem}-direct.npz"), **arrays)


def _leaves(name: str, tree: Any) -> dict[str, Any]:
    arrays = map(np.asarray, jax.tree_util.tree_leaves(tree))
    arrays = [array for array in arrays if array.dtype.kind not in "iu"]  # Not state.step.
    return {
        # savez cannot tell bfloat16.
        f"{name}-{number}": array.view("u2") if array.dtype.name == "bfloat16" else array
        for number, array in enumerate(arrays)
    }


def _steps(program: str) -> Iterator[tuple[Any, Any]]:
    """Optimizer and gradients before each step."""
    module_name, name = program.split(":")
    module = importlib.reload(
        importlib.import_module(f"tests.data.recorded_programs.{module_name}")
    )
    if name != "step":
        yield from ((each[0], each[1] if len(each) > 1 else None) for each in vars(module)[name]())
        return
    with jax.disable_jit():
        for i in range(STEPS + 1):
            yield module.optimizer, module.gradients(module.optimizer.target)
            module.step(i)


if __name__ == "__main__":
    spec = importlib.util.spec_from_file_location("recorder", sys.argv[1])
    assert spec is not None and spec.loader is not None
    recorder = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(recorder)
    main(recorder, Path(sys.argv[2]))
