"""What a call returns, and what it gives to the function that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flaxoptim_compat.migrate.flow import known_calls, legacy_names
from flaxoptim_compat.migrate.flow.scopes import parameters
from flaxoptim_compat.migrate.flow.values import (
    NOTHING,
    Class,
    Container,
    Definition,
    External,
    Function,
    Instance,
    Optimizer,
    Partial,
    Site,
    StateDict,
    Stored,
    Transformed,
    Traversal,
    Value,
    Values,
    fields_of,
)

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.flow.evaluation import Evaluation

# The content of a container at a place that is not known.
ANYWHERE = "*"
_MOST_PLACES = 8
Keywords = Sequence[tuple[str | None, Values]]


def returned(evaluation: Evaluation, call: ast.Call) -> Values:
    """What a call can return; whoever it calls is given its arguments."""
    positional = []
    for each in call.args:
        if isinstance(each, ast.Starred):
            positional += evaluation.spread(evaluation.values(each.value))
        else:
            positional.append(evaluation.values(each))
    keywords = [(each.arg, evaluation.values(each.value)) for each in call.keywords]
    found: set[Value] = set(_of_method(evaluation, call, positional, keywords))
    for callee in evaluation.values(call.func):
        found |= called(evaluation, call, callee, positional, keywords)
    return frozenset(found)


def called(
    evaluation: Evaluation,
    call: ast.Call,
    callee: Value,
    positional: Sequence[Values],
    keywords: Keywords,
) -> Values:
    """What one function returns for these arguments.

    Args:
      evaluation: what is known of the program.
      call: the call, for what it makes.
      callee: the function.
      positional: the arguments in order.
      keywords: those by name, which is None for ``**``.
    """
    document = evaluation.document_of(call)
    match callee:
        case Function():
            return _of_function(evaluation, callee, positional, keywords)
        case Class() if is_definition_class(evaluation, callee):
            _of_class(evaluation, callee, positional, keywords)
            return frozenset({Definition(Site(document, call, "")), Instance(callee)})
        case Class():
            _of_class(evaluation, callee, positional, keywords)
            return frozenset({Instance(callee)})
        case Partial(node=node) | Transformed(node=node) if node not in evaluation.being_called:
            evaluation.being_called.add(node)
            found = _of_bound(evaluation, call, callee, positional, keywords)
            evaluation.being_called.discard(node)
            return found
        case External(name=name):
            return _of_external(evaluation, call, name, positional, keywords)
    return NOTHING


def _of_bound(
    evaluation: Evaluation,
    call: ast.Call,
    callee: Partial | Transformed,
    positional: Sequence[Values],
    keywords: Keywords,
) -> Values:
    """What a function returns that was made of another by ``partial``, or such as ``grad``."""
    if isinstance(callee, Partial):
        first, more = returned_arguments(evaluation, callee.node)
        positional, keywords = [*first, *positional], [*more, *keywords]
    found: set[Value] = set()
    for each in evaluation.values(callee.node.args[0]):
        found |= called(evaluation, call, each, positional, keywords)
    # What a gradient function returns is no optimizer.
    return frozenset(found) if isinstance(callee, Partial) else NOTHING


def returned_arguments(evaluation: Evaluation, node: ast.Call) -> tuple[list[Values], Keywords]:
    """The arguments that functools.partial binds."""
    return (
        [evaluation.values(each) for each in node.args[1:]],
        [(each.arg, evaluation.values(each.value)) for each in node.keywords],
    )


def is_definition_class(evaluation: Evaluation, value: Class) -> bool:
    """Whether a class of the program is, however far, derived from OptimizerDef."""
    return any(
        isinstance(each, External) and legacy_names.is_base(each.name)
        for ancestor in evaluation.lineage(value)
        for base in ancestor.node.bases
        for each in evaluation.values(base)
    )


def _of_method(
    evaluation: Evaluation, call: ast.Call, positional: Sequence[Values], keywords: Keywords
) -> Iterable[Value]:
    """What methods of objects return that are no functions of the program."""
    if not isinstance(call.func, ast.Attribute):
        return
    method = call.func.attr
    if method == "to_train_state":
        return  # what comes after it is no optimizer any more
    for owner in evaluation.values(call.func.value):
        match owner:
            case Definition(site=site) if method == "create":
                yield Optimizer(site)
            case Optimizer() if method in _RETURN_THEMSELVES:
                yield owner
            case Optimizer(site=site) if method == "state_dict":
                yield StateDict(site)
            case Instance(of=of) if method in ("replace", "_replace"):
                for name, values in keywords:
                    evaluation.add(("field", of.node, name), values)
                yield owner
            case Container() if method in ("copy", "replace", "_replace"):
                yield owner
            case Container() if method in ("get", "pop", "setdefault"):
                yield from evaluation.contents(frozenset({owner}))
            case Container(node=node) if method in ("append", "add"):
                for values in positional[:1]:
                    evaluation.add(("item", node, ANYWHERE), values)
            case Container(node=node) if method in ("update", "extend"):
                for values in positional[:1]:
                    evaluation.add(("item", node, ANYWHERE), evaluation.contents(values))
                for name, values in keywords:
                    evaluation.add(("item", node, name), values)


# Methods of an optimizer that return one.
_RETURN_THEMSELVES = {"apply_gradient", "replace", "replicate", "unreplicate", "restore_state"}


def _of_function(
    evaluation: Evaluation, function: Function, positional: Sequence[Values], keywords: Keywords
) -> Values:
    node = function.node
    names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
    if function.owner is not None and names:
        names = names[1:]
    for index, values in enumerate(positional):
        if index < len(names):
            evaluation.add(("variable", node, names[index]), values)
        elif node.args.vararg is not None:
            rest = node.args.vararg
            place = index - len(names)
            # A function that calls itself with one argument more would never end otherwise.
            known_place = place if place < _MOST_PLACES else ANYWHERE
            evaluation.add(("item", rest, known_place), values)
            evaluation.add(("variable", node, rest.arg), {Container(rest)})
    known = {each.arg for each in parameters(node.args)}
    for name, values in keywords:
        if name in known:
            evaluation.add(("variable", node, name), values)
        elif name is not None and node.args.kwarg is not None:
            evaluation.add(("item", node.args.kwarg, name), values)
            evaluation.add(("variable", node, node.args.kwarg.arg), {Container(node.args.kwarg)})
    return frozenset(evaluation.cells["returns", node])


def _of_class(
    evaluation: Evaluation, value: Class, positional: Sequence[Values], keywords: Keywords
) -> None:
    """Give the arguments to ``__init__``, or to the fields of a dataclass in their order."""
    for each in value.node.body:
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            document = evaluation.document_of(each)
            _of_function(evaluation, Function(document, each, value), positional, keywords)
            return
    fields = fields_of(value.node)
    for name, values in [*zip(fields, positional, strict=False), *keywords]:
        if name is not None:
            evaluation.add(("field", value.node, name), values)


def _of_external(
    evaluation: Evaluation,
    call: ast.Call,
    name: str,
    positional: Sequence[Values],
    keywords: Keywords,
) -> Values:
    document = evaluation.document_of(call)
    if legacy_names.is_definition(name):
        return frozenset({Definition(Site(document, call, legacy_names.legacy_name(name) or ""))})
    if name == legacy_names.COMPUTED:
        return frozenset({Definition(Site(document, call, ""))})
    if legacy_names.is_traversal(name):
        return frozenset({Traversal(call)})
    if legacy_names.is_optimizer(name):
        return frozenset({Optimizer(Site(document, call, ""))})
    if known_calls.returns_stored(name, call):
        return frozenset({Stored()})
    if name in known_calls.RETURNS_ARGUMENT:
        index, keyword = known_calls.RETURNS_ARGUMENT[name]
        result = positional[index] if index < len(positional) else dict(keywords).get(keyword)
        if result is None:
            return NOTHING
        if name == "dataclasses.replace":
            for value in result:
                if isinstance(value, Instance):
                    for field, values in keywords:
                        evaluation.add(("field", value.of.node, field), values)
        return result
    if name == "flax.serialization.to_state_dict" and positional:
        return frozenset(StateDict(v.site) for v in positional[0] if isinstance(v, Optimizer))
    if name in known_calls.MAPS_TREES:
        return frozenset().union(*positional[1:]) if positional else NOTHING
    if name == "functools.partial" and positional:
        # partial(jax.jit, ...) as a decorator: the function itself.
        return frozenset({Partial(document, call)})
    if name in known_calls.CALLS_LATER and positional:
        return frozenset({Transformed(document, call)})
    if name == "getattr" and len(call.args) >= 2:
        return _of_getattr(evaluation, call, positional)
    return _of_control_flow(evaluation, call, name, positional)


def _of_getattr(evaluation: Evaluation, call: ast.Call, positional: Sequence[Values]) -> Values:
    attribute = call.args[1]
    if isinstance(attribute, ast.Constant) and isinstance(attribute.value, str):
        return evaluation.attributes(positional[0], attribute.value)
    packages = [
        each
        for each in positional[0]
        if isinstance(each, External) and legacy_names.is_package(each.name)
    ]
    return frozenset({External(legacy_names.COMPUTED)}) if packages else NOTHING


def _of_control_flow(
    evaluation: Evaluation, call: ast.Call, name: str, positional: Sequence[Values]
) -> Values:
    """Functions that call a function again and again, on what it returns."""

    def loop(body: Values, start: Values, before: Sequence[Values]) -> Values:
        result: set[Value] = set(start)
        for each in body:
            result |= called(evaluation, call, each, [*before, start], [])
            again = called(evaluation, call, each, [*before, frozenset(result)], [])
            result |= again
        return frozenset(result)

    match name, positional:
        case "jax.lax.fori_loop", [_, _, body, start, *_]:
            return loop(body, start, [NOTHING])
        case "jax.eval_shape", [function, *given]:
            return frozenset().union(
                *(called(evaluation, call, each, given, []) for each in function)
            )
        case "jax.lax.while_loop", [condition, body, start, *_]:
            for each in condition:
                called(evaluation, call, each, [start], [])
            return loop(body, start, [])
        case "jax.lax.cond", [_, first, second, *operands]:
            both = first | second
            return frozenset().union(
                *(called(evaluation, call, each, operands, []) for each in both)
            )
        case "jax.lax.scan", [body, start, *_]:
            carry: set[Value] = set(start)
            for each in body:
                pairs = called(evaluation, call, each, [start, NOTHING], [])
                carry |= evaluation.item(pairs, 0)
                called(evaluation, call, each, [frozenset(carry), NOTHING], [])
            evaluation.add(("item", call, 0), carry)
            return frozenset({Container(call)})
    return NOTHING
