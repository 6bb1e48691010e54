"""What the tests on eight devices train, how, and how they read compiled programs.

They wait for the end of every step: on CPU, XLA runs all devices in one pool of threads, and with
several steps under way these can all come to wait for one another.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
from flax import struct
from jax.sharding import Mesh
from jax.sharding import PartitionSpec as P

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import sharding
from tests.support import cases
from tests.support.legacy_subclasses import own_state
from tests.support.meshes import mesh_of
from tests.support.side_by_side import named_leaves

SHAPES: dict[str, tuple[int, ...]] = {
    "kernel": (16, 8),
    "bias": (8,),
    "square": (8, 8),
    "odd": (3,),
}


def parameters() -> dict[str, Any]:
    random = np.random.RandomState(0)
    return {
        name: jnp.asarray(random.uniform(-1.0, 1.0, shape), jnp.float32)
        for name, shape in SHAPES.items()
    }


def gradients(step: int) -> Any:
    return cases.gradients(step, parameters())


def mesh(*shape: int) -> Mesh:
    names = ("data", "model")[: len(shape)]
    return mesh_of(shape, names)


def _is_kernel(path: str, _: Any) -> bool:
    return path == "/kernel"


def _is_square(path: str, _: Any) -> bool:
    return path == "/square"


@struct.dataclass
class _Sketch:
    last: Any
    count: Any


class Sketch(optim.OptimizerDef):
    """A user's: the mean of the last two gradients, which it keeps in one array."""

    def init_param_state(self, param: Any) -> Any:
        return _Sketch(jnp.zeros((2, *param.shape)), jnp.zeros((), jnp.int32))

    def apply_param_gradient(
        self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
    ) -> Any:
        last = jnp.stack([state.last[1], grad])
        new_param = param - hyper_params.learning_rate * 0.5 * (last[0] + last[1])
        return new_param, _Sketch(last, state.count + 1)

    def param_state_axes(self, param: Any, state: Any, axes: Any) -> Any:
        return _Sketch(P(None, *(axes or ())), P())


# Each computes every number of a parameter from the numbers in the same place: nothing need move.
ELEMENTWISE: dict[str, Callable[[], Any]] = {
    "Adam": lambda: optim.Adam(0.1, weight_decay=0.01),
    "Momentum": lambda: optim.Momentum(0.1, weight_decay=0.01, nesterov=True),
    "focus": lambda: optim.MultiOptimizer((optim.ModelParamTraversal(_is_kernel), optim.Adam(0.1))),
    "Sketch": lambda: Sketch(optim.GradientDescent(0.1).hyper_params),
}
# These compute norms and means of a whole parameter.
REDUCING: dict[str, Callable[[], Any]] = {
    "LAMB": lambda: optim.LAMB(0.1, weight_decay=0.01),
    "Adafactor": lambda: optim.Adafactor(0.1, min_dim_size_to_factor=4, beta1=0.9),
    "MultiOptimizer": lambda: optim.MultiOptimizer(
        (
            optim.ModelParamTraversal(_is_kernel),
            optim.Adafactor(0.1, min_dim_size_to_factor=4),
        ),
        (optim.ModelParamTraversal(_is_square), optim.LARS(0.1)),
    ),
    "WeightNorm": lambda: optim.WeightNorm(optim.Adam(0.1)),
    "own_state": lambda: own_state(optim),
}
DEFINITIONS = {**ELEMENTWISE, **REDUCING}
# A sum over several devices is added up in another order than on one: each of a handful of sums may
# be off by its last bit or two. WeightNorm also takes the difference of almost equal numbers, when
# it removes the part along the direction from a gradient.
ULPS = {**dict.fromkeys(ELEMENTWISE, 0.0), **dict.fromkeys(REDUCING, 8.0), "WeightNorm": 16.0}
ULPS["own_state"] = 0.0  # its sum is of integers
# Optax adds to a parameter the difference that the user's code makes, and may miss its last bit.
ULPS_OF_TRAIN_STATE = {**ULPS, "Sketch": 2.0, "own_state": 2.0}

TWO_AXES = {
    "kernel": P("data", "model"),
    "bias": P("model"),
    "square": P("model", "data"),
    "odd": None,
}
# What fsdp_specs should find for eight devices, for parameters of eight numbers or more.
SPREAD = {**dict.fromkeys(SHAPES, P()), **dict.fromkeys(("kernel", "bias", "square"), P("data"))}
# The mesh, where the parameters are on it, and where the moments are if not in the same place.
LAYOUTS: dict[str, Callable[[], tuple[Mesh, Any, Any]]] = {
    "fsdp": lambda: (mesh(8), sharding.fsdp_specs(parameters(), mesh(8), "data", 8), None),
    "two axes": lambda: (mesh(4, 2), TWO_AXES, None),
    "moments": lambda: (mesh(8), dict.fromkeys(SHAPES), SPREAD),
}

_MOVES = re.compile(
    r" = (?P<shapes>.*?) (?P<name>all-gather|all-reduce|all-to-all|reduce-scatter"
    r"|collective-permute|collective-broadcast)(?:-start)?\("
)
_SHAPE = re.compile(r"\w+\[([\d,]*)\]")


def collectives(compiled: str) -> list[tuple[str, tuple[int, ...]]]:
    """Each array that the text of a compiled program moves between devices, and how."""
    return [
        (found["name"], tuple(int(length) for length in shape.split(",") if length))
        for found in map(_MOVES.search, compiled.splitlines())
        if found
        for shape in _SHAPE.findall(found["shapes"])
    ]


def apply(tree: Any, grads: Any) -> Any:
    """One step of an Optimizer or of a TrainState."""
    if isinstance(tree, optim.Optimizer):
        return tree.apply_gradient(grads)
    return tree.apply_gradients(grads=grads)


def assert_moves_only_sums(name: str, compiled: str) -> None:
    """Assert that a step sends no array from device to device but sums, at most of a dimension."""
    moved = collectives(compiled)
    longest = max(length for shape in SHAPES.values() for length in shape)
    assert bool(moved) == (name in REDUCING)
    assert all(how == "all-reduce" and math.prod(shape) <= longest for how, shape in moved)


def assert_placed(tree: Any, shardings: Any) -> None:
    """Assert that every array is where it should be."""
    pairs = zip(named_leaves(tree).items(), jax.tree.leaves(shardings), strict=True)
    misplaced = {
        path: (leaf.sharding, place)
        for (path, leaf), place in pairs
        if not leaf.sharding.is_equivalent_to(place, leaf.ndim)
    }
    assert not misplaced


def restored(folder: Path, tree: Any, places: Any) -> Any:
    """What was saved, placed anew; of the tree only the structure and the shapes are used."""
    described = jax.tree.map(
        lambda array, place: jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=place),
        tree,
        places,
    )
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(folder, described)
