"""Optimizers that go where the text does not show what becomes of them: they stay.

Whatever the text does not show, a run does.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import (
    arguments_of,
    assigned,
    name_asked,
    whose_fields,
)
from flaxoptim_compat.migrate.optimizers.use import (
    NOT_PICKLED,
    RUN_TO_KNOW,
    Use,
    axes_of,
    becomes_train_state,
    shown,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.calls import is_followed
from flaxoptim_compat.migrate.values.objects import (
    Class,
    Definition,
    External,
    Function,
    Instance,
    Objects,
    Optimizer,
    is_unpickled,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo

_TARGET = "target"
# What they store is not followed.
_STORE_UNSEEN = known_names.NAMESPACES | {"setattr", "object.__setattr__"}


def given_away(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer, its definition, or what holds one, given to a function that is not seen."""
    for argument in arguments_of(call):
        objects = points_to.values(argument)
        if not objects:
            continue
        is_by_name = argument in call.args[:1] and _asks_for_any(call)
        inside = points_to.memory.inside if is_by_name else points_to.data_inside
        holder = "" if sites_of(objects, Optimizer) else "an object that holds "
        sites = sites_of(inside(objects), Optimizer)
        if not sites:
            holder = "a function that returns "
            objects = frozenset()
            returned = (points_to.returned(each.node) for each in points_to.functions(argument))
            sites = sites_of(points_to.data_inside(objects.union(*returned)), Optimizer)
        if not sites:
            holder = "the definition of "
            sites = sites_of(inside(points_to.values(argument)), Definition)
        if sites and (taker := _unseen(points_to, call, objects)):
            problem = f"`{shown(call)}` may give {holder}an optimizer to {taker}. {RUN_TO_KNOW}"
            fails = not _READ_FIELDS.isdisjoint(points_to.package_names(call.func))
            yield Use("FOC218", document, argument, sites, problem, fails_dual=fails)


# They take the fields themselves, which are others in a DualTrainState.
_READ_FIELDS = frozenset(
    {"vars", "dataclasses.asdict", "dataclasses.astuple", "dataclasses.fields"}
)


def _asks_for_any(call: ast.Call) -> bool:
    """True if a call is ``getattr`` with a name that only shows as the program runs."""
    is_getattr = isinstance(call.func, ast.Name) and call.func.id == "getattr"
    return is_getattr and not name_asked(call)


def _unseen(points_to: PointsTo, call: ast.Call, given: Objects) -> str:
    """The function whose code is not seen; "" if there is none."""
    function = call.func
    takers = [*points_to.called_by(function)]
    names = [each.name for each in takers if isinstance(each, External)]
    if isinstance(function, ast.Attribute):
        if isinstance(function.value, ast.Constant | ast.JoinedStr):
            return ""  # a text does not keep what `format` puts into it
        owners = points_to.values(function.value)
        is_own = bool(owners) and all(isinstance(each, Instance) for each in owners)
        if function.attr in known_names.KEEP_THINGS or (is_own and function.attr == "_replace"):
            return ""
    others = [each for each in names if not _takes(points_to, call, each, given)]
    if others:
        return f"{min(others)}, whose code is not seen"
    if points_to.may_call_unseen(function) or not (takers or _is_method(points_to, function)):
        return "a function whose code is not seen"
    for each in takers:
        if isinstance(each, Class) and given and points_to.is_made_unseen(each):
            return f"`{each.node.name}`, of which no `__init__` is seen"
    called = [each for each in arguments_of(call) if any(points_to.functions(each))]
    if given and called and names and not all(map(is_followed, names)):
        return f"`{shown(called[0])}`, through {min(names)}"
    return ""


def _takes(points_to: PointsTo, call: ast.Call, name: str, given: Objects) -> bool:
    """True if a package's function takes an optimizer for a tree like others, or is followed."""
    if name in _STORE_UNSEEN:
        return False
    if name in ("getattr", "hasattr"):
        # The name of an attribute changes, so it is to stand there; a dataclass has a few fields.
        data = [isinstance(each, Instance) and points_to.memory.is_data(each.of) for each in given]
        return bool(name_asked(call)) or (bool(data) and all(data))
    return (
        name in known_names.PICKLE  # of which `stored_otherwise` speaks
        or is_followed(name)
        or known_names.makes_none(name)
        or known_names.is_number(name)
        or known_names.legacy_name(name) is not None
    )


def _is_method(points_to: PointsTo, function: ast.expr) -> bool:
    """True for a method of a container, or of an optimizer."""
    if not isinstance(function, ast.Attribute):
        return False
    owners = points_to.values(function.value)
    unseen = External | Function | Instance | Class
    return bool(owners) and not any(isinstance(each, unseen) for each in owners)


def put_away(points_to: PointsTo, document: Document, node: ast.Assign) -> Iterator[Use]:
    """An optimizer, or what holds one, that is put into something unknown."""
    for target, value in assigned(node):
        sites = sites_of(points_to.data_inside(points_to.values(value)), Optimizer)
        owners = points_to.values(target.value)
        is_of_package = any(isinstance(each, External) for each in owners)
        is_own = isinstance(target, ast.Subscript) and any(
            isinstance(each, Instance) for each in owners
        )
        if sites and (is_of_package or is_own or not owners):
            problem = _PUT_AWAY.format(shown(target.value))
            yield Use("FOC218", document, target, sites, problem)


