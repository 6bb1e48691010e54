"""The straight trip of one step: legacy tree -> optax state -> TrainState -> legacy tree.

Converting only moves leaves from one structure to another; no number changes on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.masks import Assignment, Layout
from flaxoptim_compat.transforms import hold

# Flax's TrainState treats what stands under this key differently; flax.optim knew no such key.
_OVERWRITE = "_overwrite_with_gradient"


class AnyTargetTrainState(TrainState):
    """A TrainState whose parameters need not be a mapping: an array, a tuple, a dataclass."""

    def apply_gradients(self, *, grads: Any, **kwargs: Any) -> Any:
        """Do one step; flax's own method asks ``name in grads``, which needs a mapping."""
        updates, opt_state = self.tx.update(grads, self.opt_state, self.params)
        return self.replace(
            step=self.step + 1,
            params=optax.apply_updates(self.params, updates),
            opt_state=opt_state,
            **kwargs,
        )


def to_train_state(
    assignments: Sequence[Assignment],
    params: Any,
    step: Any,
    param_states: Sequence[Any],
    apply_fn: Callable[..., Any] | None = None,
) -> TrainState:
    """The TrainState that does, from here on, what the definitions do.

    Args:
      assignments: which definition moves which leaves, all of them written in optax.
      params: the parameters.
      step: the number of steps done.
      param_states: the legacy state of every leaf.
      apply_fn: kept in the TrainState for the user.
    """
    treedef = jax.tree.structure(params)
    layouts = [Layout(treedef, each.leaves) for each in assignments]
    leaves = jax.tree.leaves(params)
    parts = [_injected(each, leaves) for each in assignments]
    states = [
        _opt_state(each, part, layout, step, param_states)
        for each, part, layout in zip(assignments, parts, layouts, strict=True)
    ]
    if len(parts) == 1 and layouts[0].covers_all:
        tx, opt_state = parts[0], states[0]
    else:
        tx, opt_state = _masked(parts, states, layouts)
    mapping = isinstance(params, Mapping) and _OVERWRITE not in params
    kind = TrainState if mapping else AnyTargetTrainState
    state: TrainState = kind(
        step=step, apply_fn=cast(Any, apply_fn), params=params, tx=tx, opt_state=opt_state
    )
    return state


def from_opt_state(
    assignments: Sequence[Assignment], treedef: PyTreeDef, opt_state: Any, like: Sequence[Any]
) -> list[Any]:
    """The legacy state of every leaf, out of the state of such a TrainState.

    Args:
      assignments: as given to ``to_train_state``.
      treedef: the structure of the parameters.
      opt_state: the state to read.
      like: legacy states, for whatever optax does not keep.
    """
    layouts = [Layout(treedef, each.leaves) for each in assignments]
    if len(assignments) == 1 and layouts[0].covers_all:
        parts = [opt_state]
    else:
        parts = [masked.inner_state for masked in opt_state]
    states: list[Any] = [None] * treedef.num_leaves
    for each, part, layout in zip(assignments, parts, layouts, strict=False):
        old = [like[index] for index in each.leaves]
        nodes = _nodes(part, each.definition.optax_fields)
        new = each.definition.from_optax_fields(nodes, old, layout.pick)
        for index, state in zip(each.leaves, new, strict=True):
            states[index] = state
    return states


def _injected(each: Assignment, leaves: Sequence[Any]) -> optax.GradientTransformation:
    names = hp.dynamic_names(each.hyper_params, each.definition.hyper_params)
    dtypes = [jnp.result_type(leaves[index]) for index in each.leaves]
    floats = [dtype for dtype in dtypes if jnp.issubdtype(dtype, jnp.floating)]
    dtype = jnp.result_type(jnp.float32, *floats)
    return hp.inject(each.definition.optax_chain, each.hyper_params, names, dtype)


def _masked(
    parts: Sequence[optax.GradientTransformation], states: Sequence[Any], layouts: Sequence[Layout]
) -> tuple[optax.GradientTransformation, Any]:
    """Each transformation on its own leaves, and the leaves of none of them held as they are."""
    treedef = layouts[0].treedef
    taken = {index for layout in layouts for index in layout.leaves}
    rest = tuple(index for index in range(treedef.num_leaves) if index not in taken)
    txs = [optax.masked(part, layout.mask()) for part, layout in zip(parts, layouts, strict=True)]
    txs.append(optax.masked(hold(), Layout(treedef, rest).mask()))
    masked_states = [optax.MaskedState(inner_state=state) for state in states]
    masked_states.append(optax.MaskedState(inner_state=optax.EmptyState()))
    return optax.chain(*txs), tuple(masked_states)


def _opt_state(
    each: Assignment,
    tx: optax.GradientTransformation,
    layout: Layout,
    step: Any,
    param_states: Sequence[Any],
) -> Any:
    # The state of an empty tree has every node of the real one, and costs nothing to make.
    template = tx.init(())
    mine = [param_states[index] for index in each.leaves]
    return _filled(template, step, each.definition.to_optax_fields(mine, layout.place))


def _filled(node: Any, step: Any, fields: Mapping[type, Mapping[str, Any]]) -> Any:
    """A state with every count set to the step and every tree of moments put in its place."""
    if not isinstance(node, tuple):
        return node
    if not hasattr(node, "_fields"):
        return tuple(_filled(child, step, fields) for child in node)
    trees = fields.get(type(node), {})
    children = {
        name: trees[name] if name in trees else _filled(getattr(node, name), step, fields)
        for name in node._fields
    }
    if "count" in children:
        children["count"] = step
    return type(node)(**children)


def _nodes(node: Any, fields: Mapping[type, Mapping[str, str]]) -> dict[type, Any]:
    """The named tuples of a state by their type; trees of moments are not entered."""
    if not isinstance(node, tuple):
        return {}
    if not hasattr(node, "_fields"):
        found: dict[type, Any] = {}
        for child in node:
            found.update(_nodes(child, fields))
        return found
    found = {type(node): node}
    for name in node._fields:
        if name not in fields.get(type(node), {}):
            found.update(_nodes(getattr(node, name), fields))
    return found
