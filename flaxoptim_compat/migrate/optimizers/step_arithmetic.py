"""Where a program computes with the step of an optimizer, as an array and not as Python's number.

A TrainState starts at a number of Python and counts in such numbers until a compiled function
returns it. flax.optim had an array of int32: what was computed with it was rounded to float32, and
divided by zero without an error. Inside of what jax traces there is no difference.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Iterator

from flaxoptim_compat.migrate.names.dotted import arguments_of, last_name
from flaxoptim_compat.migrate.optimizers.origins import assignments, sources
from flaxoptim_compat.migrate.optimizers.taken_leaves import TAKE_LEAVES
from flaxoptim_compat.migrate.optimizers.use import Sites, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import containers
from flaxoptim_compat.migrate.values.known_names import (
    CALL_LATER,
    MAKE_NAMESPACES,
    MAPS_TREES,
    PARTIALS,
    RETURNS_ARGUMENT,
    SET_FIELD,
    TRACE,
    is_not_read,
)
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
    function = _made_by(points_to, use.document, use.node)
    return not _is_traced(points_to, use.document, function) and _becomes_another(
        points_to, use.document, use.node
    )


def _made_by(points_to: PointsTo, document: Document, node: ast.expr) -> ast.AST:
    """The function that has an optimizer as a variable: what it closes over is not traced."""
    root = node
    while isinstance(root, ast.Attribute | ast.Subscript | ast.Call):
        root = root.func if isinstance(root, ast.Call) else root.value
    around = document.variables_of(node)
    if not isinstance(root, ast.Name):
        return around
    scope = points_to.scopes[document].binder(root, root.id) or around
    match scope:
        case ast.FunctionDef(args=ast.arguments(args=[ast.arg(arg=receiver), *_])):
            of = document.parents[scope]
            if isinstance(of, ast.ClassDef) and receiver == root.id:
                # What a method is called on is static where jax traces it, if it is no tree.
                return document.variables_of(of)
    return scope


def _becomes_another(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether something else may come of a number of Python than of an array."""
    parent = document.parents[node]
    match parent:
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
            return False
        case ast.BinOp(op=ast.Mod() | ast.FloorDiv(), left=left, right=right) if left is node:
            known = [right, *(each for _, each in sources(points_to, document, right))]
            return any(map(_is_broken, known)) or _becomes_another(points_to, document, parent)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult(), left=left, right=right):
            other = right if left is node else left
            return not _is_whole(other) or _becomes_another(points_to, document, parent)
        case ast.UnaryOp(op=ast.USub() | ast.UAdd()) | ast.Compare() | ast.BoolOp():
            return _becomes_another(points_to, document, parent)
        case ast.UnaryOp(op=ast.Not()):
            return False
        case ast.IfExp(test=test):
            return test is not node and _becomes_another(points_to, document, parent)
        case ast.Call() | ast.keyword():
            return _computes(points_to, document, node, parent)
        case ast.Dict() | ast.List() | ast.Set() | ast.Tuple():
            return not _is_only_shown(points_to, document, parent)
        case ast.Subscript(value=array, slice=index):
            # What is replicated is an array by then.
            return array is node and not _is_whole(index)
        case ast.comprehension(iter=iterable):
            return iterable is node
        case ast.Assign(targets=[ast.Name(id=name)]):
            function = document.function(parent)
            if _may_be_asked_elsewhere(points_to, document, parent, name):
                return True
            elsewhere = (ast.Global, ast.Nonlocal)
            inside = [*ast.walk(function)]
            if any(isinstance(each, elsewhere) and name in each.names for each in inside):
                inside = document.nodes
            names = (each for each in inside if isinstance(each, ast.Name) and each.id == name)
            loaded = (each for each in names if isinstance(each.ctx, ast.Load))
            return any(_becomes_another(points_to, document, each) for each in loaded)
    return not isinstance(parent, _ASK_OR_SHOW)


def _may_be_asked_elsewhere(
    points_to: PointsTo, document: Document, statement: ast.Assign, name: str
) -> bool:
    """Whether a variable is an attribute of a class, or of a file that others ask for it."""
    around = document.parents[statement]
    if not isinstance(around, ast.Module):
        return isinstance(around, ast.ClassDef)
    others = points_to.processes.together_with(document) - {document}
    return any(
        any(each.attr == name for each in other.of_kind(ast.Attribute))
        or any(each.name in (name, "*") for each in other.of_kind(ast.alias))
        for other in others
    )


_ASK_OR_SHOW = (ast.Assert, ast.Expr, ast.FormattedValue, ast.If, ast.Slice, ast.While)


