"""The leaves of an optimizer, whose number and order are others in a TrainState."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.optimizers.effects import calls_what_changes_others, changes_others
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
    apart and puts it together again has the structure from the same tree. All of them may be
    asked alike whether they are finite.

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
    go_back = "unflatten" in document.text and bool(functions & _GO_BACK)
    if go_back and not _are_looked_at(points_to, document, call):
        return
    for argument in call.args:
        # What only a hint calls an optimizer may be something of one.
        inside = points_to.data_inside(points_to.legacy(argument))
        sites = sites_of(inside, Optimizer) - {None}
        if sites and not _are_asked_alike(points_to, document, call):
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
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=name), ast.Name(id=structure)])]):
            uses = _loads(points_to, document, parent, structure)
            return not all(_puts_together(points_to, document, each) for each in uses) or any(
                _are_looked_at(points_to, document, each)
                for each in _loads(points_to, document, parent, name)
            )
        case ast.Assign(targets=[ast.Name(id=name)]):
            return any(
                _are_looked_at(points_to, document, each)
                for each in _loads(points_to, document, parent, name)
            )
        case ast.Call(args=args) if node in args:
            names = _last_parts(points_to, parent.func)
            if names & _PUT_TOGETHER:
                return False
            acts = "map" in names and calls_what_changes_others(points_to, args[0])
            if acts or not names & _HAND_ON:
                # Two trees are compared by the number of their leaves.
                compares = "len" in names and isinstance(document.parents[parent], ast.Compare)
                return not compares
            return _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant(value=0)) if isinstance(node, ast.Call):
            return _are_looked_at(points_to, document, parent)
        case ast.Subscript(slice=ast.Constant(value=1)) if isinstance(node, ast.Call):
            # Of the pair, the second is the structure.
            return not _puts_together(points_to, document, parent)
        case ast.comprehension(target=target, ifs=[]):
            whole = document.parents[parent]
            return (
                not isinstance(whole, ast.ListComp | ast.GeneratorExp)
                or _has_attribute(whole, target)
                or changes_others(points_to, document, [whole.elt], whole)
                or _are_looked_at(points_to, document, whole)
            )
        case ast.Starred() | ast.Tuple() | ast.List():
            return _are_looked_at(points_to, document, parent)
    return not isinstance(parent, ast.Expr)


def _puts_together(points_to: PointsTo, document: Document, structure: ast.expr) -> bool:
    """Whether the structure of a tree is asked for nothing else."""
    match document.parents[structure]:
        case ast.Attribute(attr=method):
            return method == "unflatten"
        case ast.Call(func=function):
            return bool(_last_parts(points_to, function) & _PUT_TOGETHER)
    return False


def _last_parts(points_to: PointsTo, function: ast.expr) -> set[str]:
    """The names of what of packages is called, without their modules."""
    return {each.rpartition(".")[2] for each in points_to.package_names(function)}


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


def _are_asked_alike(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether all leaves are only asked whether they are finite, or waited for or deleted."""
    parent = document.parents[node]
    match node, parent:
        case ast.Call(args=[ast.Lambda(body=body), *_]), _ if last_name(node.func) in _REDUCE:
            return _is_logical(body) and any(map(_is_finite, ast.walk(body)))
        case _, ast.Assign(targets=[ast.Name(id=name)]):
            loads = [*_loads(points_to, document, parent, name)]
            return all(_are_asked_alike(points_to, document, each) for each in loads)
        case _, ast.Call() if last_name(parent.func) == "block_until_ready":
            return isinstance(document.parents[parent], ast.Expr)
        case _, ast.For(body=[ast.Expr(value=done)]):
            return _is_waited_for(done)
        case _, ast.comprehension(ifs=[]):
            whole = document.parents[parent]
            if isinstance(whole, ast.ListComp | ast.GeneratorExp):
                if isinstance(document.parents[whole], ast.Expr):
                    return _is_waited_for(whole.elt)
                return _is_finite(whole.elt) and _are_joined(points_to, document, whole)
    return False


def _is_logical(node: ast.expr) -> bool:
    match node:
        case ast.BoolOp() | ast.BinOp(op=ast.BitAnd() | ast.BitOr()):
            return True
        case ast.Call(func=function):
            return last_name(function) in _LOGICAL
    return False


def _is_waited_for(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(), attr=method), args=[]):
            return method in ("block_until_ready", "delete")
    return False


def _is_finite(node: ast.AST) -> bool:
    """Whether it is asked of one leaf, as in ``jnp.isfinite(x).all()``."""
    match node:
        case ast.Call(func=ast.Attribute(value=inner, attr="all" | "any" | "item"), args=[]):
            return _is_finite(inner)
        case ast.UnaryOp(operand=inner):
            return _is_finite(inner)
        case ast.Call(func=function, args=[inner]):
            if last_name(function) in ("isfinite", "isinf", "isnan"):
                return isinstance(inner, ast.Name)
            return last_name(function) in ("all", "any", "bool") and _is_finite(inner)
    return False


def _are_joined(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether of what all leaves answer one answer is made."""
    parent = document.parents[node]
    match parent:
        case ast.Attribute(attr=method):
            return method in ("all", "any")
        case ast.Assign(targets=[ast.Name(id=name)]):
            loads = [*_loads(points_to, document, parent, name)]
            return all(_are_joined(points_to, document, each) for each in loads)
        case ast.Call(args=args) if node in args:
            name = last_name(parent.func)
            if name in ("array", "asarray", "list", "stack"):
                return _are_joined(points_to, document, parent)
            return name in ("all", "any") or (name in _REDUCE and last_name(args[0]) in _LOGICAL)
    return False


_REDUCE = frozenset(["reduce", "tree_reduce"])
_LOGICAL = frozenset(["and_", "logical_and", "logical_or", "or_"])
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
_GO_BACK = {each for each in TAKE_LEAVES if each.endswith(("flatten", "leaves"))}
# By the last part of their names: what takes leaves back, or stores them until then.
_PUT_TOGETHER = frozenset(["dump", "dumps", "save", "savez", "tree_unflatten", "unflatten"])
# What gives them on, in their order.
_HAND_ON = frozenset(["device_get", "device_put", "iter", "list", "map", "tuple", "zip"])
_OTHER_LEAVES = (
    "The leaves of an optimizer are taken. A TrainState has others, such as a count of steps: take"
    " those of its `target`."
)