_PUT_AWAY = f"An optimizer is put into `{{}}`, which is not read here. {RUN_TO_KNOW}"


def leaves_taken(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer whose leaves are counted, or looked at."""
    if known_names.LEAVES & points_to.package_names(call.func):
        for argument in arguments_of(call):
            sites = sites_of(points_to.values(argument), Optimizer)
            if sites and not points_to.is_unknown(argument):
                yield Use("FOC218", document, argument, sites, _LEAVES, fails_dual=True)


_LEAVES = "The leaves of an optimizer are taken, and a TrainState has others, in another order."


def stored_otherwise(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is stored in another way than a TrainState."""
    functions = points_to.package_names(call.func)
    pickles = bool(functions & known_names.PICKLE)
    if not pickles and not any(each.startswith(_SERIALIZERS) for each in functions):
        return
    for argument in arguments_of(call):
        values = points_to.values(argument)
        inside = points_to.memory.inside if pickles else points_to.data_inside
        data = inside(points_to.values(whose_fields(argument)))
        if sites := sites_of(data, Optimizer):
            if pickles and sites_of(values, Optimizer) and axes_of(values) <= {""}:
                yield Use("FOC219", document, argument, sites, NOT_PICKLED, bridge="reads")
            elif pickles:
                yield Use("FOC218", document, argument, sites, _PICKLED)
            elif axes_of(data) - {""}:
                yield Use("FOC211", document, argument, sites, _FIRST_COPY, fails_dual=True)


_PICKLED = (
    "The pickle has an optimizer in it, and cannot have a TrainState, because of the functions in"
    " that: pickle `flax.serialization.to_state_dict(...)` of it."
)
_SERIALIZERS = ("flax.serialization.", "flax.training.checkpoints.")
_FIRST_COPY = (
    "A replicated optimizer is stored as its first copy, and a TrainState as all of them: store its"
    " `unreplicate()`, and restore before `replicate()`."
)


def class_asked(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """The class of an optimizer or a definition, asked for by ``type`` or ``isinstance``.

    ``Optimizer`` and ``OptimizerDef`` are none of the classes here: others take their place.
    """
    match call.args:
        case [asked] if "type" in points_to.package_names(call.func):
            values = points_to.values(asked)
            if sites := sites_of(values, Optimizer):
                problem = _CLASS_ASKED.format(shown(call))
                yield Use("FOC219", document, call, sites, problem, fails_dual=True)
        case [asked, of] if "isinstance" in points_to.package_names(call.func):
            classes = of.elts if isinstance(of, ast.Tuple) else [of]
            names = frozenset[str]().union(*map(points_to.package_names, classes))
            is_of_these = any(map(known_names.is_definition, names))
            values = points_to.values(asked) if is_of_these else frozenset()
        case _:
            return
    if sites := sites_of(values, Definition):
        yield Use("FOC201", document, call, sites, _CLASS_ASKED.format(shown(call)))


_CLASS_ASKED = "`{}` asks for the class, which becomes another one."


# Where something may be an optimizer, and it does not show


def not_understood(points_to: PointsTo, document: Document) -> list[ast.Attribute]:
    """The attributes in a file that an optimizer has, of what nothing is known of.

    Many things have a ``target``: it does not count in a file that assigns to one.
    """
    nodes = [*document.of_kind(ast.Attribute), *_asked_by_name(document)]
    own = {each.attr for each in nodes if isinstance(each.ctx, ast.Store)}
    names = {*known_names.TELLING, *({_TARGET} - own)}
    return [
        each
        for each in nodes
        if each.attr in names
        and not points_to.values(each.value)
        and not known_names.is_bridged(each)
        and not (each.attr == _TARGET and is_unpickled(points_to.unknown(each.value)))
        and getattr(getattr(each.value, "func", None), "id", "") != "super"
    ]


def _asked_by_name(document: Document) -> Iterator[ast.Attribute]:
    """The attributes that ``getattr`` asks for by a name that is written out, as nodes."""
    for call in document.of_kind(ast.Call):
        match call:
            case ast.Call(
                func=ast.Name(id="getattr"), args=[owner, ast.Constant(value=str(name)), *_]
            ):
                yield ast.copy_location(ast.Attribute(owner, name, ast.Load()), call)


def is_certain(points_to: PointsTo, node: ast.Attribute) -> bool:
    """True if only an optimizer has the attribute that is asked for."""
    return node.attr in known_names.TELLING and points_to.memory.hints_at_optimizer(node)


def made_unseen(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """The call of ``create`` that may make an optimizer, if the definition is unknown."""
    match call:
        case ast.Call(func=ast.Attribute(value=maker, attr="create"), args=args):
            if len(args) != 1 and all(each.arg != _TARGET for each in call.keywords):
                return  # it is given more than the parameters
            is_unknown = points_to.is_unknown(maker) and not points_to.values(maker)
            if is_unknown and not becomes_train_state(document, call):
                yield Use("FOC202", document, call, frozenset({None}), _MADE_UNSEEN)


_MADE_UNSEEN = (
    "The result of this `create` is not known, and may be an optimizer that is used elsewhere:"
    f" write which one it is, as in `optim.Adam(...).create(...)`. {RUN_TO_KNOW}"
)
