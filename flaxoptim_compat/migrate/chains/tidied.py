"""The last touch to an expression: shorter where that says the same, with the file's names."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import optax

from flaxoptim_compat import transforms
from flaxoptim_compat.optim.source_text import Number

# What an expression calls these modules until it is known what the file calls them.
_MODULES = {
    "jax": "jax",
    "jnp": "jax.numpy",
    "optax": "optax",
    "transforms": "flaxoptim_compat.transforms",
}
_HOMES = {"optax": optax, "transforms": transforms}


class Tidied(ast.NodeTransformer):
    """Leaves out what optax assumes anyway, and calls modules what the file calls them.

    Args:
      defaults: the numbers that stand in the text only because they are defaults of flax.optim, by
        the names of their pieces.
      name_of: takes the dotted name of a module, returns the file's expression for it.
    """

    def __init__(self, defaults: Mapping[str, float], name_of: Callable[[str], str]) -> None:
        self._defaults = defaults
        self._name_of = name_of

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Leave out arguments that nobody gave and that are optax's own defaults."""
        match node.func:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in _HOMES:
                known = inspect.signature(getattr(_HOMES[module], name)).parameters
                node.keywords = [
                    each
                    for each in node.keywords
                    if not self._is_default(each.value, known[str(each.arg)].default)
                ]
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Call a module what the file calls it."""
        if node.id not in _MODULES:
            return node
        return ast.parse(self._name_of(_MODULES[node.id]), mode="eval").body

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        """Write a number as a person does; ``ast.unparse`` writes 1e-8 as 1e-08."""
        return ast.Name(str(Number(node.value))) if isinstance(node.value, float) else node

    def _is_default(self, node: ast.expr, default: Any) -> bool:
        if isinstance(node, ast.Name) and node.id in self._defaults:
            return isinstance(default, int | float) and self._defaults[node.id] == default
        return isinstance(node, ast.Constant) and node.value is default
