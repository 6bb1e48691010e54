"""What a program does with its optimizers, and what of it has no equal in optax."""

from __future__ import annotations

import ast
import builtins
import dataclasses
from collections.abc import Callable, Iterator
from typing import Literal

from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.optax_text.program_expressions import may_act
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Class,
    Definition,
    External,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Site,
    State,
    StateDict,
)
from flaxoptim_compat.migrate.values.points_to import PointsTo, is_bridged

MIXED = "This is an optimizer in some calls, and something else in others."
BY_HAND = "An optimizer is put together by hand."


@dataclasses.dataclass(frozen=True)
class Use:
    """One place where a program does something with an optimizer.

    Args:
      code: the rule it falls under.
      document: the file.
      node: the expression.
      sites: where the definitions of the optimizers were made; None: not in this program.
      problem: why it cannot be written with a TrainState; "" if it can.
      bridge: how it is still written where the definition stays: the optimizer that the TrainState
        stands for does it. ``reads`` something of it, or ``returns`` a new one, which becomes a
        TrainState again; "" if neither helps.
      overrides: the hyper-parameters given to one call of ``apply_gradient``, by name.
    """

    code: str
    document: Document
    node: ast.expr
    sites: frozenset[Site | None]
    problem: str = ""
    overrides: tuple[str, ...] = ()
    bridge: Literal["", "reads", "returns"] = ""

    @property
    def makes(self) -> bool:
        """Whether an optimizer is made here."""
        return self.code == "FOC202" or self.problem == BY_HAND

    @property
    def start(self) -> int:
        """Where it starts in the text of the file."""
        return self.document.span(self.node)[0]


def sites_of(
    values: Objects, kind: type[Optimizer | Definition | State | StateDict]
) -> frozenset[Site | None]:
    """Where the definitions of all values of a kind were made; None only if no place is known."""
    found: frozenset[Site | None] = frozenset(
        each.site for each in values if isinstance(each, kind)
    )
    return found - {None} or found


