"""Where the value of an expression comes from, as far as that is seen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Class, Function, Objects, class_of
from flaxoptim_compat.migrate.values.points_to import PointsTo

# Through so many assignments, calls and functions it is looked for.
MOST_STEPS = 5


def assigned_once(
    points_to: PointsTo, document: Document, place: ast.AST, node: ast.expr
) -> ast.expr:
    """What a variable is assigned, if that happens once and in the same function.

    Of what is unpacked into several, it is an entry.

    Args:
      points_to: what is known of the program.
      document: the file.
      place: where it is asked for.
      node: the variable; any other expression is returned as it is.
    """
    if not isinstance(node, ast.Name):
        return node
    match list(assignments(points_to, document, place, node.id)):
        case [statement]:
            return assigned_by(statement, node.id) or node
    return node


def assigned_by(statement: ast.stmt, name: str) -> ast.expr | None:
    """What a statement that binds a name gives to it; None if that is no plain assignment."""
    match statement:
        case ast.Assign(targets=[ast.Name(), *_], value=value):
            return value
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            names = [each.id if isinstance(each, ast.Name) else "" for each in targets]
            if name in names and not any(isinstance(each, ast.Starred) for each in targets):
                entry = ast.Subscript(value, ast.Constant(names.index(name)), ast.Load())
                return ast.copy_location(entry, value)
    return None


def assignments(
    points_to: PointsTo, document: Document, place: ast.AST, name: str
) -> Iterator[ast.stmt]:
    """The statements that bind a name in the scope in which it is seen at a place."""
    scopes = points_to.scopes[document]
    scope = scopes.binder(place, name)
    if scope is None:
        return
    for node in ast.walk(scope):
        stored = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if stored and scopes.binder(node, name) is scope:
            yield document.statement(node)


def sources(
    points_to: PointsTo, document: Document, node: ast.expr
) -> Iterator[tuple[Document, ast.expr]]:
    """Where the value of an expression comes from, as far as that is seen."""
    match node:
        case ast.Call():
            yield from _returned(points_to, node)
        case ast.Subscript(value=ast.Call() as call, slice=ast.Constant(value=int(index))):
            if "jax.flatten_util.ravel_pytree" in points_to.package_names(call.func):
                yield document, ast.Constant(1.0 if index == 0 else None)
            for file, each in _returned(points_to, call):
                yield from ((file, entry) for entry in _entry(each, index))
        case ast.Subscript(
            value=ast.Name() | ast.Attribute() as holder, slice=ast.Constant(value=key) as index
        ):
            yield document, holder
            for file, each in sources(points_to, document, holder):
                within = ast.copy_location(ast.Subscript(each, index, ast.Load()), each)
                is_written_out = isinstance(each, ast.Dict | ast.List | ast.Tuple)
                entries = _entry(each, key) if is_written_out else [within]
                yield from ((file, entry) for entry in entries)
            yield from _stored(points_to, document, node)
        case ast.Subscript(value=holder):
            yield document, holder
        case ast.Name():
            yield from _assigned(points_to, document, node)
        case ast.Attribute():
            yield from _stored(points_to, document, node)


def _entry(node: ast.expr, key: object) -> Iterator[ast.expr]:
    """What a tuple, list or dict that is written out has under a key."""
    match node:
        case ast.Tuple(elts=entries) | ast.List(elts=entries) if isinstance(key, int):
            yield from entries[key : key + 1]
        case ast.Dict(keys=keys, values=values):
            for each, value in zip(keys, values, strict=True):
                if isinstance(each, ast.Constant) and each.value == key:
                    yield value


def _returned(points_to: PointsTo, call: ast.Call) -> Iterator[tuple[Document, ast.expr]]:
    for function in (each for each in points_to.values(call.func) if isinstance(each, Function)):
        if isinstance(function.node, ast.Lambda):
            yield function.document, function.node.body
            continue
        for each in ast.walk(function.node):
            if isinstance(each, ast.Return) and each.value is not None:
                yield function.document, each.value


def _assigned(
    points_to: PointsTo, document: Document, name: ast.Name
) -> Iterator[tuple[Document, ast.expr]]:
    """What a variable is given, by statements of its scope or by calls."""
    scope = points_to.scopes[document].binder(name, name.id)
    if isinstance(scope, ast.FunctionDef) and points_to.is_parameter(document, name):
        yield from _given(points_to, document, scope, name.id)
    statements = assignments(points_to, document, name, name.id)
    found = [value for each in statements if (value := assigned_by(each, name.id)) is not None]
    # Of several the last one before the place counts.
    before = [each for each in found if each.lineno < name.lineno]
    last = max(before, key=lambda each: each.lineno, default=None)
    yield from ((document, each) for each in ([last] if last else found))


def _given(
    points_to: PointsTo, document: Document, function: ast.FunctionDef, name: str
) -> Iterator[tuple[Document, ast.expr]]:
    """What a parameter is given by calls, and by its default."""
    around = document.parents[function]
    # What a class is called with goes to this method of it alone.
    made = around if isinstance(around, ast.ClassDef) and function.name == "__init__" else function
    positional = [*function.args.posonlyargs, *function.args.args]
    index = next((i for i, each in enumerate(positional) if each.arg == name), None)
    if index is not None:
        index -= isinstance(around, ast.ClassDef)
        defaults = dict(zip(positional[::-1], function.args.defaults[::-1], strict=False))
        yield from ((document, each) for arg, each in defaults.items() if arg.arg == name)
    for arg, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if arg.arg == name and default is not None:
            yield document, default
    for file in points_to.processes.together_with(document):
        for call in file.of_kind(ast.Call):
            # As in `jax.vmap(fit)(x)`, what it is called by may have no name.
            named = (function.name, made.name)
            if (isinstance(call.func, ast.Call) or last_name(call.func) in named) and any(
                isinstance(each, Function | Class) and each.node in (function, made)
                for each in points_to.values(call.func)
            ):
                by_name = [each.value for each in call.keywords if each.arg == name]
                by_position = [] if index is None else call.args[index : index + 1]
                yield from ((file, each) for each in (*by_position, *by_name))


def _stored(
    points_to: PointsTo, document: Document, place: ast.Attribute | ast.Subscript
) -> Iterator[tuple[Document, ast.expr]]:
    """What is assigned to a field or an entry, in this file and in that of its class."""
    owners = points_to.values(place.value)
    files = [each.document for each in map(class_of, owners) if each is not None]
    for file in dict.fromkeys([document, *files]):
        for node in file.of_kind(ast.Assign):
            for target in node.targets:
                is_one = isinstance(target, ast.Attribute | ast.Subscript)
                for index, each in enumerate([target] if is_one else getattr(target, "elts", ())):
                    if _is_same(each, place) and _may_be_one_of(points_to, each.value, owners):
                        entry = ast.Subscript(node.value, ast.Constant(index), ast.Load())
                        yield file, node.value if is_one else ast.copy_location(entry, node.value)


def _is_same(target: ast.expr, place: ast.Attribute | ast.Subscript) -> bool:
    """Whether two places have the same name in what they are in, or the same key."""
    match target, place:
        case ast.Attribute(attr=name), ast.Attribute(attr=other):
            return name == other
        case (
            ast.Subscript(slice=ast.Constant(value=key)),
            ast.Subscript(slice=ast.Constant(value=other)),
        ):
            return bool(key == other)
    return False


def _may_be_one_of(points_to: PointsTo, holder: ast.expr, owners: Objects) -> bool:
    held = points_to.values(holder)
    classes = [of for each in held if (of := class_of(each)) is not None]
    inherited = {one for each in classes for one, _ in points_to.ancestry(each)}
    return not held.isdisjoint(owners) or any(class_of(each) in inherited for each in owners)


def may_be_none(
    points_to: PointsTo, document: Document, node: ast.expr, steps: int = MOST_STEPS
) -> bool:
    """Whether an expression is None, at least in one call.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: the expression.
      steps: through how many others it may be.
    """
    if not steps:
        return False
    match node:
        case ast.Constant(value=value):
            return value is None
        case ast.IfExp(body=first, orelse=second):
            found = [(document, first), (document, second)]
        case _:
            found = [*sources(points_to, document, node)]
    return any(may_be_none(points_to, file, each, steps - 1) for file, each in found)
