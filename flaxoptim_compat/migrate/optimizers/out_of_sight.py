"""Where nothing is known of what an optimizer may be in, or of what may be one."""

from __future__ import annotations

import ast
import builtins
import functools
from collections.abc import Callable, Container, Iterable, Iterator, Sequence

from flaxoptim_compat.migrate.names.dotted import (
    arguments_of,
    assigned,
    last_name,
    names_asked,
    whose_fields,
)
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.optimizers.given_away import takes_any_tree
from flaxoptim_compat.migrate.optimizers.use import STEPS, Use, becomes_train_state, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import files_by_name
from flaxoptim_compat.migrate.values import containers
from flaxoptim_compat.migrate.values.arguments import kept_by
from flaxoptim_compat.migrate.values.known_names import (
    IMPORT_BY_NAME,
    TELLING,
    hints_at_optimizer,
    is_bridged,
    is_not_read,
)
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

_TARGET = "target"


def not_understood(points_to: PointsTo, document: Document) -> list[ast.Attribute]:
    """The attributes in a file that an optimizer has, of what nothing is known of.

    Many things have a ``target``: it does not count in a file that assigns to one.
    """
    nodes = [*document.of_kind(ast.Attribute), *_asked_by_name(document)]
    own = {each.attr for each in nodes if isinstance(each.ctx, ast.Store)}
    names = {*TELLING, *({_TARGET} - own)}
    return [each for each in nodes if _is_unknown(points_to, each, names)]


def _asked_by_name(document: Document) -> Iterator[ast.Attribute]:
    """What ``getattr`` asks for by a name that is written out, as the attribute that it is."""
    for call in document.of_kind(ast.Call):
        match call:
            case ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]
            ):
                yield ast.copy_location(ast.Attribute(owner, name, ast.Load()), call)


def _is_unknown(points_to: PointsTo, node: ast.Attribute, names: Container[str]) -> bool:
    """Whether something of which nothing is known is asked for one of these names."""
    return (
        node.attr in names
        and not points_to.values(node.value)
        and not _is_super(node.value)
        and not is_bridged(node)
    )


def first_asked(points_to: PointsTo, document: Document, unknown: Sequence[ast.Attribute]) -> str:
    """What is asked first of something that may be an optimizer, and where; "" if nothing is.

    Args:
      points_to: what is known of the program.
      document: the file.
      unknown: its places that are not understood.
    """
    for node in unknown:
        return f"`.{node.attr}` in {document.place(node)}"
    # Others have a `state.step`, too, so nobody is asked to look at it.
    for node in document.of_kind(ast.Attribute):
        if _is_step_of_unknown(points_to, node):
            return f"`.state.step` in {document.place(node)}"
    return ""


def _is_step_of_unknown(points_to: PointsTo, node: ast.Attribute) -> bool:
    match node:
        case ast.Attribute(value=ast.Attribute(value=owner, attr="state"), attr="step"):
            return not points_to.values(owner)
    return False


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"


def is_certain(points_to: PointsTo, node: ast.Attribute) -> bool:
    """Whether only an optimizer has what is asked for."""
    is_own, called = points_to.is_own_method(node.attr), last_name(node.value)
    return node.attr in TELLING and hints_at_optimizer(node.attr, called, is_own=is_own)


def made_unseen(points_to: PointsTo, uses: Iterable[Use]) -> Iterator[Use]:
    """What may make an optimizer of which nothing is known, beside steps of such a one.

    Args:
      points_to: what is known of the program.
      uses: what it does with its optimizers.
    """
    unknown = {each.document for each in uses if each.sites == {None} and each.code in STEPS}
    for document in points_to.documents if unknown else ():
        if unknown.isdisjoint(points_to.processes.together_with(document)):
            continue
        for call in document.of_kind(ast.Call):
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "create":
                continue
            # Given the parameters alone, or by name.
            if len(call.args) != 1 and all(each.arg != _TARGET for each in call.keywords):
                continue
            if not points_to.values(call.func.value) and not becomes_train_state(document, call):
                yield Use("FOC202", document, call, frozenset({None}), _MADE_UNSEEN)


_MADE_UNSEEN = (
    "What this `create` makes is not known, and may be an optimizer that is used elsewhere: write"
    " which one it is, as in `optim.Adam(...).create(...)`."
)


