"""Which expressions are evidently modules of Linen, and which calls of these are old."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.successors.evident_arrays import assigned

ATTENTION = "flax.linen.MultiHeadDotProductAttention"
_MODULE = ("flax.linen.Module", "flax.linen.module.Module")
_MASKS = tuple(
    f"flax.linen.{name}" for name in ("combine_masks", "make_attention_mask", "make_causal_mask")
)


def is_own_module(reading: Reading, node: ast.expr) -> bool:
    """Whether it is ``self`` in a method of a module.

    Args:
      reading: the file.
      node: the expression.
    """
    if not isinstance(node, ast.Name):
        return False
    around = reading.document.parents
    inside: ast.AST = node
    while not isinstance(inside, ast.Module):
        inside = around[inside]
        if isinstance(inside, ast.FunctionDef):
            first = [*inside.args.posonlyargs, *inside.args.args][:1]
            if [each.arg for each in first] == [node.id]:
                holder = around[inside]
                return isinstance(holder, ast.ClassDef) and _is_module(reading, holder, ())
    return False


def attention_takes_mask(reading: Reading, call: ast.Call) -> bool | None:
    """Whether a call gives attention a mask as its third input, where today the values stand.

    Args:
      reading: the file.
      call: any call.

    Returns:
      None if nothing but the name of what it is given says so.
    """
    given = call.args
    if len(given) not in (3, 4) or any(isinstance(each, ast.Starred) for each in given):
        return False
    if not _is_made_by(reading, call.func, (ATTENTION,)):
        return False
    if len(given) == 4 or _is_made_by(reading, given[2], _MASKS):
        return True
    return None if last_name(given[2]).endswith("mask") else False


def _is_made_by(reading: Reading, node: ast.expr, makers: tuple[str, ...]) -> bool:
    """Whether it is what one of these returns, as far as can be seen in its function."""
    if isinstance(node, ast.Name):
        values = assigned(reading, node)
        return bool(values) and all(
            isinstance(each, ast.Call) and _is_made_by(reading, each, makers) for each in values
        )
    return isinstance(node, ast.Call) and reading.names.full_name(node.func) in makers


def _is_module(reading: Reading, node: ast.ClassDef, asked: tuple[ast.ClassDef, ...]) -> bool:
    if node in asked:
        return False
    for base in node.bases:
        if reading.names.full_name(base) in _MODULE:
            return True
        name = base.id if isinstance(base, ast.Name) else ""
        for each in reading.document.tree.body:
            if isinstance(each, ast.ClassDef) and each.name == name:
                return _is_module(reading, each, (*asked, node))
    return False
