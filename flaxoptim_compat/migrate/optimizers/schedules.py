"""Where the learning rate of every step is a function of the step alone."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from flaxoptim_compat.catalogue import RATE
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.values.objects import External, Function, Site
from flaxoptim_compat.migrate.values.points_to import PointsTo

# Packages whose functions of a number depend on nothing but the number.
_PURE = ("jax.numpy.", "jax.lax.", "numpy.", "math.", "optax.")
_PURE_BUILTINS = frozenset({"abs", "float", "int", "max", "min", "pow", "round"})
_IMPURE = ("numpy.random.", "numpy.load", "jax.lax.p", "jax.lax.axis_index", "numpy.fromfile")


def schedule_of(
    points_to: PointsTo, sites: Sequence[Site], steps: Sequence[Use]
) -> ast.expr | None:
    """The name of the function; None if there is none, or if the definitions do not see it.

    It has to be a function at the top of the file that makes the definition, with one parameter,
    and to compute with nothing but that, constants and functions of numbers.

    Args:
      points_to: what is known of the program.
      sites: where the definitions are made.
      steps: the calls of ``apply_gradient``.
    """
    rates = [_rate(points_to, each) for each in steps]
    if not rates or not sites:
        return None
    names = {each.id for each in rates if isinstance(each, ast.Name)}
    if None in rates or len(names) != 1:
        return None
    (name,) = names
    found = {value for each in rates if each is not None for value in points_to.values(each)}
    if len(found) != 1:
        return None
    (function,) = found
    if not isinstance(function, Function) or not _is_pure(points_to, function):
        return None
    if any(site.document is not function.document for site in sites):
        return None
    scopes = points_to.scopes[function.document]
    seen = all(scopes.binder(site.node, name) is function.document.tree for site in sites)
    return rates[0] if seen else None


def _rate(points_to: PointsTo, use: Use) -> ast.expr | None:
    """The function in ``apply_gradient(grads, learning_rate=function(x.state.step))``."""
    call = use.node
    assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
    for keyword in call.keywords:
        if keyword.arg == RATE:
            return _function_of_step(points_to, use, keyword.value, call.func.value)
    return None


def _function_of_step(
    points_to: PointsTo, use: Use, rate: ast.expr, optimizer: ast.expr
) -> ast.expr | None:
    rate = _assigned(points_to, use, rate)
    if not (isinstance(rate, ast.Call) and len(rate.args) == 1 and not rate.keywords):
        return None
    step = _assigned(points_to, use, rate.args[0])
    wanted = ast.Attribute(ast.Attribute(optimizer, "state", ast.Load()), "step", ast.Load())
    if not isinstance(optimizer, ast.Name) or ast.dump(step) != ast.dump(wanted):
        return None
    # The variable must still be the optimizer that the step was read from.
    return rate.func if _bound_once(points_to, use, optimizer) else None


def _assigned(points_to: PointsTo, use: Use, node: ast.expr) -> ast.expr:
    """What a variable is assigned, if that happens once and in the same function."""
    if not isinstance(node, ast.Name):
        return node
    match list(_assignments(points_to, use, node.id)):
        case [ast.Assign(targets=[ast.Name(), *_], value=value)]:
            return value
    return node


def _bound_once(points_to: PointsTo, use: Use, optimizer: ast.Name) -> bool:
    """Whether a variable holds the same until the step, which may assign to it itself."""
    statement = use.document.statement(use.node)
    others = [each for each in _assignments(points_to, use, optimizer.id) if each is not statement]
    scopes = points_to.scopes[use.document]
    scope = scopes.binder(optimizer, optimizer.id)
    return isinstance(scope, ast.FunctionDef) and len(others) == 0


def _assignments(points_to: PointsTo, use: Use, name: str) -> Iterator[ast.stmt]:
    """The statements that bind a name in the scope in which a use sees it."""
    scopes = points_to.scopes[use.document]
    scope = scopes.binder(use.node, name)
    if scope is None:
        return
    for node in ast.walk(scope):
        stored = isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        if stored and scopes.binder(node, name) is scope:
            yield use.document.statement(node)


def _is_pure(points_to: PointsTo, function: Function) -> bool:
    node = function.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return False
    parameters = [*node.args.posonlyargs, *node.args.args]
    others = [*node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
    if len(parameters) != 1 or any(each is not None for each in others):
        return False
    scopes = points_to.scopes[function.document]
    for inner in ast.walk(ast.Module(node.body, [])):
        if isinstance(
            inner, ast.Global | ast.Nonlocal | ast.Yield | ast.Await | ast.With | ast.Import
        ):
            return False
        if isinstance(inner, ast.Call) and not _calls_pure(points_to, inner):
            return False
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            scope = scopes.binder(inner, inner.id)
            if scope is function.document.tree and not _is_constant(points_to, function, inner):
                return False
            if scope is not node and scope is not None and scope is not function.document.tree:
                return False
    return True


def _calls_pure(points_to: PointsTo, call: ast.Call) -> bool:
    values = points_to.values(call.func)
    return bool(values) and all(
        isinstance(each, External)
        and (each.name.startswith(_PURE) or each.name in _PURE_BUILTINS)
        and not each.name.startswith(_IMPURE)
        for each in values
    )


def _is_constant(points_to: PointsTo, function: Function, name: ast.Name) -> bool:
    """Whether a name at the top of the file is a module or a number that never changes."""
    values = points_to.values(name)
    if values:
        return all(isinstance(each, External) for each in values)
    bound = [
        node
        for node in ast.walk(function.document.tree)
        if isinstance(node, ast.Name) and node.id == name.id and isinstance(node.ctx, ast.Store)
    ]
    statements = [function.document.statement(node) for node in bound]
    return (
        len(statements) == 1
        and isinstance(statements[0], ast.Assign)
        and isinstance(statements[0].value, ast.Constant)
    )
