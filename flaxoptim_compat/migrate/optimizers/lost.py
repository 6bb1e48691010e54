"""Optimizers that go into something of which nothing is known, or come out of it.

Where the program asks something unknown for what optimizers have, that may be one of these: they
stay.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.names.dotted import (
    arguments_of,
    assigned,
    last_name,
    names_asked,
    whose_fields,
)
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.optimizers.given_away import takes_any_tree
from flaxoptim_compat.migrate.optimizers.use import RUN_TO_KNOW, Use, shown, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import files_by_name
from flaxoptim_compat.migrate.values import containers
from flaxoptim_compat.migrate.values.arguments import kept_by
from flaxoptim_compat.migrate.values.known_names import IMPORT_BY_NAME, is_not_read
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Class,
    External,
    File,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    bases_of,
)
from flaxoptim_compat.migrate.values.package_functions import matters
from flaxoptim_compat.migrate.values.points_to import PointsTo


class Lost(NamedTuple):
    """What goes out of sight at one place.

    Args:
      place: the expression there.
      held: the optimizers in it, among other things.
      what: what happens to them.
    """

    place: ast.expr
    held: Objects
    what: str


def lost_to(points_to: PointsTo, document: Document, node: ast.AST, seen: str) -> Iterator[Use]:
    """An optimizer that goes into something of which nothing is known, or comes out of it.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: what may put it there.
      seen: what is asked of something that may be it, and where.
    """
    for lost in _lost(points_to, document, node):
        if sites := sites_of(lost.held, Optimizer):
            problem = f"{lost.what}. The {seen} may be of that optimizer: {_NAME_IT} {RUN_TO_KNOW}"
            yield Use("FOC218", document, lost.place, sites, problem)
    if isinstance(node, ast.Attribute) and node.attr in points_to.optimizer_fields:
        yield from _of_unknown(points_to, document, node, seen)


_NAME_IT = "if so, name it `optimizer` there."


def _lost(points_to: PointsTo, document: Document, node: ast.AST) -> Iterator[Lost]:
    yield from _put_unseen(points_to, node)
    yield from _taken_by_operators(points_to, node)
    yield from _taken_out(points_to, node)
    if isinstance(node, ast.Call):
        yield from _made(points_to, node)
        yield from _looked_up(points_to, document, node)
        yield from _variables(points_to, document, node)
        yield from _imported(points_to, document, node)
    elif isinstance(node, ast.FunctionDef):
        yield from _kept_by_decorators(points_to, node, Function(document, node))
    elif isinstance(node, ast.ClassDef):
        yield from _kept_by_decorators(points_to, node, Class(document, node))
        yield from _asked_by_bases(points_to, node, Class(document, node))


def _put_unseen(points_to: PointsTo, node: ast.AST) -> Iterator[Lost]:
    for holder, method, value in _put(node):
        held = _given_by(points_to, points_to.legacy(value))
        if sites_of(held, Optimizer) and _is_put_unseen(points_to, holder, method):
            what = f"An optimizer is put into `{shown(holder)}`, of which nothing is known"
            yield Lost(value, held, what)


def _taken_by_operators(points_to: PointsTo, node: ast.AST) -> Iterator[Lost]:
    for operand in operands(node):
        held = points_to.legacy(operand)
        within = points_to.data_inside(held) - held
        if sites_of(within, Optimizer) and not points_to.values(node):
            yield Lost(
                operand,
                within,
                f"The result of `{shown(node)}` is not known, and may hold an optimizer",
            )


def _taken_out(points_to: PointsTo, node: ast.AST) -> Iterator[Lost]:
    """What is taken out of something that is known, and is not found there."""
    for holder, is_known in _taken_from(points_to, node):
        held = points_to.legacy(holder)
        if held and not sites_of(held, Optimizer) and not is_known():
            what = f"The text does not show the values in `{shown(holder)}`, where an optimizer is"
            yield Lost(holder, points_to.inside(held), what)


def _of_unknown(
    points_to: PointsTo, document: Document, node: ast.Attribute, seen: str
) -> Iterator[Use]:
    """A field of something unknown, which in a class of the program has an optimizer."""
    if not isinstance(node.ctx, ast.Load) or points_to.values(node):
        return
    owners = points_to.values(node.value)
    if owners and not any(_may_have_others(points_to, each) for each in owners):
        return
    together = points_to.processes.together_with(document)
    for of, optimizers in points_to.optimizer_fields[node.attr]:
        if of.document in together and (sites := sites_of(optimizers, Optimizer) - {None}):
            field = f"{ast.unparse(node.value)}.{node.attr}"
            problem = _FIELD.format(node.attr, of.node.name, seen, field)
            yield Use("FOC218", document, node, sites, problem)


_FIELD = (
    "This may be the field `{}` of a `{}`, which holds an optimizer. The {} may be of that"
    f" optimizer: if so, name it first, `optimizer = {{}}`. {RUN_TO_KNOW}"
)


def _made(points_to: PointsTo, call: ast.Call) -> Iterator[Lost]:
    """What an unknown function may make, which is given one that makes optimizers."""
    if any(_is_known(each) for each in points_to.values(call.func)):
        return
    for value in arguments_of(call):
        held = points_to.legacy(value)
        makers = frozenset(each for each in held if isinstance(each, Function | Class))
        if makers:
            what = (
                f"`{shown(call.func)}` is given code that makes an optimizer, and is not known here"
            )
            yield Lost(value, _given_by(points_to, makers), what)


def _is_known(taker: Object) -> bool:
    """Whether it is seen what a function does with one that it is given."""
    if not isinstance(taker, External):
        return True
    return matters(taker.name) or takes_any_tree(taker.name)


def _looked_up(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Lost]:
    """A field of an object with optimizers, by a name that only shows when the program runs."""
    match call:
        case ast.Call(func=ast.Name(id="getattr"), args=[owner, _, *_]):
            # Of one that hands on all that it is asked for, the question is the place to look at.
            asked = getattr(document.function(call), "name", "")
            if names_asked(document, call) or asked == "__getattr__":
                return
            values = points_to.values(owner)
            owners = frozenset(each for each in values if isinstance(each, Instance | Class | File))
            held = points_to.inside(owners) | _given_by(points_to, owners)
            yield Lost(
                call, held, f"The result of `{shown(call)}` is not known, and may be an optimizer"
            )


def _variables(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Lost]:
    """The variables of a function or file, by names that only show when the program runs."""
    if not isinstance(call.func, ast.Name) or call.func.id not in _GIVE_VARIABLES:
        return
    scopes = points_to.scopes[document]
    scope: Scope | None = scopes.walk.scopes[scopes.around(call)]
    held: Objects = NOTHING
    while scope is not None:
        held = held.union(*(points_to.variable(scope.node, each) for each in scope.bindings))
        scope = scope.parent
    held = _given_by(points_to, held)
    yield Lost(call, held, f"The result of `{shown(call)}` is not known, and may be an optimizer")


_GIVE_VARIABLES = frozenset({"eval", "exec", "globals", "locals"})


def _imported(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Lost]:
    """A file that is imported by a name of which more is open than is followed."""
    names = points_to.package_names(call.func)
    if not names & (IMPORT_BY_NAME | _RUN_FILES) or points_to.values(call):
        return
    together = points_to.processes.together_with(document)
    is_named = bool(names & IMPORT_BY_NAME)
    if not is_named and isinstance(document.parents[call], ast.Expr):
        return
    files = files_by_name(call, document, together) if is_named else together - {document}
    made = _given_by(points_to, frozenset(map(File, files)))
    yield Lost(call, made, f"The result of `{shown(call)}` is not known, and may be an optimizer")


_RUN_FILES = frozenset({"importlib.util.module_from_spec", "runpy.run_module", "runpy.run_path"})


def _kept_by_decorators(
    points_to: PointsTo, made: ast.FunctionDef | ast.ClassDef, maker: Object
) -> Iterator[Lost]:
    """What makes optimizers, and is put somewhere by a decorator, where others may find it."""
    for decorator in made.decorator_list:
        wrappers = (each for each in points_to.values(decorator) if isinstance(each, Function))
        keeps = any(not kept_by(each) and any(_put_in(each)) for each in wrappers)
        if keeps or _is_registry(points_to, decorator):
            what = f"`@{shown(decorator)}` makes something unknown of code that makes an optimizer"
            yield Lost(decorator, _given_by(points_to, frozenset({maker})), what)


def _put_in(wrapper: Function) -> Iterator[ast.expr]:
    for node in ast.walk(wrapper.node):
        yield from (value for _, _, value in _put(node))


def _is_registry(points_to: PointsTo, decorator: ast.expr) -> bool:
    """Whether a decorator of a package that is not read registers what it is put around."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    is_known = any(map(takes_any_tree, points_to.package_names(function)))
    is_followed = any(points_to.functions(function)) or is_known
    return last_name(function).startswith("register") and not is_followed


