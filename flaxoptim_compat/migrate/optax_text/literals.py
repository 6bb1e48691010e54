"""Expressions as they are: what is a number without running anything, what may have effects."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, Final

# A few digits more than any hyper-parameter has: a literal such as 9**9**9 must not be computed.
_LARGEST: Final = 1e9
_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_NO_EFFECT: Final = frozenset({"abs", "bool", "float", "getattr", "int", "len", "max", "min"})
_ACTS: Final = (ast.Await, ast.NamedExpr, ast.Yield, ast.YieldFrom)


def literal(node: ast.expr) -> Any:
    """The number, truth value or None that an expression of literals has.

    Raises:
      ValueError: it is no such expression.
    """
    match node:
        case ast.Constant(value=bool() | int() | float() | None):
            return node.value
        case ast.UnaryOp(op=ast.USub()):
            return -_number(node.operand)
        case ast.UnaryOp(op=ast.UAdd()):
            return _number(node.operand)
        case ast.BinOp() if type(node.op) in _BINARY:
            left, right = _number(node.left), _number(node.right)
            if isinstance(node.op, ast.Pow) and not (abs(left) <= 100 and abs(right) <= 100):
                raise ValueError("the power of large numbers")
            try:
                value = _BINARY[type(node.op)](left, right)
            except ArithmeticError as error:
                raise ValueError(str(error)) from error
            if isinstance(value, int | float) and not (isinstance(value, int) and _large(value)):
                return value
    raise ValueError(f"{type(node).__name__} is not made of literals")


def _number(node: ast.expr) -> Any:
    value = literal(node)
    if value is None or isinstance(value, bool):
        raise ValueError(f"{value} is no number")
    return value


def _large(value: int) -> bool:
    return abs(value) > _LARGEST


def may_act(node: ast.expr) -> bool:
    """Whether an expression may do more than have a value, so that when it is run matters."""
    return any(
        isinstance(each, _ACTS) or (isinstance(each, ast.Call) and not _is_known(each))
        for each in ast.walk(node)
    )


def _is_known(call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=name):
            return name in _NO_EFFECT
        case ast.Attribute(attr="get"):
            # Of a dict; a queue's takes no name.
            first = call.args[0] if call.args else None
            return isinstance(first, ast.Constant) and isinstance(first.value, str)
    return False