def _is_only_shown(points_to: PointsTo, document: Document, container: ast.expr) -> bool:
    """Whether a container goes into a text, or to something that writes it down."""
    parent = document.parents[container]
    match parent:
        case ast.BinOp(left=ast.Constant(value=str()) | ast.JoinedStr()):
            return True
        case ast.Dict() | ast.List() | ast.Set() | ast.Tuple():
            return _is_only_shown(points_to, document, parent)
        case ast.Call(func=ast.Attribute(attr=method)) if method in containers.PUT:
            return False
        case ast.Call() if container is not parent.func:
            takers = points_to.values(parent.func)
            names = [each.name for each in takers if isinstance(each, External)]
            is_used = not isinstance(document.parents[parent], ast.Expr | ast.FormattedValue)
            return len(names) == len(takers) and not any(
                _computes_inside(each, parent) or (is_used and _may_give_it(each)) for each in names
            )
    return isinstance(parent, _ASK_OR_SHOW)


def _is_broken(node: ast.expr) -> bool:
    """Whether a number is none of the whole ones, as far as is seen."""
    match node:
        case ast.Constant(value=float()) | ast.BinOp(op=ast.Div()):
            return True
    return False


def _is_whole(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _computes(
    points_to: PointsTo, document: Document, node: ast.expr, parent: ast.Call | ast.keyword
) -> bool:
    """Whether a call that is given the step may compute with it."""
    call = document.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is node:
        return True
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Constant):
        return False  # as of `"{:d}".format(step)`
    takers = points_to.values(call.func)
    names = {each.name for each in takers if isinstance(each, External)}
    if len(names) < len(takers) or names & (MAPS_TREES | TAKE_LEAVES | _CALL_WITH_IT):
        return True
    if not names:
        # A method that takes it beside other things writes it down, but for those of containers.
        others = isinstance(call.func, ast.Attribute) and arguments_of(call) != [node]
        is_used = not isinstance(document.parents[call], ast.Expr)
        return is_used or not others or last_name(call.func) in _PUT_AT
    if names & _HAND_ON:
        return _becomes_another(points_to, document, call)
    if names & _KEEP:
        return True
    if names & _HOLD:
        return not _is_only_shown(points_to, document, call)
    is_used = not isinstance(document.parents[call], ast.Expr)
    return any(_is_of_numbers(each) or (is_used and is_not_read(each)) for each in names)


def _computes_inside(function: str, call: ast.Call) -> bool:
    """Whether a function of Python or of a package computes with what is in what it is given."""
    if function in _WRITE_JSON:
        return any(each.arg == "default" for each in call.keywords)
    return (
        _is_of_numbers(function)
        or function in MAPS_TREES | TAKE_LEAVES
        or function in RETURNS_ARGUMENT
        or function.startswith("flax.traverse_util.")
    )


def _may_give_it(function: str) -> bool:
    return "." in function and function not in _WRITE_JSON


_WRITE_JSON = frozenset({"json.dump", "json.dumps"})


def _is_of_numbers(function: str) -> bool:
    """Whether a function of Python or of a package computes with what it is given, or keeps it."""
    return function in _HAND_ON | _HOLD or function.startswith(_COMPUTE)


# What gives back one of those that it is given.
_HAND_ON = frozenset(["abs", "copy.copy", "copy.deepcopy", "jax.device_get", "max", "min", "round"])
# What makes a container of what it is given, or takes something out of one.
_HOLD = containers.FUNCTIONS - _HAND_ON
# What gives it to a function of the program, or tells what kind of a thing it is.
_CALL_WITH_IT = CALL_LATER.keys() | {"getattr", "hasattr", "isinstance", "type"}
# What puts it where it may be computed with.
_KEEP = {*SET_FIELD, *MAKE_NAMESPACES, "dataclasses.replace", "heapq.heappush", "typing.cast"}
_PUT_AT = {*containers.PUT_AT, "__setitem__"}
_COMPUTE = (
    "chex.",
    "divmod",
    "functools.",
    "itertools.",
    "jax.lax.",
    "jax.nn.",
    "jax.numpy.",
    "math.",
    "numpy.",
    "operator.",
    "optax.",
    "pickle.",
    "pow",
    "sum",
)


