"""Steps outside jit: each kind of step is compiled once, and stays compiled while it is in use.

A step then calls a few compiled programs instead of hundreds of small kernels.
"""

from __future__ import annotations

import contextlib
import dataclasses
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import PyTreeDef
from jax.typing import DTypeLike

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.batches import LARGEST, batches
from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, ParamState, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.rounding import ZERO, rounding_each
from flaxoptim_compat.bridge.traced import Outcome, Step, traced
from flaxoptim_compat.bridge.trees import Target, collecting_later, step_count

# A decay rate such as beta2 is built into the compiled step. A program that overrides the rate with
# ever new numbers would compile at every step. After this many numbers, steps with overrides run
# kernel by kernel, as in flax.
MAX_VARIANTS = 8
# A search for hyper-parameters makes thousands of definitions. This many kinds of step stay
# compiled: those used last.
MAX_STEPS = 128


_is_on = os.environ.get("FLAXOPTIM_COMPAT_COMPILED", "1") != "0"


@contextlib.contextmanager
def compiled_steps(enabled: bool) -> Iterator[None]:
    """Switch the compiled step outside jit on or off for a block.

    The environment variable ``FLAXOPTIM_COMPAT_COMPILED=0`` switches it off for a whole program.
    """
    global _is_on
    before, _is_on = _is_on, enabled
    try:
        yield
    finally:
        _is_on = before


@dataclasses.dataclass(frozen=True, eq=False)
class StepPlan:
    """Everything that decides about a step except its arrays: equal plans share a compiled step."""

    definition: Definition
    # The hyper-parameters that are built into the compiled step.
    static: HyperParams

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, StepPlan)
            and same(self.static, other.static)
            and (
                self.definition is other.definition
                or same(self.definition.step_structure(), other.definition.step_structure())
            )
        )

    def __hash__(self) -> int:
        return hash(type(self.definition))


def step_plan(definition: Definition, hyper_params: HyperParams) -> tuple[StepPlan, PyTree] | None:
    """The plan of a step and its other hyper-parameters; None if the step must not be compiled."""
    switched_off = jax.config.jax_disable_jit  # type: ignore[attr-defined]
    if switched_off or not _is_on or definition.own_code().moves:
        return None
    static, dynamic = hp.separate(hyper_params, definition.hyper_params)
    plan = StepPlan(definition, static)
    if hp.builds_in_overrides(hyper_params, definition.hyper_params):
        known = _variants(type(definition))  # type: ignore[arg-type]
        if plan not in known:
            if len(known) >= MAX_VARIANTS:
                return None
            known.append(plan)
    return plan, dynamic


@lru_cache(maxsize=MAX_STEPS)
def _variants(kind: type) -> list[StepPlan]:
    """The compiled plans, for definitions of one class, that have overrides built in."""
    del kind
    return []


def compiled(plan: StepPlan, dynamic: PyTree, step: Step) -> Outcome:
    """The outcome of a step, by compiled calls that take the hyper-parameters ``dynamic``.

    Raises:
      ValueError: a gradient has another shape than its parameter.
    """
    target, done = step.target, step_count(step.count)
    leaf_types = tuple(map(_leaf_type, target.leaves))
    divided, in_order = _division(plan, target.treedef, leaf_types, _platform(target.leaves))
    leaves: list[Leaf] = []
    new_states: list[ParamState] = []
    count = None
    # For fewer leaves, turning the garbage collector off and on takes longer than its search.
    is_large = len(target.leaves) > LARGEST
    with collecting_later() if is_large else contextlib.nullcontext():
        for batch in divided:
            moved, count, moved_states = batch.run(
                _at(batch.address, dynamic),
                batch.pick(target.leaves),
                done,
                batch.pick(step.states),
                batch.pick(step.gradients),
            )
            leaves += moved
            new_states += moved_states
    # The value for leaves that are in no batch.
    leaves.append(None)
    new_states.append(None)
    count = done + 1 if count is None else count
    return in_order(leaves), count, in_order(new_states)