def _asked_by_bases(points_to: PointsTo, node: ast.ClassDef, of: Class) -> Iterator[Lost]:
    """A class with methods that return optimizers, derived from one that may call these."""
    for base in bases_of(node):
        if any(map(is_not_read, points_to.package_names(base))):
            what = f"The class `{shown(base)}` may call a method that returns an optimizer"
            yield Lost(base, _given_by(points_to, frozenset({of})), what)


def _taken_from(
    points_to: PointsTo, node: ast.AST
) -> Iterator[tuple[ast.expr, Callable[[], Objects]]]:
    """What something is taken out of, and what is known of that."""
    match node:
        case ast.For(iter=holder) | ast.comprehension(iter=holder):
            yield holder, functools.partial(points_to.entries, holder)
        case (
            ast.Subscript(value=holder, ctx=ast.Load())
            | ast.Attribute(value=holder, attr="__dict__")
        ):
            yield holder, functools.partial(points_to.values, node)
        case ast.withitem(context_expr=holder, optional_vars=ast.expr()):
            yield holder, functools.partial(points_to.entered, holder)
        case ast.Attribute() | ast.Call():
            if (owner := whose_fields(node)) is not node:
                yield owner, functools.partial(points_to.values, node)


def operands(node: ast.AST) -> Sequence[ast.expr]:
    """What an operator or brackets are given: a class of the program may keep or return it."""
    match node:
        case ast.BinOp(left=ast.Constant()):
            return ()  # a text or number does not keep it, as in "%s" % optimizer
        case ast.BinOp(left=left, right=right):
            return left, right
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() | ast.Invert(), operand=operand):
            return [operand]
        case ast.Subscript(slice=key, ctx=ast.Load()):
            return [key]
    return ()