def _asks_leaves(points_to: PointsTo, document: Document, sites: Sites) -> bool:
    """Whether leaves are taken, or each of them is asked for what only an array has."""
    if not any(each in document.text for each in ("flatten", "leaves", "map")):
        return False
    for call in document.of_kind(ast.Call):
        given = frozenset().union(*map(points_to.legacy, call.args))
        if sites & sites_of(points_to.data_inside(given), Optimizer):
            names = points_to.package_names(call.func)
            takes = names & TAKE_LEAVES or (
                names & MAPS_TREES and _asks_each(points_to, call.args[0])
            )
            if takes and not _is_traced(points_to, document, document.variables_of(call)):
                return True
    return False


def _asks_each(points_to: PointsTo, mapped: ast.expr) -> bool:
    """Whether what is called for each leaf of a tree may ask it for what only an array has."""
    called = [*points_to.called_by(mapped)]
    functions = [each for each in called if isinstance(each, Function)]
    is_of_jax = any(isinstance(each, External) and _is_of_jax(each.name) for each in called)
    return any(_asks(points_to, each) for each in functions) or not (functions or is_of_jax)


def _is_of_jax(function: str) -> bool:
    return function.startswith("jax.")


def _asks(points_to: PointsTo, function: Function) -> bool:
    """Whether a function computes with what it is given, or asks it for what only an array has."""
    arguments = function.node.args
    given = [*arguments.posonlyargs, *arguments.args, arguments.vararg]
    names = {each.arg for each in given if each is not None}
    for node in ast.walk(function.node):
        match node:
            case ast.Attribute(value=owner):
                # As in `(x - y).max()`; but not of what is given to another function.
                inside = () if isinstance(owner, ast.Call) else ast.walk(owner)
                if any(isinstance(each, ast.Name) and each.id in names for each in inside):
                    return True
            case ast.BinOp(op=operator, left=left, right=right):
                both = itertools.chain(ast.walk(left), ast.walk(right))
                is_simple = isinstance(operator, ast.Add | ast.Sub | ast.Mult) and all(
                    _is_whole(each) or isinstance(each, ast.Name) for each in (left, right)
                )
                is_given = any(isinstance(each, ast.Name) and each.id in names for each in both)
                if is_given and not is_simple:
                    return True
            case ast.Assign(value=ast.Name(id=name)) if name in names:
                return True
            case ast.Call(func=called):
                is_given = any(getattr(each, "id", "") in names for each in arguments_of(node))
                if is_given and not any(map(_is_of_jax, points_to.package_names(called))):
                    return True
            # What stands on all devices is an array by then.
            case ast.Subscript(value=ast.Name(id=name), slice=index) if name in names:
                if not _is_whole(index):
                    return True
    return False


def _is_traced(points_to: PointsTo, document: Document, function: ast.AST) -> bool:
    """Whether jax traces a function, or one that it stands in, wherever that is called."""
    return any(
        each in points_to.traced and not _runs_as_it_is(points_to, document, each)
        for each in _around(document, function)
    )


def _around(document: Document, function: ast.AST) -> Iterator[ast.AST]:
    """A function, and those that it stands in."""
    while not isinstance(function, ast.Module):
        yield function
        function = document.variables_of(document.parents[function])


def _runs_as_it_is(points_to: PointsTo, document: Document, function: ast.AST) -> bool:
    """Whether a function that jax traces somewhere may also be called as it is, untraced."""
    if isinstance(function, ast.Lambda):
        return not _is_to_be_traced(points_to, document, function)
    if not isinstance(function, ast.FunctionDef):
        return False
    if function.decorator_list:
        return not any(map(points_to.only_traces, function.decorator_list))
    for file in points_to.processes.together_with(document):
        names: list[ast.Name | ast.Attribute] = [
            *file.of_kind(ast.Name),
            *file.of_kind(ast.Attribute),
        ]
        for node in names:
            if last_name(node) != function.name or not isinstance(node.ctx, ast.Load):
                continue
            is_it = any(
                isinstance(each, Function) and each.node is function
                for each in points_to.values(node)
            )
            if not is_it or any(assignments(points_to, file, node, function.name)):
                continue  # as after `step = jax.jit(step)`
            if _is_to_be_traced(points_to, file, node):
                continue
            if points_to.traced.isdisjoint(_around(file, file.variables_of(node))):
                return True
    return False


def _is_to_be_traced(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether a function is given to what traces it, as by ``partial(jax.pmap, ...)(step)``."""
    parent = document.parents[node]
    if isinstance(parent, ast.keyword):
        parent = document.parents[parent]
    if not isinstance(parent, ast.Call) or parent.func is node:
        return False
    makers = {each.name for each in points_to.called_by(parent.func) if isinstance(each, External)}
    if makers & PARTIALS and not makers & TRACE:
        return _is_to_be_traced(points_to, document, parent)
    return bool(makers & TRACE)
