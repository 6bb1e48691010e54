"""The leaves of an optimizer, whose number and order are others in a TrainState."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.use import Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo


def leaves_taken(
    points_to: PointsTo, document: Document, call: ast.Call, functions: frozenset[str]
) -> Iterator[Use]:
    """An optimizer whose leaves are taken and looked at.

    Leaves that only go back to where they came from may be any: a program that takes a tree
    apart and puts it together again has the structure from the same tree.

    Args:
      points_to: what is known of the program.
      document: the file.
      call: the call that may take them.
      functions: the full names of what it calls.
    """
    counts = bool(functions & _TAKE_STRUCTURE) and ".num_leaves" in document.text
    if not counts and not functions & TAKE_LEAVES:
        return
    # In most files nothing puts leaves together again.
    go_back = "unflatten" in document.text and not counts
    if go_back and not _are_looked_at(points_to, document, call):
        return
    for argument in call.args:
        # What only a hint calls an optimizer may be something of one.
        inside = points_to.data_inside(points_to.legacy(argument))
        if sites := sites_of(inside, Optimizer) - {None}:
            start, end = document.span(document.statement(call))
            if not _OF_ANY_LEAVES.search(document.text[start:end]):
                yield Use("FOC218", document, argument, sites, _OTHER_LEAVES)


def _are_looked_at(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether a program looks at leaves, be it before it puts them together again.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: the expression that has all of them; of ``flatten``, the pair with their structure.
    """
    parent = document.parents[node]
    match parent:
        case ast.Assign(targets=[ast.Name(id=name) | ast.Tuple(elts=[ast.Name(id=name), *_])]):
            return any(
                _are_looked_at(points_to, document, each)
                for each in _loads(points_to, document, parent, name)
            )
        case ast.Call() if node in arguments_of(parent):
            names = {each.rpartition(".")[2] for each in points_to.package_names(parent.func)}
            if names & _LOOK:
                return not isinstance(document.parents[parent], ast.Compare)
            return not names & _PUT_TOGETHER and _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant(value=0)) if isinstance(node, ast.Call):
            return _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant()):
            # Of the pair, the second is the structure.
            return not isinstance(node, ast.Call)
        case ast.comprehension(target=target):
            whole = document.parents[parent]
            return _has_attribute(whole, target) or (
                isinstance(whole, ast.expr) and _are_looked_at(points_to, document, whole)
            )
        case ast.For(target=target):
            return _has_attribute(parent, target)
        case ast.expr():
            return _are_looked_at(points_to, document, parent)
    return False


def _loads(
    points_to: PointsTo, document: Document, statement: ast.Assign, name: str
) -> Iterator[ast.Name]:
    """Where a variable is asked for, after the statement that assigns to it."""
    scopes = points_to.scopes[document]
    scope = scopes.binder(statement.value, name)
    for node in document.of_kind(ast.Name):
        is_asked = node.id == name and isinstance(node.ctx, ast.Load)
        if is_asked and node.lineno > statement.lineno and scopes.binder(node, name) is scope:
            yield node


def _has_attribute(tree: ast.AST, target: ast.expr) -> bool:
    """Whether one leaf is asked for something, as for its shape."""
    names = {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
    return any(
        isinstance(each, ast.Attribute) and getattr(each.value, "id", None) in names
        for each in ast.walk(tree)
    )


TAKE_LEAVES = {
    "jax.flatten_util.ravel_pytree",
    "jax.tree.flatten",
    "jax.tree.leaves",
    "jax.tree.reduce",
    "jax.tree_flatten",
    "jax.tree_leaves",
    "jax.tree_reduce",
    "jax.tree_util.tree_flatten",
    "jax.tree_util.tree_leaves",
    "jax.tree_util.tree_reduce",
}
_TAKE_STRUCTURE = {"jax.tree.structure", "jax.tree_structure", "jax.tree_util.tree_structure"}
# By the last part of their names: what tells something of leaves, and what takes them back.
_LOOK = frozenset(["all", "any", "len", "max", "min", "print", "sum"])
_PUT_TOGETHER = frozenset(["tree_unflatten", "unflatten"])
# What is asked of all leaves alike has the same answer of others.
_OF_ANY_LEAVES = re.compile(r"\b(isfinite|isnan|isinf|block_until_ready|is_deleted|delete)\b")
_OTHER_LEAVES = (
    "Its leaves are taken, and a TrainState has others, such as another count of steps: take"
    " those of its `target`."
)
