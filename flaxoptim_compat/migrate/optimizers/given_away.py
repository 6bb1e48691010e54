"""Optimizers that are given to code which is not read, or may be made by it.

Of some functions of packages it is known that they do something else with a TrainState, as
``pickle.dump`` does.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import (
    arguments_of,
    asks_by_name,
    assigned,
    names_asked,
    whose_fields,
)
from flaxoptim_compat.migrate.optimizers.taken_leaves import TAKE_LEAVES, leaves_taken
from flaxoptim_compat.migrate.optimizers.use import RUN_TO_KNOW, Use, axes_of, shown, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import containers, known_names
from flaxoptim_compat.migrate.values.calls import FIELD_METHODS
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Class,
    Container,
    Definition,
    External,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Super,
    bases_of,
    class_of,
    fields_of,
)
from flaxoptim_compat.migrate.values.package_functions import matters
from flaxoptim_compat.migrate.values.points_to import PointsTo


def given_to_unread(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is given to a function which is not read, by itself or in something."""
    for argument in arguments_of(call):
        objects = points_to.legacy(argument)
        if not objects:
            continue
        if sites := sites_of(objects, Optimizer):
            what = "an optimizer"
        elif sites := sites_of(points_to.data_inside(objects), Optimizer):
            what = "an object that holds an optimizer"
        else:
            continue
        is_holder = not sites_of(objects, Optimizer)
        if _becomes_field(points_to, call, argument):
            continue
        if taker := _unread_taker(points_to, document, call, is_holder):
            problem = f"`{shown(call)}` may give {what} to {taker}. {RUN_TO_KNOW}"
            yield Use("FOC218", document, argument, sites, problem)


def _becomes_field(points_to: PointsTo, call: ast.Call, argument: ast.expr) -> bool:
    """Whether what a call is given by name becomes a field of that name, which is followed."""
    if all(each.arg is None or each.value is not argument for each in call.keywords):
        return False
    names = points_to.package_names(call.func)
    return bool(names) and names <= {"dataclasses.replace", *known_names.MAKE_NAMESPACES}


def _unread_taker(points_to: PointsTo, document: Document, call: ast.Call, is_holder: bool) -> str:
    """What is not read and takes an optimizer, or what holds one; "" if nothing is of this kind."""
    for function in (call.func, *_called_by(points_to, call)):
        if taker := _unread(points_to, document, call, function, is_holder):
            return taker
    return ""


def _unread(
    points_to: PointsTo, document: Document, call: ast.Call, function: ast.expr, is_holder: bool
) -> str:
    takers = [*points_to.called_by(function)]
    packages = {
        each.name
        for each in takers
        if isinstance(each, External)
        and not (takes_any_tree(each.name) and not _may_call(points_to, call, each.name))
        and not (each.name in _BY_NAME and _is_followed(document, call, is_holder))
        and not (is_holder and _takes_out_nothing(each.name))
    }
    packages.update(*(_made_by_packages(points_to, each) for each in takers))
    if points_to.is_unknown(function):
        return "one of too many functions to follow"
    if packages:
        return f"{min(packages)}, which may expect an Optimizer"
    if takers or _keeps_things(function) or _is_known_method(points_to, call, function):
        return ""
    # Who hands this function a state hands it what works on such a state, as who gets one back.
    is_given = is_holder and points_to.is_parameter(document, function)
    return "" if is_given else "a function whose code is not seen"


def _called_by(points_to: PointsTo, call: ast.Call) -> Iterator[ast.expr]:
    """The functions that a function of a package calls with what else it is given."""
    for name in points_to.package_names(call.func):
        keywords: tuple[str, ...] = ("key",) if name in containers.FUNCTIONS else ()
        positions = known_names.CALL_WITH_THE_REST.get(name, ())
        if later := known_names.CALL_LATER.get(name):
            positions, keywords = later.function[:1], later.function[1:]
        if name in known_names.MAPS_TREES and any(each.arg == "is_leaf" for each in call.keywords):
            positions = (0,)
        for position in positions:
            yield from call.args[position : position + 1]
        yield from (each.value for each in call.keywords if each.arg in keywords)