def is_simple(node: ast.expr) -> bool:
    """Whether an expression may be evaluated twice: a name, with attributes and constant keys."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
            return is_simple(inner)
    return False


def call_of(document: Document, node: ast.Attribute) -> ast.Call | None:
    """The call of a method; None if the method is not called where it stands."""
    parent = document.parents[node]
    return parent if isinstance(parent, ast.Call) and parent.func is node else None


Sites = frozenset[Site | None]


def attribute_use(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    """What an attribute of an optimizer is used for.

    Args:
      document: the file.
      node: the attribute.
      sites: where the definitions of the optimizer were made.
    """
    return _BY_NAME.get(node.attr, _unknown)(document, node, sites)


def _target(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    problem = "" if isinstance(node.ctx, ast.Load) else "It assigns to a field."
    return Use("FOC203", document, node, sites, problem)


def _state(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    parent = document.parents[node]
    if isinstance(parent, ast.Attribute):
        # What follows decides.
        if parent.attr == "step" and isinstance(parent.ctx, ast.Load):
            return Use("FOC204", document, parent, sites)
        if parent.attr == "replace" and _is_step_replaced(document, parent):
            return Use("FOC207", document, parent, sites, bridge="reads")
        problem = _STATE.format(f"state.{parent.attr}")
        return Use("FOC213", document, node, sites, problem, bridge="reads")
    return Use("FOC213", document, node, sites, _STATE.format("state"), bridge="reads")


_STATE = "`{}` has another structure in optax."


def _is_step_replaced(document: Document, node: ast.Attribute) -> bool:
    """Whether this is ``state.replace`` in ``x.replace(state=x.state.replace(step=n))``."""
    call = document.parents[node]
    if not (isinstance(call, ast.Call) and [each.arg for each in call.keywords] == ["step"]):
        return False
    if may_act(call.keywords[0].value):
        return False  # it is written twice, for the step and for the counts of optax
    keyword = document.parents[call]
    if not (isinstance(keyword, ast.keyword) and keyword.arg == "state" and not call.args):
        return False
    outer = document.parents[keyword]
    if not isinstance(node.value, ast.Attribute):
        return False
    return (
        isinstance(outer, ast.Call)
        and isinstance(outer.func, ast.Attribute)
        and outer.func.attr == "replace"
        and ast.dump(outer.func.value) == ast.dump(node.value.value)
    )


def _apply_gradient(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    if call is None:
        return Use("FOC205", document, node, sites, "The method is not called where it stands.")
    names = [each.arg for each in call.keywords]
    overrides = tuple(name for name in names if name not in (None, "grads"))
    problem = ""
    if any(isinstance(each, ast.Starred) for each in call.args) or None in names:
        problem = "Its arguments are not written out."
    elif len(call.args) + names.count("grads") != 1 or "hyper_params" in names:
        problem = "It is given hyper-parameters as an object."
    elif overrides and not is_simple(node.value):
        problem = "The optimizer has no name, and is needed twice."
    code = "FOC206" if overrides or problem else "FOC205"
    return Use(code, document, call, sites, problem, overrides, "returns")


def _replace(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    if call is None or call.args or not call.keywords:
        return Use("FOC207", document, node, sites, "What it replaces is not written out.")
    problem = ""
    bridge: Literal["", "returns"] = "returns"
    for each in call.keywords:
        if each.arg == "state":
            inner = each.value
            is_step = isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute)
            if not (is_step and _is_step_replaced(document, inner.func)):  # type: ignore[attr-defined]
                problem = _STATE.format("state")
            elif not is_simple(node.value):
                problem = "The optimizer has no name, and is needed twice."
        elif each.arg != "target":
            problem = f"A TrainState has no `{each.arg or '**'}` to replace."
            bridge = ""
    return Use("FOC207", document, call, sites, problem, bridge=bridge)


def _state_dict(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    wanted = 1 if node.attr == "restore_state" else 0
    if call is None or len(call.args) != wanted or call.keywords:
        return Use("FOC210", document, node, sites, "Its arguments are not those of flax.optim.")
    return Use("FOC210", document, call, sites)


def _replicate(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    problem = (
        "A replicated optimizer averages its gradients over the devices; a TrainState does not."
    )
    return Use("FOC211", document, node, sites, problem)


def _compute_gradient(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    call = call_of(document, node)
    parent = document.parents[call] if call is not None else None
    if call is None or len(call.args) != 1 or call.keywords:
        return Use("FOC212", document, node, sites, "Its arguments are not those of flax.optim.")
    target = (
        parent.targets[0] if isinstance(parent, ast.Assign) and not parent.targets[1:] else None
    )
    results = target.elts if isinstance(target, ast.Tuple) else []
    starred = any(isinstance(each, ast.Starred) for each in results)
    problem = "" if len(results) in (2, 3) and not starred else _RESULTS
    return Use("FOC212", document, call, sites, problem, bridge="reads")


_RESULTS = "Its results are not taken apart where it is called."


def _optimizer_def(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    problem = "A TrainState keeps the transformation as `tx`, without its hyper-parameters."
    return Use("FOC214", document, node, sites, problem, bridge="reads")


def _unknown(document: Document, node: ast.Attribute, sites: Sites) -> Use:
    return Use("FOC219", document, node, sites, f"A TrainState has no `{node.attr}`.")


_BY_NAME: dict[str, Callable[[Document, ast.Attribute, Sites], Use]] = {
    "target": _target,
    "state": _state,
    "apply_gradient": _apply_gradient,
    "replace": _replace,
    "state_dict": _state_dict,
    "restore_state": _state_dict,
    "replicate": _replicate,
    "unreplicate": _replicate,
    "compute_gradient": _compute_gradient,
    "optimizer_def": _optimizer_def,
}


def uses(points_to: PointsTo) -> Iterator[Use]:
    """All of them, in the order of the files."""
    for use in _all_uses(points_to):
        if isinstance(use.node, ast.Call) and _in_f_string(use.document, use.node):
            problem = "It is a part of an f-string: give it a name before."
            yield dataclasses.replace(use, problem=problem, bridge="")
        else:
            yield use


def _all_uses(points_to: PointsTo) -> Iterator[Use]:
    for document in points_to.documents:
        for node in document.nodes:
            if isinstance(node, ast.Attribute):
                yield from _of_attribute(points_to, document, node)
            elif isinstance(node, ast.Call):
                yield from _of_arguments(points_to, document, node)
                yield from _of_other_makers(points_to, document, node)
            elif isinstance(node, ast.Subscript):
                yield from _of_entries(points_to, document, node)
            elif isinstance(node, ast.Assign):
                yield from _of_stores(points_to, document, node)
            if isinstance(node, ast.Attribute | ast.Name) and points_to.legacy(node):
                yield from _of_class(points_to, document, node)


def _of_attribute(points_to: PointsTo, document: Document, node: ast.Attribute) -> Iterator[Use]:
    values = points_to.legacy(node.value)
    if not values or is_bridged(node):
        return
    if sites := sites_of(values, Optimizer):
        values = points_to.values(node.value)
        sites = sites_of(values, Optimizer)
        others = any(not isinstance(each, Optimizer) for each in values)
        if others or points_to.is_unknown(node.value):
            yield Use("FOC219", document, node, sites, MIXED)
            return
        yield attribute_use(document, node, sites)
    elif sites := sites_of(values, Definition):
        yield from _of_definition(document, node, sites)
    elif sites := sites_of(frozenset(_asked_for(values, node.attr)), StateDict):
        problem = f"A TrainState has other entries, for which `{node.attr}` may ask."
        yield Use("FOC210", document, node, sites, problem)


def _asked_for(values: Objects, attribute: str) -> Iterator[Object]:
    """The dicts of which an attribute may be asked for single entries.

    Who goes through all entries of a flat one takes them as they are.
    """
    for each in values:
        if not (isinstance(each, StateDict) and each.is_flat and attribute in _ALL_ENTRIES):
            yield each


_ALL_ENTRIES = frozenset({"items", "keys", "values"})


def _of_definition(
    document: Document, node: ast.Attribute, sites: frozenset[Site | None]
) -> Iterator[Use]:
    call = call_of(document, node)
    if call is not None and _becomes_train_state(document, call):
        return
    if node.attr != "create":
        yield Use("FOC201", document, node, sites, f"The program asks it for `{node.attr}`.")
        return
    if call is None:
        yield Use("FOC202", document, node, sites, "The method is not called where it stands.")
        return
    # By position they are the first ones of these.
    names = [*("target", "focus", "")[: len(call.args)], *(each.arg for each in call.keywords)]
    if any(isinstance(each, ast.Starred) for each in call.args) or sorted(map(str, names)) not in (
        ["target"],
        ["focus", "target"],
    ):
        yield Use("FOC202", document, node, sites, "Its arguments are not written out.")
        return
    yield Use("FOC202", document, call, sites)


def focus_of(create: ast.Call) -> ast.expr | None:
    """What a call of ``create`` gives as focus; None if all parameters are meant."""
    by_name = (each.value for each in create.keywords if each.arg == "focus")
    focus = next(by_name, create.args[1] if len(create.args) > 1 else None)
    return None if isinstance(focus, ast.Constant) and focus.value is None else focus


def _becomes_train_state(document: Document, call: ast.Call) -> bool:
    parent = document.parents[call]
    return isinstance(parent, ast.Attribute) and parent.attr == "to_train_state"


def _in_f_string(document: Document, node: ast.AST) -> bool:
    while isinstance(node, ast.expr | ast.keyword | ast.comprehension):
        node = document.parents[node]
        if isinstance(node, ast.JoinedStr):
            return True
    return False


def _of_entries(points_to: PointsTo, document: Document, node: ast.Subscript) -> Iterator[Use]:
    """An entry of a state dict, whose layout a TrainState does not have."""
    if sites := sites_of(points_to.legacy(node.value), StateDict):
        problem = f"A TrainState has other entries than `{ast.unparse(node.slice)}` and its like."
        yield Use("FOC210", document, node, sites, problem)


def _of_arguments(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is given to a function which is not read, by itself or in something."""
    for argument in (*call.args, *(each.value for each in call.keywords)):
        objects = points_to.legacy(argument)
        if sites := sites_of(objects, Optimizer):
            given = "It is given to"
        elif sites := sites_of(points_to.data_inside(objects), Optimizer):
            given = "What holds it is given to"
        else:
            continue
        is_holder = not sites_of(objects, Optimizer)
        if taker := _unread_taker(points_to, document, call, is_holder):
            yield Use("FOC218", document, argument, sites, f"{given} {taker}.")


