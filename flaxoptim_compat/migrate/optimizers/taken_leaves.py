"""The leaves of an optimizer, whose number and order are others in a TrainState."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from flaxoptim_compat.migrate.names.dotted import arguments_of, last_name
from flaxoptim_compat.migrate.optimizers.effects import calls_what_changes_others
from flaxoptim_compat.migrate.optimizers.use import Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import MAPS_TREES
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
    if functions & MAPS_TREES and calls_what_changes_others(points_to, call.args[0]):
        for argument in call.args:
            if sites := sites_of(points_to.legacy(argument), Optimizer) - {None}:
                yield Use("FOC218", document, argument, sites, _OTHER_LEAVES)
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
        sites = sites_of(inside, Optimizer) - {None}
        if sites and not _is_of_any_leaves(points_to, document, call):
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
            if names & _PUT_TOGETHER:
                return False
            if names & _LOOK:
                return not isinstance(document.parents[parent], ast.Compare)
            return not names & _HAND_ON or _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant(value=0)) if isinstance(node, ast.Call):
            return _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant()):
            # Of the pair, the second is the structure.
            return not isinstance(node, ast.Call)
        case ast.comprehension(target=target):
            whole = document.parents[parent]
            assert isinstance(whole, ast.expr)
            chosen = bool(parent.ifs) or _has_attribute(whole, target)
            return chosen or _are_looked_at(points_to, document, whole)
        case ast.For(target=target, body=body):
            return not all(map(_appends, body)) or _has_attribute(parent, target)
        case ast.expr():
            return _are_looked_at(points_to, document, parent)
    return not isinstance(parent, ast.Expr)


def _appends(statement: ast.stmt) -> bool:
    """Whether a statement puts something at the end of a list, or gives it a name before."""
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="append"))):
            return True
        case ast.Assign(targets=[ast.Name()]):
            return True
    return False


def _is_of_any_leaves(points_to: PointsTo, document: Document, call: ast.Call) -> bool:
    """Whether all leaves are asked alike, and give one answer: others have the same one."""
    start, end = document.span(document.statement(call))
    asked = set(_ASKED_OF_ALL.findall(document.text[start:end]))
    joins = _JOIN if asked & {"isfinite"} else _JOIN | {"sum"}
    return bool(asked) and _are_joined(points_to, document, call, joins)


def _are_joined(
    points_to: PointsTo, document: Document, node: ast.AST, joins: AbstractSet[str]
) -> bool:
    """Whether of all that is found of leaves one thing is made, as by ``all``."""
    parent = document.parents[node]
    match node, parent:
        case ast.Call(func=function), _ if last_name(function) in joins:
            return True
        case _, ast.Assign(targets=[ast.Name(id=name)]):
            loads = [*_loads(points_to, document, parent, name)]
            return all(_are_joined(points_to, document, each, joins) for each in loads)
        case _, ast.For():
            return True
        case _, ast.Attribute(attr=method):
            return method in joins or _are_joined(points_to, document, parent, joins)
    is_within = isinstance(parent, ast.expr | ast.comprehension | ast.keyword)
    return is_within and _are_joined(points_to, document, parent, joins)


_ASKED_OF_ALL = re.compile(r"\b(isfinite|isnan|isinf|block_until_ready|is_deleted|delete)\b")
_JOIN = frozenset(["all", "any", "block_until_ready", "reduce", "tree_reduce"])


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
# By the last part of their names: what tells something of leaves, and what takes them back, or
# stores them until then.
_LOOK = frozenset(["all", "any", "len", "max", "min", "print", "sum"])
_PUT_TOGETHER = frozenset(["dump", "dumps", "save", "savez", "tree_unflatten", "unflatten"])
# What gives them on, in their order.
_HAND_ON = frozenset(["device_get", "device_put", "iter", "list", "map", "tuple", "zip"])
_OTHER_LEAVES = (
    "Its leaves are taken, and a TrainState has others, such as another count of steps: take"
    " those of its `target`."
)