def lost_to(points_to: PointsTo, document: Document, node: ast.AST, seen: str) -> Iterator[Use]:
    """An optimizer that goes into something of which nothing is known, or comes out of it.

    Args:
      points_to: what is known of the program.
      document: the file.
      node: what may put it there.
      seen: what is asked of something that may be it, and where.
    """
    for holder, method, value in _put(node):
        sites = sites_of(_given_by(points_to, points_to.legacy(value)), Optimizer)
        if sites and _is_put_unseen(points_to, holder, method):
            what = f"It is put into `{ast.unparse(holder)}`, of which nothing is known,"
            yield Use("FOC218", document, value, sites, _MAY_BE.format(what, seen))
    for operand in _operands(node):
        held = points_to.legacy(operand)
        sites = sites_of(points_to.data_inside(held), Optimizer) - sites_of(held, Optimizer)
        if sites and not points_to.values(node):
            what = f"What `{ast.unparse(node)}` makes of it is not known,"
            yield Use("FOC218", document, operand, sites, _MAY_BE.format(what, seen))
    for holder, taken_out in _taken_out(points_to, node):
        held = points_to.legacy(holder)
        if held and not taken_out():
            sites = sites_of(points_to.inside(held), Optimizer)
            if sites and not sites_of(held, Optimizer):
                what = f"What `{ast.unparse(holder)}` gives here is not known,"
                yield Use("FOC218", document, holder, sites, _MAY_BE.format(what, seen))
    if isinstance(node, ast.Call):
        yield from _made(points_to, document, node, seen)
        yield from _looked_up(points_to, document, node, seen)
        yield from _variables(points_to, document, node, seen)
        yield from _imported(points_to, document, node, seen)
    elif isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield from _kept_by_decorators(points_to, document, node, seen)
        if isinstance(node, ast.ClassDef):
            yield from _asked_by_bases(points_to, document, node, seen)
    elif isinstance(node, ast.Attribute) and node.attr in points_to.optimizer_fields:
        yield from _of_unknown(points_to, document, node, seen)


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
    "It may be the `{}` of a `{}`, an optimizer, and have the {}: if so, name it"
    " first, `optimizer = {}`."
)


def _looked_up(points_to: PointsTo, document: Document, call: ast.Call, seen: str) -> Iterator[Use]:
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
            if sites := sites_of(held, Optimizer):
                what = f"What `{ast.unparse(call)}` gives is not known,"
                yield Use("FOC218", document, call, sites, _MAY_BE.format(what, seen))


def _variables(points_to: PointsTo, document: Document, call: ast.Call, seen: str) -> Iterator[Use]:
    """The variables of a function or file, by names that only show when the program runs."""
    if not isinstance(call.func, ast.Name) or call.func.id not in _GIVE_VARIABLES:
        return
    scopes = points_to.scopes[document]
    scope: Scope | None = scopes.walk.scopes[scopes.around(call)]
    held: Objects = NOTHING
    while scope is not None:
        held = held.union(*(points_to.variable(scope.node, each) for each in scope.bindings))
        scope = scope.parent
    if sites := sites_of(_given_by(points_to, held), Optimizer):
        what = f"What `{ast.unparse(call)}` gives is not known,"
        yield Use("FOC218", document, call, sites, _MAY_BE.format(what, seen))


_GIVE_VARIABLES = frozenset({"eval", "exec", "globals", "locals"})


def _imported(points_to: PointsTo, document: Document, call: ast.Call, seen: str) -> Iterator[Use]:
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
    if sites := sites_of(made, Optimizer):
        what = f"What `{ast.unparse(call)}` gives is not known,"
        yield Use("FOC218", document, call, sites, _MAY_BE.format(what, seen))


_RUN_FILES = frozenset({"importlib.util.module_from_spec", "runpy.run_module", "runpy.run_path"})


def _kept_by_decorators(
    points_to: PointsTo, document: Document, made: ast.FunctionDef | ast.ClassDef, seen: str
) -> Iterator[Use]:
    """What makes optimizers, and is put somewhere by a decorator, where others may find it."""
    maker = _as_object(document, made)
    for decorator in made.decorator_list:
        wrappers = (each for each in points_to.values(decorator) if isinstance(each, Function))
        if any(not kept_by(each) and any(_put_in(each)) for each in wrappers) or (
            _is_registry(points_to, decorator)
        ):
            given = _given_by(points_to, frozenset({maker}))
            if sites := sites_of(given, Optimizer):
                what = f"What `{ast.unparse(decorator)}` does with it is not known,"
                yield Use("FOC218", document, decorator, sites, _MAY_BE.format(what, seen))


def _as_object(document: Document, made: ast.FunctionDef | ast.ClassDef) -> Object:
    if isinstance(made, ast.ClassDef):
        return Class(document, made)
    return Function(document, made)


