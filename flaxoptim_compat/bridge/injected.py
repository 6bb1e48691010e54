"""The hyper-parameters that ``optax.inject_hyperparams`` put into the state of a transformation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import jax
import jax.numpy as jnp

from flaxoptim_compat.bridge.definition import Leaf, PyTree


def names(opt_state: PyTree) -> list[str]:
    """The names of all values but those that a schedule sets in each step."""
    return list(dict.fromkeys(name for node in _nodes(opt_state) for name in _settable(node)))


def with_values(opt_state: PyTree, values: Mapping[str, Leaf]) -> PyTree:
    """The state with some hyper-parameters set at each place; their dtypes stay."""
    return _map(lambda node: _changed(node, values), opt_state)


def with_values_of(opt_state: PyTree, other: PyTree) -> PyTree:
    """The state with the hyper-parameters of another state, which has the same structure."""
    other_nodes = _nodes(other)
    return _map(lambda node: _changed(node, next(other_nodes).hyperparams), opt_state)


def with_each(opt_state: PyTree, other: PyTree, change: Callable[[Leaf, Leaf], Leaf]) -> PyTree:
    """The state with a function of each hyper-parameter, and of its like in another state."""
    other_nodes = _nodes(other)

    def changed(node: PyTree) -> PyTree:
        values = jax.tree.map(change, node.hyperparams, next(other_nodes).hyperparams)
        return node._replace(hyperparams=values)

    return _map(changed, opt_state)


def _changed(node: PyTree, values: Mapping[str, Leaf]) -> PyTree:
    new = {
        name: jnp.asarray(values[name], jnp.result_type(node.hyperparams[name]))
        for name in _settable(node)
        if name in values
    }
    return node._replace(hyperparams={**node.hyperparams, **new})


def _settable(node: PyTree) -> list[str]:
    scheduled = getattr(node, "hyperparams_states", {})
    return [name for name in node.hyperparams if name not in scheduled]


def is_injected(node: PyTree) -> bool:
    """True of a state of ``optax.inject_hyperparams``."""
    return isinstance(node, tuple) and isinstance(getattr(node, "hyperparams", None), dict)


def _nodes(opt_state: PyTree) -> Iterator[PyTree]:
    """The nodes with hyper-parameters, the outermost first."""
    for node in filter(is_injected, jax.tree.leaves(opt_state, is_leaf=is_injected)):
        yield node
        yield from _nodes(node.inner_state)


def _map(change: Callable[[PyTree], PyTree], opt_state: PyTree) -> PyTree:
    """The state with each node of hyper-parameters changed, the outermost first."""

    def changed(node: PyTree) -> PyTree:
        if not is_injected(node):
            return node
        node = change(node)
        return node._replace(inner_state=_map(change, node.inner_state))

    return jax.tree.map(changed, opt_state, is_leaf=is_injected)
