"""Which expressions are evidently arrays of jax, and not lists or arrays of numpy."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from flaxoptim_compat.migrate.optimizers.reading import Reading

_MAKERS = (
    "abs arange array asarray ceil clip concatenate copy cos cumsum diag dot einsum empty exp"
    " expand_dims eye floor full full_like linspace log log1p matmul maximum mean minimum multiply"
    " ones ones_like outer power ravel repeat reshape roll sign sin sqrt square squeeze stack sum"
    " swapaxes tanh tile transpose where zeros zeros_like"
)
# Functions that return arrays of jax, whatever they are given.
ARRAY_MAKERS: frozenset[str] = frozenset(
    [
        *(f"jax.numpy.{name}" for name in _MAKERS.split()),
        *(f"jax.random.{name}" for name in ("bernoulli", "normal", "randint", "uniform")),
        *(f"jax.ops.index_{name}" for name in ("add", "max", "min", "mul", "update")),
        *(f"jax.nn.{name}" for name in ("one_hot", "relu", "sigmoid", "softmax")),
    ]
)


def is_array(reading: Reading, node: ast.expr) -> bool:
    """Whether an expression is an array of jax in every program that runs.

    Args:
      reading: the file.
      node: the expression.
    """
    return _is_array(reading, node, frozenset())


def _is_array(reading: Reading, node: ast.expr, asked: frozenset[str]) -> bool:
    if isinstance(node, ast.Name):
        if node.id in asked:
            return True  # it was made from itself, and everything else that it is made from decides
        values = assigned(reading, node)
        return bool(values) and all(
            each is not None and _is_array(reading, each, asked | {node.id}) for each in values
        )
    if isinstance(node, ast.BinOp):
        return any(_is_array(reading, each, asked) for each in (node.left, node.right))
    if isinstance(node, ast.Call):
        return reading.names.full_name(node.func) in ARRAY_MAKERS or _is_update(node)
    return False


def _is_update(node: ast.Call) -> bool:
    """Whether it is ``x.at[index].set(y)`` or the like."""
    subscript = node.func.value if isinstance(node.func, ast.Attribute) else None
    at = subscript.value if isinstance(subscript, ast.Subscript) else None
    return isinstance(at, ast.Attribute) and at.attr == "at"


def assigned(reading: Reading, node: ast.Name, *, in_parts: bool = False) -> list[ast.expr | None]:
    """What is assigned to a name in its function; None for what is not a plain assignment.

    Args:
      reading: the file.
      node: the name.
      in_parts: whether it may also be a part of what is assigned, as in ``x, y = f()``.
    """
    parents = reading.document.parents
    around: ast.AST = node
    while not isinstance(around, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module):
        around = parents[around]
    return [
        value for each in ast.walk(around) for value in _value_for(node.id, each, parents, in_parts)
    ]


def _value_for(
    name: str, node: ast.AST, parents: Mapping[ast.AST, ast.AST], in_parts: bool
) -> Iterator[ast.expr | None]:
    if isinstance(node, ast.arg):
        yield from [None] * (node.arg == name)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from [None] * (name in node.names)
    elif isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load):
        target: ast.expr = node
        parent = parents[node]
        while in_parts and isinstance(parent, ast.Tuple | ast.List):
            target, parent = parent, parents[parent]
        yield parent.value if isinstance(parent, ast.Assign) and target in parent.targets else None