def _asked_by_bases(
    points_to: PointsTo, document: Document, node: ast.ClassDef, seen: str
) -> Iterator[Use]:
    """A class with methods that return optimizers, derived from one that may call these."""
    for base in bases_of(node):
        if any(map(is_not_read, points_to.package_names(base))):
            given = _given_by(points_to, frozenset({Class(document, node)}))
            if sites := sites_of(given, Optimizer):
                what = f"What `{ast.unparse(base)}` does with what methods return is not known,"
                yield Use("FOC218", document, base, sites, _MAY_BE.format(what, seen))


def _is_registry(points_to: PointsTo, decorator: ast.expr) -> bool:
    """Whether a decorator of a package that is not read registers what it is put around."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    is_known = any(map(takes_any_tree, points_to.package_names(function)))
    is_followed = any(points_to.functions(function)) or is_known
    return last_name(function).startswith("register") and not is_followed


def _put_in(wrapper: Function) -> Iterator[ast.expr]:
    for node in ast.walk(wrapper.node):
        yield from (value for _, _, value in _put(node))


def decorated(points_to: PointsTo, document: Document, function: ast.FunctionDef) -> Iterator[Use]:
    """A function with optimizers, around which another one is put that may ask them for things."""
    for decorator in function.decorator_list:
        wrappers = (each for each in points_to.values(decorator) if isinstance(each, Function))
        asked = min((place for each in wrappers if (place := _asks(points_to, each))), default="")
        if asked:
            names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
            given = (points_to.variable(function, each) for each in names)
            held = points_to.returned(function).union(*given)
            if sites := sites_of(points_to.data_inside(held), Optimizer):
                problem = _WRAPPED.format(ast.unparse(decorator), asked)
                yield Use("FOC218", document, decorator, sites, problem)


_WRAPPED = "`{}` is put around it, and may ask an optimizer for what stands in {}."


def into_operator(
    points_to: PointsTo, document: Document, node: ast.expr | ast.AugAssign
) -> Iterator[Use]:
    """An optimizer in brackets or beside an operator, which a class of the program understands."""
    for operand in [node.value] if isinstance(node, ast.AugAssign) else _operands(node):
        if sites := sites_of(points_to.legacy(operand), Optimizer):
            problem = _OPERATOR.format(ast.unparse(node))
            yield Use("FOC218", document, operand, sites, problem)


_OPERATOR = "It is not followed through `{}`: give it to a function or method instead."


def into_exception(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that an exception takes to whoever catches it."""
    classes = (each for each in points_to.values(call.func) if isinstance(each, Class))
    bases = (base for of in classes for _, bases in points_to.ancestry(of) for base in bases)
    if not any(isinstance(each, External) and _is_exception(each.name) for each in bases):
        return
    for value in arguments_of(call):
        if sites := sites_of(points_to.data_inside(points_to.legacy(value)), Optimizer):
            problem = _RAISED.format(ast.unparse(call.func))
            yield Use("FOC218", document, value, sites, problem)


_RAISED = "It is not followed to who catches the `{}`: put it into a variable that both know."


def _asks(points_to: PointsTo, wrapper: Function) -> str:
    """Where a function asks something unknown for what optimizers have; "" if it does not."""
    for node in ast.walk(wrapper.node):
        if isinstance(node, ast.Attribute) and (
            _is_unknown(points_to, node, {_TARGET, *TELLING})
            or _is_step_of_unknown(points_to, node)
        ):
            return wrapper.document.place(node)
    return ""


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


_MAY_BE = "{} and may be what has the {}: if so, give that the name `optimizer` first."


def _taken_out(
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


def _operands(node: ast.AST) -> Sequence[ast.expr]:
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


def _made(points_to: PointsTo, document: Document, call: ast.Call, seen: str) -> Iterator[Use]:
    """What an unknown function may make, which is given one that makes optimizers."""
    if any(_is_known(each) for each in points_to.values(call.func)):
        return
    for value in arguments_of(call):
        held = points_to.legacy(value)
        makers = frozenset(each for each in held if isinstance(each, Function | Class))
        given = _given_by(points_to, makers)
        if sites := sites_of(given, Optimizer):
            what = f"What `{ast.unparse(call.func)}` does with it is not known,"
            yield Use("FOC218", document, value, sites, _MAY_BE.format(what, seen))


def _is_known(taker: Object) -> bool:
    """Whether it is seen what a function does with one that it is given."""
    if not isinstance(taker, External):
        return True
    return matters(taker.name) or takes_any_tree(taker.name)


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


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


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
