"""Where a ``tree_map`` of the old days may be given trees that today's does not take together.

There ``None`` in the first tree stood for anything in the others, and today's raises an error.
Which trees have ``None`` cannot be read from a program in general, but some that do are known.
"""

from __future__ import annotations

import ast

from flaxoptim_compat.legacy.names.public import ERA
from flaxoptim_compat.migrate.successors.places import Place

_NAMES = frozenset(
    {"jax.tree_map", "jax.tree_multimap", "jax.tree_util.tree_multimap", "jax.api.tree_multimap"}
)
STAND_IN = f"{ERA}:tree_map"


def stand_in(place: Place) -> str:
    """The stand-in that takes such trees, if the call evidently needs it; else nothing.

    Args:
      place: a use of a name.
    """
    call = place.call
    if place.successor.old not in _NAMES or call is None or len(call.args) < 3:
        return ""
    return STAND_IN if any(map(_makes_none, ast.walk(call.args[1]))) else ""


def _makes_none(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value is None
    # A MultiOptimizer has None there for the parameters that no traversal selects.
    return isinstance(node, ast.Attribute) and node.attr == "param_states"