def _made_by_packages(points_to: PointsTo, taker: Object) -> Iterator[str]:
    """The classes of packages that what a class of the program is given goes to."""
    if (
        not isinstance(taker, Class)
        or points_to.is_container(taker)
        or points_to.has_method(taker, "__init__")
    ):
        return
    for one, bases in points_to.ancestry(taker):
        if fields_of(one.node):
            return
        for base in bases:
            if isinstance(base, External) and not _makes_no_optimizer(base.name):
                yield base.name


def _may_call(points_to: PointsTo, call: ast.Call, name: str) -> bool:
    """Whether a function is also given one of the program, which it may call with the optimizer."""
    if matters(name) or name in known_names.TAKE_ANYTHING or name in TAKE_LEAVES:
        return False
    given = (each for argument in arguments_of(call) for each in points_to.values(argument))
    return any(isinstance(each, Function) for each in given)


# Attributes of which the name is written out are followed.
_BY_NAME = known_names.GET_FIELD | known_names.LEAVE_FIELDS


def _is_followed(document: Document, call: ast.Call, is_holder: bool) -> bool:
    # What an optimizer itself is asked for changes its name, so that is to stand there.
    return bool(names_asked(document, call)) if is_holder else asks_by_name(call)


def _takes_out_nothing(name: str) -> bool:
    """Whether a function leaves what is in an object where it is, or it is followed out of it."""
    return (
        name in known_names.RETURNS_ARGUMENT
        or name in known_names.LEAVE_FIELDS
        or name in containers.FUNCTIONS
        or name in containers.UNBOUND
    )


def _is_known_method(points_to: PointsTo, call: ast.Call, function: ast.expr) -> bool:
    """Whether it is a method of a container, or one that a class has from flax, as ``apply``."""
    if not isinstance(function, ast.Attribute):
        return False
    owners = points_to.values(function.value)
    if owners and all(isinstance(each, Container) for each in owners):
        return True
    classes = [each.of if isinstance(each, Instance | Super) else each for each in owners]
    if function.attr in FIELD_METHODS and all(isinstance(each, Class) for each in classes):
        return bool(classes) and isinstance(call.args[0], ast.Constant)
    if any(isinstance(each, Class) and points_to.is_container(each) for each in classes):
        return function.attr in containers.METHODS
    bases = [
        base.name
        for each in classes
        if isinstance(each, Class)
        for node in bases_of(each.node)
        for base in points_to.values(node)
        if isinstance(base, External)
    ]
    return bool(bases) and all(map(takes_any_tree, bases))


def put_into_unread(points_to: PointsTo, document: Document, node: ast.Assign) -> Iterator[Use]:
    """An optimizer, or what holds one, that is put into a module or object that is not read."""
    for target, value in assigned(node):
        sites = sites_of(points_to.data_inside(points_to.legacy(value)), Optimizer)
        if not sites:
            continue
        owners = points_to.values(target.value)
        names = [each.name for each in owners if isinstance(each, External)]
        if not owners and _is_imported(points_to, document, target.value):
            names = [ast.unparse(target.value)]
        if names:
            problem = (
                f"An optimizer is put into `{min(names)}`, which is not read here. {RUN_TO_KNOW}"
            )
            yield Use("FOC218", document, target, sites, problem)