def _unread_taker(points_to: PointsTo, document: Document, call: ast.Call, is_holder: bool) -> str:
    """What is not read and takes an optimizer, or what holds one; "" if nothing is of this kind."""
    takers = points_to.values(call.func)
    packages = {
        each.name
        for each in takers
        if isinstance(each, External)
        and not _takes_any_tree(each.name)
        and not (is_holder and _takes_out_nothing(each.name, call))
    }
    if points_to.is_unknown(call.func):
        return "one of more functions than are followed"
    if packages:
        return f"{min(packages)}, which may expect an Optimizer"
    if takers or _keeps_things(call.func) or _is_of_flax(points_to, call.func):
        return ""
    # Who hands this function a state hands it what works on such a state, as who gets one back.
    is_given = is_holder and is_parameter(points_to, document, call.func)
    return "" if is_given else "a function that is not known here"


def is_parameter(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether an expression is a parameter of the function that it stands in, or of one around."""
    if not isinstance(node, ast.Name):
        return False
    scope = points_to.scopes[document].binder(node, node.id)
    return isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and any(
        each.arg == node.id for each in parameters(scope.args)
    )


def _takes_out_nothing(name: str, call: ast.Call) -> bool:
    """Whether a function leaves what is in an object where it is, or it is followed out of it."""
    if name == "getattr":
        return len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
    return name in known_names.RETURNS_ARGUMENT or name in known_names.LEAVE_FIELDS


def _is_of_flax(points_to: PointsTo, function: ast.expr) -> bool:
    """Whether a method is one that a class of the program has from flax, such as ``apply``."""
    if not isinstance(function, ast.Attribute):
        return False
    owners = points_to.values(function.value)
    classes = [each.of if isinstance(each, Instance) else each for each in owners]
    bases = [
        base.name
        for each in classes
        if isinstance(each, Class)
        for node in each.node.bases
        for base in points_to.values(node)
        if isinstance(base, External)
    ]
    return bool(bases) and all(map(_takes_any_tree, bases))


def _of_stores(points_to: PointsTo, document: Document, node: ast.Assign) -> Iterator[Use]:
    """An optimizer, or what holds one, that is put into a module or object that is not read."""
    sites = sites_of(points_to.data_inside(points_to.legacy(node.value)), Optimizer)
    if not sites:
        return
    for target in node.targets:
        if isinstance(target, ast.Attribute | ast.Subscript):
            owners = points_to.values(target.value)
            names = [each.name for each in owners if isinstance(each, External)]
            if not owners and _is_imported(points_to, document, target.value):
                names = [ast.unparse(target.value)]
            if names:
                problem = f"It is put into {min(names)}, which is not read here."
                yield Use("FOC218", document, target, sites, problem)


def _is_imported(points_to: PointsTo, document: Document, node: ast.expr) -> bool:
    """Whether a name is one that an import statement binds, from whatever file."""
    imports = points_to.scopes[document].walk.imports
    names = {alias.asname or alias.name for statement, _ in imports for alias in statement.names}
    return isinstance(node, ast.Name) and node.id in names


def _of_other_makers(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """What is made by something unread, where the program elsewhere has optimizers."""
    if points_to.legacy(call):
        return
    beside = _beside(points_to, document, call)
    sites = sites_of(beside, Optimizer) or sites_of(beside, Definition)
    if not sites - {None}:
        return
    maker = call.func
    if isinstance(maker, ast.Attribute) and isinstance(maker.value, ast.Call):
        maker = maker.value.func  # as in package.Adam(0.1).create(params)
    makers = points_to.values(maker)
    names = {each.name for each in makers if isinstance(each, External)}
    names = {each for each in names if not _makes_no_optimizer(each)}
    if names or not makers:
        what = min(names, default=ast.unparse(maker))
        problem = f"{what} may make an Optimizer, beside those of flax.optim."
        yield Use("FOC219", document, call, sites, problem)


def _beside(points_to: PointsTo, document: Document, call: ast.Call) -> Objects:
    """What else is where the result of a call goes, and from where it is asked for things."""
    inner: ast.AST = call
    found: Objects = NOTHING
    while isinstance(parent := document.parents[inner], ast.IfExp | ast.BoolOp | ast.NamedExpr):
        found |= points_to.legacy(parent)
        inner = parent
    match parent:
        case ast.Return():
            found |= points_to.returned(points_to.scopes[document].around(parent))
        case ast.Assign() | ast.AnnAssign():
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            found = found.union(*(_held_by(points_to, document, each) for each in targets))
        case ast.Call() | ast.keyword():
            found |= _given_beside(points_to, document, inner)
        case ast.List(elts=entries) | ast.Tuple(elts=entries) | ast.Dict(values=entries):
            found = found.union(*map(points_to.legacy, entries))
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
    """What a variable, or an attribute of an object of the program, holds."""
    if isinstance(target, ast.Name):
        scope = points_to.scopes[document].binder(target, target.id)
        return NOTHING if scope is None else points_to.variable(scope, target.id)
    if isinstance(target, ast.Attribute):
        owners = points_to.legacy(target.value)
        fields = [each.of.node for each in owners if isinstance(each, Instance)]
        return NOTHING.union(*(points_to.field(each, target.attr) for each in fields))
    return NOTHING


def _makes_no_optimizer(name: str) -> bool:
    # A name without a module that Python does not have comes from a file that is not read.
    return (
        _takes_any_tree(name)
        or name.partition(".")[0] in ("optax", "flaxoptim_compat")
        or hasattr(builtins, name)
    )


def _keeps_things(function: ast.expr) -> bool:
    """Whether it is a method that puts what it is given somewhere, and asks it for nothing."""
    return isinstance(function, ast.Attribute) and (
        function.attr in known_names.KEEP_THINGS
        or function.attr in ("from_train_state", "to_train_state")
    )


def _takes_any_tree(name: str) -> bool:
    root = name.partition(".")[0]
    return (
        root in known_names.TAKE_ANY_TREE
        or name in known_names.TAKE_ANYTHING
        or known_names.legacy_name(name) is not None
    )


def _of_class(
    points_to: PointsTo, document: Document, node: ast.Attribute | ast.Name
) -> Iterator[Use]:
    """The class Optimizer itself, in annotations and isinstance."""
    if not isinstance(node.ctx, ast.Load) or isinstance(document.parents[node], ast.Attribute):
        return
    names = [each.name for each in points_to.legacy(node) if isinstance(each, External)]
    if any(known_names.legacy_name(name) == known_names.BASE for name in names):
        sites = _annotated_sites(points_to, document, node, Definition)
        if sites != {None}:
            yield Use("FOC209", document, node, sites)
    if not any(map(known_names.is_optimizer, names)):
        return
    parent = document.parents[node]
    if isinstance(parent, ast.MatchClass):
        problem = "It is matched by its fields."
        yield Use("FOC219", document, node, frozenset({None}), problem)
        return
    if isinstance(parent, ast.Call) and parent.func is node:
        sites = sites_of(points_to.values(parent), Optimizer)
        yield Use("FOC219", document, node, sites, BY_HAND)
        return
    yield Use("FOC209", document, node, _annotated_sites(points_to, document, node, Optimizer))


def _annotated_sites(
    points_to: PointsTo,
    document: Document,
    node: ast.expr,
    kind: type[Optimizer | Definition],
) -> frozenset[Site | None]:
    """Where the optimizers, or the definitions, come from that an annotation is about."""
    inner: ast.AST = node
    while isinstance(parent := document.parents[inner], ast.expr):
        if isinstance(parent, ast.Call):
            # isinstance(x, Optimizer): those that x can be.
            found = [sites_of(points_to.values(each), kind) for each in parent.args]
            return frozenset().union(*found) or frozenset({None})
        inner = parent
    scope = points_to.scopes[document].around(inner)
    values: Objects = NOTHING
    if isinstance(parent, ast.arg):
        function = document.parents[document.parents[parent]]
        values = points_to.variable(function, parent.arg)
    elif isinstance(parent, ast.AnnAssign) and isinstance(parent.target, ast.Name):
        values = points_to.variable(scope, parent.target.id)
        if isinstance(scope, ast.ClassDef):
            values |= points_to.field(scope, parent.target.id)
    elif isinstance(parent, ast.FunctionDef):
        values = points_to.returned(parent)
    return sites_of(values, kind) or frozenset({None})
