"""What statements, and expressions that bind names, say of the variables of a program."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from flaxoptim_compat.migrate.flow.scopes import parameters
from flaxoptim_compat.migrate.flow.values import (
    Class,
    Container,
    External,
    File,
    Function,
    Instance,
    Value,
    Values,
    key_of,
)
from flaxoptim_compat.migrate.program.modules import joined

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.flow.evaluation import Evaluation


def follow(evaluation: Evaluation, node: ast.AST) -> None:
    """Let the variables that a node binds hold what it binds them to.

    Args:
      evaluation: what is known of the program.
      node: any node; those that bind nothing say nothing.
    """
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                assign(evaluation, target, evaluation.values(value))
        case ast.AnnAssign(target=target, annotation=annotation, value=value):
            assign(evaluation, target, evaluation.annotated(annotation))
            if value is not None:
                assign(evaluation, target, evaluation.values(value))
        case ast.NamedExpr(target=target, value=value):
            assign(evaluation, target, evaluation.values(value))
        case (
            ast.For(target=target, iter=iterated)
            | ast.AsyncFor(target=target, iter=iterated)
            | ast.comprehension(target=target, iter=iterated)
        ):
            assign(evaluation, target, evaluation.elements(iterated))
        case ast.withitem(context_expr=context, optional_vars=ast.expr() as target):
            assign(evaluation, target, evaluation.values(context))
        case ast.Return(value=ast.expr() as value) | ast.Yield(value=ast.expr() as value):
            function = evaluation.scopes[evaluation.document_of(node)].around(node)
            evaluation.add(("returns", function), evaluation.values(value))
        case ast.Lambda(body=body):
            evaluation.add(("returns", node), evaluation.values(body))
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            _define(evaluation, node)
        case ast.ClassDef(name=name):
            _bind(evaluation, node, name, {Class(evaluation.document_of(node), node)})
        case ast.Import():
            _import(evaluation, node)
        case ast.ImportFrom():
            _import_from(evaluation, node)
        case ast.Call():
            evaluation.values(node)


def assign(evaluation: Evaluation, target: ast.expr, values: Values) -> None:
    """Let what stands on the left of an assignment hold what stands on the right."""
    match target:
        case ast.Name(id=name):
            _bind(evaluation, target, name, values)
        case ast.Starred(value=inner):
            assign(evaluation, inner, values)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for index, each in enumerate(targets):
                assign(evaluation, each, evaluation.item(values, index))
        case ast.Attribute(value=owner, attr=attribute):
            for value in evaluation.values(owner):
                if isinstance(value, Instance):
                    evaluation.add(("field", value.of.node, attribute), values)
        case ast.Subscript(value=owner, slice=key):
            for value in evaluation.values(owner):
                if isinstance(value, Container):
                    evaluation.add(("item", value.node, key_of(key)), values)


def _bind(evaluation: Evaluation, node: ast.AST, name: str, values: Iterable[Value]) -> None:
    scope = evaluation.scopes[evaluation.document_of(node)].binder(node, name)
    if isinstance(scope, ast.ClassDef):
        # What the body of a class assigns is an attribute of its instances.
        evaluation.add(("field", scope, name), values)
    evaluation.add(("variable", scope, name), values)


def _define(evaluation: Evaluation, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    document = evaluation.document_of(node)
    owner = evaluation.scopes[document].around(node)
    own_class = Class(document, owner) if isinstance(owner, ast.ClassDef) else None
    # Decorators return the function, or one that does the same.
    _bind(evaluation, node, node.name, {Function(document, node, own_class)})
    if node.returns is not None:
        evaluation.add(("returns", node), evaluation.annotated(node.returns))
    every = parameters(node.args)
    for each in every:
        if each.annotation is not None:
            evaluation.add(("variable", node, each.arg), evaluation.annotated(each.annotation))
    static = any(_last_name(each) == "staticmethod" for each in node.decorator_list)
    if own_class is not None and every and not static:
        evaluation.add(("variable", node, every[0].arg), {Instance(own_class)})
    positional = [*node.args.posonlyargs, *node.args.args]
    last = positional[len(positional) - len(node.args.defaults) :]
    for each, default in zip(last, node.args.defaults, strict=True):
        evaluation.add(("variable", node, each.arg), evaluation.values(default))


def _import(evaluation: Evaluation, node: ast.Import) -> None:
    modules = evaluation.modules[evaluation.document_of(node)]
    for alias in node.names:
        shown = alias.name if alias.asname else alias.name.partition(".")[0]
        found = modules.get(shown)
        value = File(found) if found else External(shown)
        _bind(evaluation, node, alias.asname or shown, {value})


def _import_from(evaluation: Evaluation, node: ast.ImportFrom) -> None:
    modules = evaluation.modules[evaluation.document_of(node)]
    origin = "." * node.level + (node.module or "")
    for alias in node.names:
        name = alias.asname or alias.name
        if (module := modules.get(joined(origin, alias.name))) is not None:
            _bind(evaluation, node, name, {File(module)})
        elif (module := modules.get(origin)) is not None and alias.name == "*":
            for each in evaluation.scopes[module].names_of_module():
                _bind(evaluation, node, each, set(evaluation.cells["variable", module.tree, each]))
        elif module is not None:
            values = set(evaluation.cells["variable", module.tree, alias.name])
            _bind(evaluation, node, name, values)
        elif not node.level:
            _bind(evaluation, node, name, {External(f"{origin}.{alias.name}")})


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
