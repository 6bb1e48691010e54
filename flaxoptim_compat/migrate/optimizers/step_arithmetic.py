"""Where a program computes with the step of an optimizer, as an array and not as Python's number.

A TrainState starts at a number of Python and counts in such numbers until a compiled function
returns it. flax.optim had an array of int32: what was computed with it was rounded to float32, and
divided by zero without an error. Inside of what jax traces there is no difference.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.use import Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import MAPS_TREES
from flaxoptim_compat.migrate.values.objects import External, Function, Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo


def needs_array(points_to: PointsTo, uses: Iterable[Use], sites: Sites) -> bool:
    """Whether optimizers have to start at an array.

    Args:
      points_to: what is known of the program.
      uses: what is done with them.
      sites: where their definitions are made.
    """
    steps = [each for each in uses if each.code == "FOC204"]
    if any(_is_computed_with(points_to, each) for each in steps):
        return True
    documents = dict.fromkeys(each.document for each in uses)
    return any(_asks_leaves(points_to, each, sites) for each in documents)


def _is_computed_with(points_to: PointsTo, use: Use) -> bool:
    function = use.document.variables_of(use.node)
    return not _is_traced(points_to, use.document, function) and _becomes_another(
        points_to, use.document, use.node
    )


def _becomes_another(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether something else may come of a number of Python than of an array."""
    parent = document.parents[node]
    match parent:
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
            return False
        case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), left=left) if left is node:
            return _becomes_another(points_to, document, parent)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult(), left=left, right=right):
            other = right if left is node else left
            return not _is_whole(other) or _becomes_another(points_to, document, parent)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()):
            return _becomes_another(points_to, document, parent)
        case ast.IfExp(test=test) if test is not node:
            return _becomes_another(points_to, document, parent)
        case ast.Call() | ast.keyword():
            return _computes(points_to, document, node, parent)
        case ast.Subscript(value=array, slice=index):
            # What is replicated is an array by then.
            return array is node and not _is_whole(index)
        case ast.Assign(targets=[ast.Name(id=name)]):
            inside = ast.walk(document.function(parent))
            names = (each for each in inside if isinstance(each, ast.Name) and each.id == name)
            loaded = (each for each in names if isinstance(each.ctx, ast.Load))
            return any(_becomes_another(points_to, document, each) for each in loaded)
        case ast.Assign(targets=targets):
            return any(isinstance(each, ast.Attribute) for each in targets)
    return not isinstance(parent, _KEEP)


# What shows a number, asks whether it is one, or puts it beside others.
_KEEP = (
    ast.Assert,
    ast.BoolOp,
    ast.Compare,
    ast.Dict,
    ast.Expr,
    ast.FormattedValue,
    ast.If,
    ast.IfExp,
    ast.List,
    ast.Set,
    ast.Tuple,
    ast.UnaryOp,
    ast.While,
)


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _computes(
    points_to: PointsTo, document: Document, node: ast.expr, parent: ast.Call | ast.keyword
) -> bool:
    """Whether a call that is given the step may compute with it."""
    call = document.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return True
    takers = points_to.values(call.func)
    names = {each.name for each in takers if isinstance(each, External)}
    if len(names) < len(takers):
        return True
    if not names:
        # What takes it beside other things writes it down somewhere.
        return arguments_of(call) == [node]
    return any(name.startswith(_COMPUTE) for name in names)


_COMPUTE = ("jax.lax.", "jax.nn.", "jax.numpy.", "math.", "numpy.", "optax.")


def _asks_leaves(points_to: PointsTo, document: Document, sites: Sites) -> bool:
    """Whether a function that goes over all leaves asks each for what only an array has."""
    if "map" not in document.text:
        return False
    for call in document.of_kind(ast.Call):
        given = frozenset().union(*map(points_to.legacy, call.args[1:]))
        if sites & sites_of(points_to.data_inside(given), Optimizer):
            is_map = points_to.package_names(call.func) & MAPS_TREES
            if is_map and any(_asks(each) for each in points_to.functions(call.args[0])):
                return True
    return False


def _asks(function: Function) -> bool:
    """Whether a function asks what it is given for what only an array has."""
    names = [each.arg for each in (*function.node.args.posonlyargs, *function.node.args.args)]
    for node in ast.walk(function.node):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in names:
                return True
            # What stands on all devices is an array by then.
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in names:
                if not _is_whole(index):
                    return True
    return False


def _is_traced(points_to: PointsTo, document: Document, function: ast.AST) -> bool:
    """Whether jax traces a function, or one that it stands in."""
    while not isinstance(function, ast.Module):
        if function in points_to.traced:
            return True
        function = document.variables_of(document.parents[function])
    return False