def _is_imported(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether a name is one that an import statement binds, from whatever file."""
    imports = points_to.scopes[document].walk.imports
    names = {alias.asname or alias.name for statement, _ in imports for alias in statement.names}
    return isinstance(node, ast.Name) and node.id in names


def made_by_unread(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """What is made by something unread, where the program elsewhere has optimizers."""
    if points_to.legacy(call):
        return
    beside = _beside(points_to, document, call)
    sites = sites_of(beside, Optimizer) or sites_of(beside, Definition)
    if not sites - {None}:
        return
    maker = call.func
    if isinstance(maker, ast.Attribute) and maker.attr in _MAKE_NONE:
        return
    if isinstance(maker, ast.Attribute) and isinstance(maker.value, ast.Call):
        maker = maker.value.func  # as in package.Adam(0.1).create(params)
    names = {each for each in points_to.package_names(maker) if not _makes_no_optimizer(each)}
    if names or not points_to.values(maker):
        what = min(names, default=ast.unparse(maker))
        problem = f"`{what}` may make an optimizer, beside those of flax.optim. {RUN_TO_KNOW}"
        yield Use("FOC219", document, call, sites, problem)


def _beside(points_to: PointsTo, document: Document, call: ast.Call) -> Objects:
    """What else is where the result of a call goes, and from where it is asked for things."""
    inner: ast.AST = call
    found: Objects = NOTHING
    depth = 0  # in how many things that go there it is
    while True:
        parent = document.parents[inner]
        match parent:
            case ast.IfExp() | ast.BoolOp():
                found |= points_to.legacy(parent)
            case ast.NamedExpr():
                found |= _held_by(points_to, document, parent.target)
            case ast.Subscript(value=value) if value is inner and depth:
                depth -= 1
            case ast.List(elts=entries) | ast.Tuple(elts=entries) | ast.Dict(values=entries):
                beside = _in_its_place(points_to, document, parent, inner)
                if beside is not None:
                    return found | beside
                found = found.union(*map(points_to.legacy, entries))
                depth += 1
            case ast.Call(func=function) if function is not inner and _hands_on(
                points_to, function
            ):
                depth += 1
            case _:
                break
        inner = parent
    sink: Objects = NOTHING
    match parent:
        case ast.Return():
            sink = points_to.returned(points_to.scopes[document].around(parent))
        case ast.Assign() | ast.AnnAssign():
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            sink = sink.union(*(_held_by(points_to, document, each) for each in targets))
        case ast.For(target=target) | ast.comprehension(target=target):
            sink, depth = _held_by(points_to, document, target), depth - 1
        case ast.Call() | ast.keyword():
            sink = _given_beside(points_to, document, inner)
    return found | (points_to.data_inside(sink) if depth else sink)


def _hands_on(points_to: PointsTo, function: ast.expr) -> bool:
    """Whether it is a function like ``next`` or ``list``, which gives what it is given."""
    names = points_to.package_names(function)
    return bool(names) and names <= containers.FUNCTIONS


def _in_its_place(
    points_to: PointsTo, document: Document, value: ast.expr, entry: ast.AST
) -> Objects | None:
    """What else has the place of an entry that is unpacked or returned; None if it has none."""
    if not isinstance(value, ast.Tuple | ast.List):
        return None
    index = [*map(id, value.elts)].index(id(entry))
    match value, document.parents[value]:
        case _, ast.Assign(targets=[ast.Tuple(elts=targets) | ast.List(elts=targets)]):
            if len(targets) == len(value.elts):
                return _held_by(points_to, document, targets[index])
        case ast.Tuple(), ast.Return():
            return _returned_beside(points_to, document, value, index)
    return None


def _returned_beside(
    points_to: PointsTo, document: Document, returned: ast.Tuple, index: int
) -> Objects:
    """What other tuples have in a place that the same function returns."""
    found: Objects = NOTHING
    for each in ast.walk(points_to.scopes[document].around(returned)):
        match each:
            case ast.Return(value=ast.Tuple(elts=entries)) if len(entries) == len(returned.elts):
                found |= points_to.legacy(entries[index])
    return found


def _given_beside(points_to: PointsTo, document: Document, argument: ast.AST) -> Objects:
    """What a parameter is given by all calls, of one of which this is an argument."""
    outer = document.parents[argument]
    name = outer.arg if isinstance(outer, ast.keyword) else None
    taker = document.parents[outer] if isinstance(outer, ast.keyword) else outer
    found: Objects = NOTHING
    if not isinstance(taker, ast.Call) or argument is taker.func:
        return found
    for each in points_to.legacy(taker.func):
        if isinstance(each, Function):
            declared = each.node.args
            positional = [*declared.posonlyargs, *declared.args][each.is_bound :]
            names = [
                parameter.arg
                for given, parameter in zip(taker.args, positional, strict=False)
                if given is argument
            ]
            for parameter in [name] if name else names:
                found |= points_to.given(each.node, parameter)
    return found


def _held_by(points_to: PointsTo, document: Document, target: ast.expr) -> Objects:
    """What a variable holds, an attribute of an object of the program, or an entry."""
    match target:
        case ast.Name(id=name):
            scope = points_to.scopes[document].binder(target, name)
            return NOTHING if scope is None else points_to.variable(scope, name)
        case ast.Attribute(value=owner, attr=name):
            classes = map(class_of, points_to.legacy(owner))
            fields = (points_to.field(of.node, name) for of in classes if of is not None)
            return NOTHING.union(*fields)
        case ast.Subscript(value=owner, slice=ast.Constant(value=key)):
            return points_to.entry(owner, key)
    return NOTHING


# A step of a TrainState, in a program that has moved, and methods of arrays.
_OF_ARRAYS = (
    "all any argmax argmin astype block_until_ready clip cumsum dot flatten item max mean min prod"
    " ravel reshape round squeeze std sum tolist transpose var"
)
_MAKE_NONE = frozenset(["apply_gradients", *_OF_ARRAYS.split()])


def _makes_no_optimizer(name: str) -> bool:
    # A name without a module that Python does not have comes from a file that is not read.
    return (
        takes_any_tree(name)
        or name.partition(".")[0] in ("optax", "flaxoptim_compat")
        or hasattr(builtins, name)
    )


def _keeps_things(function: ast.expr) -> bool:
    """Whether it is a method that puts what it is given somewhere, and asks it for nothing."""
    return isinstance(function, ast.Attribute) and (
        function.attr in known_names.KEEP_THINGS
        or function.attr in containers.PUT
        or function.attr in ("from_train_state", "to_train_state")
    )


def takes_any_tree(name: str) -> bool:
    """Whether a function of a package takes an optimizer for a tree like others."""
    root = name.partition(".")[0]
    return (
        root in known_names.TAKE_ANY_TREE
        or name in known_names.TAKE_ANYTHING
        or name in known_names.CALL_LATER
        or name in containers.FUNCTIONS
        or name in containers.UNBOUND
        or known_names.legacy_name(name) is not None
    )


def given_to_package(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is given to a function of a package to which it is not a tree of arrays.

    Args:
      points_to: what is known of the program.
      document: the file.
      call: the call.
    """
    # To ask what is called takes work, and few calls are given anything of flax.optim.
    if not any(points_to.legacy(whose_fields(each)) for each in arguments_of(call)):
        return
    functions = points_to.package_names(call.func)
    yield from _serialized(points_to, document, call, functions)
    yield from leaves_taken(points_to, document, call, functions)


def _serialized(
    points_to: PointsTo, document: Document, call: ast.Call, functions: frozenset[str]
) -> Iterator[Use]:
    """An optimizer that is stored in another way than a TrainState."""
    pickles = bool(functions & _PICKLERS)
    if not pickles and not any(each.startswith(_SERIALIZERS) for each in functions):
        return
    for argument in arguments_of(call):
        given = points_to.legacy(whose_fields(argument) if pickles else argument)
        sites = sites_of(points_to.inside(given), Optimizer)
        if not sites:
            continue
        if pickles:
            if not any(map(_pickles_itself, given)):
                yield Use("FOC218", document, argument, sites, _PICKLED)
            continue
        data = points_to.data_inside(given)
        if axes_of(data) - {""}:
            yield Use("FOC211", document, argument, sites_of(data, Optimizer), _FIRST_COPY)


def _pickles_itself(each: Object) -> bool:
    """Whether it is an object of a class that says what of it is pickled."""
    return isinstance(each, Instance) and any(
        isinstance(method, ast.FunctionDef) and method.name in _PICKLING
        for method in each.of.node.body
    )


_PICKLING = {"__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__", "__reduce_ex__"}
_PICKLERS = {"pickle.dump", "pickle.dumps"}
_PICKLED = (
    "An optimizer is pickled. A TrainState cannot be, because of the functions in it: pickle"
    " `flax.serialization.to_state_dict(...)` of it."
)
_SERIALIZERS = ("flax.serialization.", "flax.training.checkpoints.")
_FIRST_COPY = (
    "A replicated optimizer is stored as its first copy, and a TrainState as all of them: store its"
    " `unreplicate()`, and restore before `replicate()`."
)