def _given_by(points_to: PointsTo, objects: Objects) -> Objects:
    """What is in objects, and what their methods return, or they themselves as functions."""
    nodes: list[ast.AST] = []
    for each in objects:
        match each:
            case Function(node=node):
                nodes.append(node)
            case Instance(of=of) | (Class() as of):
                nodes += (method for one, _ in points_to.ancestry(of) for method in one.node.body)
            case File(document=document):
                nodes += document.tree.body
    functions = (each for each in nodes if isinstance(each, ast.FunctionDef | ast.Lambda))
    return points_to.data_inside(objects.union(*map(points_to.returned, functions)))


def _put(node: ast.AST) -> Iterator[tuple[ast.expr, str, ast.expr]]:
    """What is put somewhere: into what, by which method, and the value."""
    match node:
        case ast.Call(func=ast.Attribute(value=holder, attr=method)) if method in containers.PUT:
            for value in arguments_of(node):
                yield holder, method, value
        case ast.Assign():
            for target, value in assigned(node):
                is_entry = isinstance(target, ast.Subscript)
                yield target.value, "__setitem__" if is_entry else "__setattr__", value


def _is_put_unseen(points_to: PointsTo, holder: ast.expr, method: str) -> bool:
    """Whether it is not seen what becomes of something that is put there by this method."""
    owners = points_to.values(holder)
    classes = [each.of for each in owners if isinstance(each, Instance)]
    return not owners or (
        method != "__setattr__" and any(_inherits(points_to, each, method) for each in classes)
    )


def _inherits(points_to: PointsTo, of: Class, method: str) -> bool:
    """Whether a class has a method from a package that is not read."""
    return not points_to.is_container(of) and not points_to.has_method(of, method)


def _may_have_others(points_to: PointsTo, owner: Object) -> bool:
    """Whether an object may have more attributes than are seen."""
    if not isinstance(owner, Instance):
        return isinstance(owner, File)
    ancestry = [*points_to.ancestry(owner.of)]
    foreign = (isinstance(base, External) for _, bases in ancestry for base in bases)
    unknown = (len(bases) < len(one.node.bases) for one, bases in ancestry)
    parts = (each for one, _ in ancestry for each in ast.walk(one.node))
    return any(foreign) or any(unknown) or any(map(_adds_fields, parts))


def _adds_fields(node: ast.AST) -> bool:
    """Whether a part of a class gives its objects fields whose names only show as it runs."""
    match node:
        case ast.FunctionDef(name=name):
            return name == "__getattr__"
        case ast.Attribute(attr=name) | ast.Call(func=ast.Name(id=name)):
            return name in ("__dict__", "setattr", "vars")
    return False