def _platform(leaves: Sequence[Leaf]) -> str:
    """The platform that computes a step of these leaves; all of them are on one platform."""
    for leaf in leaves:
        if isinstance(leaf, jax.Array):
            platform: str = next(iter(leaf.devices())).platform
            return platform
    return jax.default_backend()


# The shape and the dtype of a leaf.
_LeafType = tuple[tuple[int, ...], DTypeLike]


def _leaf_type(leaf: Leaf) -> _LeafType:
    try:
        return leaf.shape, leaf.dtype
    except AttributeError:  # a Python number
        return np.shape(leaf), jnp.result_type(leaf)


def _as_filters_see_it(leaf_type: _LeafType) -> jax.ShapeDtypeStruct:
    """The shape of a leaf, with the dtype in jax: numpy's float64 may become a float32."""
    shape, dtype = leaf_type
    return jax.ShapeDtypeStruct(
        shape, jax.dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
    )


_Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


def _picker(indices: Sequence[int]) -> _Picker:
    """A function that returns the values at these indices of a list, as a tuple."""
    # An itemgetter of one index would return the value without a tuple.
    if len(indices) < 2:
        return lambda values: tuple(values[index] for index in indices)
    return operator.itemgetter(*indices)


@dataclasses.dataclass(frozen=True)
class _Batch:
    """Some of the leaves that one definition moves, and the compiled step for them.

    Args:
      address: the indices of the batch's hyper-parameters in the nested lists of MultiOptimizers.
      run: the compiled step.
      pick: returns the values of the batch, from one value for each leaf of the target.
    """

    address: tuple[int, ...]
    run: Callable[..., Outcome]
    pick: _Picker


@lru_cache(maxsize=MAX_STEPS)
def _division(
    plan: StepPlan, treedef: PyTreeDef, leaf_types: tuple[_LeafType, ...], platform: str
) -> tuple[list[_Batch], _Picker]:
    """The batches of a target, worked out for the first step, and the way back to its order.

    The second function takes the values of all batches, and last the value for leaves in no batch,
    to one value for each leaf of the target.
    """
    params = jax.tree.unflatten(treedef, list(map(_as_filters_see_it, leaf_types)))
    divided: list[_Batch] = []
    order: list[int] = []
    for part in plan.definition.assign(_addresses(plan.static), params, range(len(leaf_types))):
        address = part.hyper_params
        run = _compiled(StepPlan(part.definition, _at(address, plan.static)), platform)
        cut = [tuple(range(len(part.leaves)))]
        formula = part.definition.formula
        if formula is not None and formula.splits:
            cut = batches(part.pick(leaf_types))
        for positions in cut:
            indices = [part.leaves[position] for position in positions]
            divided.append(_Batch(address, run, _picker(indices)))
            order += indices
    place = {index: position for position, index in enumerate(order)}
    in_order = _picker([place.get(index, len(order)) for index in range(len(leaf_types))])
    return divided, in_order


@lru_cache(maxsize=MAX_STEPS)
def _compiled(plan: StepPlan, platform: str) -> Callable[..., Outcome]:
    def run(
        dynamic: PyTree,
        params: PyTree,
        count: Leaf,
        states: Sequence[ParamState],
        gradients: Sequence[Leaf],
    ) -> Outcome:
        target, hyper_params = Target(params), hp.join(plan.static, dynamic)
        target.refuse_misshapen(gradients)
        return traced(Step(plan.definition, hyper_params, target, count, states, gradients))

    # On a GPU, rounding each operation made a step of Adam take 1.4 times as long. Whether the bits
    # are kept there has not been measured.
    return partial(jax.jit(rounding_each(run)), ZERO) if platform == "cpu" else jax.jit(run)


def _addresses(hyper_params: HyperParams, above: tuple[int, ...] = ()) -> PyTree:
    """Nested lists like the hyper-parameters, with the indices that lead to each entry in it."""
    if isinstance(hyper_params, list):
        return [_addresses(entry, (*above, index)) for index, entry in enumerate(hyper_params)]
    return above


def _at(address: tuple[int, ...], nested: PyTree) -> PyTree:
    for index in address:
        nested = nested[index]
    return nested
