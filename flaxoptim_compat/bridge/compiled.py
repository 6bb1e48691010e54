"""Steps outside jit: compiled once for each kind of step, and kept for as long as it is in use.

What is called is a few compiled programs rather than hundreds of small kernels.
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

# A decay rate such as beta2 is built into the compiled step. A program that overrides it with ever
# new numbers would compile at every step: past this many it runs kernel by kernel, as flax did.
MAX_VARIANTS = 8
# Programs make definitions as they like, in a search for hyper-parameters by the thousand. This
# many kinds of step stay compiled, those used last.
MAX_STEPS = 128


@dataclasses.dataclass
class _Settings:
    compiled: bool


_settings = _Settings(compiled=os.environ.get("FLAXOPTIM_COMPAT_COMPILED", "1") != "0")


@contextlib.contextmanager
def compiled_steps(enabled: bool) -> Iterator[None]:
    """Switch the compiled step outside jit on or off for a block.

    The environment variable ``FLAXOPTIM_COMPAT_COMPILED=0`` switches it off for a whole program.
    """
    before = _settings.compiled
    _settings.compiled = enabled
    try:
        yield
    finally:
        _settings.compiled = before


@dataclasses.dataclass(frozen=True, eq=False)
class Plan:
    """All of a step that is not an array: equal plans share a compiled step."""

    definition: Definition
    static: HyperParams

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Plan)
            and same(self.static, other.static)
            and (
                self.definition is other.definition
                or same(self.definition.step_structure(), other.definition.step_structure())
            )
        )

    def __hash__(self) -> int:
        return hash(type(self.definition))


def plan(definition: Definition, hyper_params: HyperParams) -> tuple[Plan, PyTree] | None:
    """The plan of a step and what is handed to it, or None where it is not to be compiled."""
    switched_off = jax.config.jax_disable_jit  # type: ignore[attr-defined]
    if switched_off or not _settings.compiled or definition.own_code().moves:
        return None
    static, dynamic = hp.separate(hyper_params, definition.hyper_params)
    made = Plan(definition, static)
    if hp.builds_in_overrides(hyper_params, definition.hyper_params):
        known = _variants(type(definition))  # type: ignore[arg-type]
        if made not in known:
            if len(known) >= MAX_VARIANTS:
                return None
            known.append(made)
    return made, dynamic


@lru_cache(maxsize=MAX_STEPS)
def _variants(kind: type) -> list[Plan]:
    """The plans with overrides built in that definitions of a class have been compiled for."""
    del kind
    return []


def compiled(plan: Plan, dynamic: PyTree, step: Step) -> Outcome:
    """The outcome of a step by compiled calls; a gradient of another shape is a ValueError.

    ``dynamic`` are the hyper-parameters that are no part of the plan.
    """
    target, done = step.target, step_count(step.count)
    kinds = tuple(map(_kind, target.leaves))
    division = _division(plan, target.treedef, kinds, _platform(target.leaves))
    leaves: list[Leaf] = []
    new_states: list[ParamState] = []
    count = None
    # Of fewer leaves there is less to search than the search is put off by.
    is_large = len(target.leaves) > LARGEST
    with collecting_later() if is_large else contextlib.nullcontext():
        for batch in division.batches:
            moved, count, moved_states = batch.run(
                _at(batch.address, dynamic),
                batch.pick(target.leaves),
                done,
                batch.pick(step.states),
                batch.pick(step.gradients),
            )
            leaves += moved
            new_states += moved_states
    # What the leaves find that no batch holds.
    leaves.append(None)
    new_states.append(None)
    count = done + 1 if count is None else count
    return division.in_order(leaves), count, division.in_order(new_states)


def _platform(leaves: Sequence[Leaf]) -> str:
    """Where these are computed: what may be computed together lies on devices of one kind."""
    for leaf in leaves:
        if isinstance(leaf, jax.Array):
            platform: str = next(iter(leaf.devices())).platform
            return platform
    return jax.default_backend()


# The shape and the dtype of a leaf.
_Kind = tuple[tuple[int, ...], DTypeLike]


def _kind(leaf: Leaf) -> _Kind:
    try:
        return leaf.shape, leaf.dtype
    except AttributeError:  # a Python number
        return np.shape(leaf), jnp.result_type(leaf)


def _as_filters_see_it(kind: _Kind) -> jax.ShapeDtypeStruct:
    """A leaf of this kind, with the dtype that jax has for it: numpy's float64 may be a float32."""
    shape, dtype = kind
    return jax.ShapeDtypeStruct(
        shape, jax.dtypes.canonicalize_dtype(dtype, allow_extended_dtype=True)
    )


_Picker = Callable[[Sequence[Any]], tuple[Any, ...]]


def _picker(indices: Sequence[int]) -> _Picker:
    """A function that picks the values at these indices out of a list."""
    # An itemgetter of one index picks no tuple but the value.
    if len(indices) < 2:
        return lambda values: tuple(values[index] for index in indices)
    return operator.itemgetter(*indices)


@dataclasses.dataclass(frozen=True)
class _Batch:
    """Some of the leaves that one definition moves, and the compiled step for them.

    ``address`` is where in nested lists of hyper-parameters, as MultiOptimizers have, its are.
    """

    address: tuple[int, ...]
    run: Callable[..., Outcome]
    pick: _Picker


@dataclasses.dataclass(frozen=True)
class _Division:
    """The batches of a target, and what brings one value for each of their leaves into order.

    After the values of all batches stands the one for the leaves that no batch holds.
    """

    batches: Sequence[_Batch]
    in_order: _Picker


@lru_cache(maxsize=MAX_STEPS)
def _division(plan: Plan, treedef: PyTreeDef, kinds: tuple[_Kind, ...], platform: str) -> _Division:
    """Which leaves of a target are moved together, and by what: worked out for the first step."""
    params = jax.tree.unflatten(treedef, list(map(_as_filters_see_it, kinds)))
    divided: list[_Batch] = []
    order: list[int] = []
    for each in plan.definition.assign(_addresses(plan.static), params, range(len(kinds))):
        run = _compiled(Plan(each.definition, _at(each.hyper_params, plan.static)), platform)
        cut = [tuple(range(len(each.leaves)))]
        formula = each.definition.formula
        if formula is not None and formula.splits:
            cut = batches([kinds[index] for index in each.leaves])
        for positions in cut:
            indices = [each.leaves[position] for position in positions]
            divided.append(_Batch(each.hyper_params, run, _picker(indices)))
            order += indices
    place = {index: position for position, index in enumerate(order)}
    in_order = [place.get(index, len(order)) for index in range(len(kinds))]
    return _Division(divided, _picker(in_order))


@lru_cache(maxsize=MAX_STEPS)
def _compiled(plan: Plan, platform: str) -> Callable[..., Outcome]:
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

    # On a GPU it made a step of Adam take 1.4 times as long, and whether it keeps the bits there as
    # well has not been measured.
    return partial(jax.jit(rounding_each(run)), ZERO) if platform == "cpu" else jax.jit(run)


def _addresses(hyper_params: HyperParams, above: tuple[int, ...] = ()) -> PyTree:
    """Nested lists of hyper-parameters with the place of each in place of its values."""
    if isinstance(hyper_params, list):
        return [_addresses(each, (*above, index)) for index, each in enumerate(hyper_params)]
    return above


def _at(address: tuple[int, ...], nested: PyTree) -> PyTree:
    for index in address:
        nested = nested[index]
    return nested
