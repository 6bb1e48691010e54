"""Where nothing is known of what may be an optimizer, and where one is followed no further."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Container, Iterable, Iterator, Sequence

from flaxoptim_compat.migrate.names.dotted import (
    arguments_of,
    last_name,
)
from flaxoptim_compat.migrate.optimizers.lost import operands
from flaxoptim_compat.migrate.optimizers.use import (
    RUN_TO_KNOW,
    STEPS,
    Use,
    becomes_train_state,
    shown,
    sites_of,
)
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.known_names import (
    TELLING,
    hints_at_optimizer,
    is_bridged,
)
from flaxoptim_compat.migrate.values.objects import (
    Class,
    External,
    Function,
    Optimizer,
)
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
    "The result of this `create` is not known, and may be an optimizer that is used elsewhere:"
    f" write which one it is, as in `optim.Adam(...).create(...)`. {RUN_TO_KNOW}"
)


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
                problem = _WRAPPED.format(shown(decorator), asked)
                yield Use("FOC218", document, decorator, sites, problem)


_WRAPPED = (
    "The decorator `@{}` asks for an attribute in {}, maybe of an optimizer of this function."
    f" {RUN_TO_KNOW}"
)


def into_operator(
    points_to: PointsTo, document: Document, node: ast.expr | ast.AugAssign
) -> Iterator[Use]:
    """An optimizer in brackets or beside an operator, which a class of the program understands."""
    for operand in [node.value] if isinstance(node, ast.AugAssign) else operands(node):
        if sites := sites_of(points_to.legacy(operand), Optimizer):
            problem = _OPERATOR.format(shown(node))
            yield Use("FOC218", document, operand, sites, problem)


_OPERATOR = (
    "The text does not show whether an optimizer goes through `{}`: give it to a function instead."
    f" {RUN_TO_KNOW}"
)


def into_exception(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that an exception takes to whoever catches it."""
    classes = (each for each in points_to.values(call.func) if isinstance(each, Class))
    bases = (base for of in classes for _, bases in points_to.ancestry(of) for base in bases)
    if not any(isinstance(each, External) and _is_exception(each.name) for each in bases):
        return
    for value in arguments_of(call):
        if sites := sites_of(points_to.data_inside(points_to.legacy(value)), Optimizer):
            problem = _RAISED.format(shown(call.func))
            yield Use("FOC218", document, value, sites, problem)


_RAISED = (
    "The text does not show who catches the `{}` with the optimizer in it: put the optimizer into"
    f" a variable that both know. {RUN_TO_KNOW}"
)


def _asks(points_to: PointsTo, wrapper: Function) -> str:
    """Where a function asks something unknown for what optimizers have; "" if it does not."""
    for node in ast.walk(wrapper.node):
        if isinstance(node, ast.Attribute) and (
            _is_unknown(points_to, node, {_TARGET, *TELLING})
            or _is_step_of_unknown(points_to, node)
        ):
            return wrapper.document.place(node)
    return ""


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)
