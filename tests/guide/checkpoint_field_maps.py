"""Where each entry of a legacy checkpoint goes in a TrainState, found by converting one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_conversion.convert import Settings, convert
from flaxoptim_compat.checkpoint_files.stored import StoredArray, array_in_memory

KERNEL = optim.ModelParamTraversal(lambda path, _: path.endswith("P"))
BIAS = optim.ModelParamTraversal(lambda path, _: path.endswith("Q"))

# Under the headings of the guide: parameters, and the definition that moves them.
MATRIX = {"P": jnp.ones((4, 6))}
BOTH = {"P": jnp.ones((4, 6)), "Q": jnp.ones(6)}
MAPS: dict[str, tuple[Any, Any]] = {
    "GradientDescent": (MATRIX, optim.GradientDescent(0.1)),
    "Momentum": (MATRIX, optim.Momentum(0.1)),
    "LARS": (MATRIX, optim.LARS(0.1)),
    "Adam": (MATRIX, optim.Adam(0.1)),
    "AdaBelief": (MATRIX, optim.AdaBelief(0.1)),
    "LAMB": (MATRIX, optim.LAMB(0.1)),
    "RMSProp": (MATRIX, optim.RMSProp(0.1)),
    "RMSProp(centered=True)": (MATRIX, optim.RMSProp(0.1, centered=True)),
    "Adadelta": (MATRIX, optim.Adadelta(0.1)),
    "Adagrad": (MATRIX, optim.Adagrad(0.1)),
    "Adafactor": (MATRIX, optim.Adafactor(0.1)),
    "Adafactor(beta1=0.9)": (MATRIX, optim.Adafactor(0.1, beta1=0.9)),
    "WeightNorm(Momentum)": (BOTH, optim.WeightNorm(optim.Momentum(0.1))),
    "create(focus=...)": (BOTH, optim.MultiOptimizer((KERNEL, optim.Momentum(0.1)))),
    "MultiOptimizer": (
        BOTH,
        optim.MultiOptimizer((KERNEL, optim.Momentum(0.1)), (BIAS, optim.RMSProp(0.1))),
    ),
}


# What all optimizers have in common, and the guide says once.
COMMON = (
    ("target/P", "params/P"),
    ("target/Q", "params/Q"),
    ("nothing", "opt_state/hyperparams/learning_rate"),
)


def field_map(name: str) -> list[tuple[str, str]]:
    """The rows of the table of an optimizer: legacy path, and paths in the TrainState."""
    params, definition = MAPS[name]
    legacy = _stored(serialization.to_state_dict(definition.create(params)))
    state, _ = convert(legacy, Settings("train-state", definitions=definition))
    places: dict[int, list[str]] = {}
    for path, leaf in _leaves(state):
        places.setdefault(id(leaf), []).append(path)
    rows = [(path, ", ".join(places.pop(id(leaf), ["nothing"]))) for path, leaf in _leaves(legacy)]
    return rows + [("nothing", ", ".join(paths)) for paths in places.values()]


def table(name: str) -> str:
    """The same as a table of the guide."""
    rows = ["| legacy | TrainState |", "| --- | --- |"]
    for cells in field_map(name):
        if cells in COMMON:
            continue
        quoted = [
            ", ".join(part if part == "nothing" else f"`{part}`" for part in cell.split(", "))
            for cell in cells
        ]
        rows.append(f"| {quoted[0]} | {quoted[1]} |")
    return "\n".join(rows)


def _stored(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {name: _stored(child) for name, child in tree.items()}
    return array_in_memory(np.asarray(tree)) if isinstance(tree, jax.Array) else tree


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        for name, child in tree.items():
            yield from _leaves(child, f"{path}/{name}")
    elif isinstance(tree, StoredArray):
        yield path[1:], tree
