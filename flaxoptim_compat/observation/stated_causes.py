"""Why two programs differ, where both write their optimizer as a plain expression.

``optim.Adam(0.001)`` and ``optax.adam(0.001)`` are run side by side as ``parity`` does. Nothing
else of the programs is executed: an expression has calls of these two packages, and constants.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax.numpy as jnp
import optax

from flaxoptim_compat import optim
from flaxoptim_compat.parity import trial
from flaxoptim_compat.parity.comparison import compare
from flaxoptim_compat.parity.findings import Cause

_NAMES = {"optim": optim, "optax": optax, "jnp": jnp}
_CALLED = re.compile(r"optim\.[A-Z]\w*|optax\.(?:contrib\.)?[a-z]\w*")
_STEPS = 20


class StatedCauses(NamedTuple):
    """What two programs say of their optimizers, and the known causes of the difference.

    Args:
      old: the definition of the old program.
      new: the transformation of the new one.
      causes: the causes, at least one.
    """

    old: str
    new: str
    causes: tuple[Cause, ...]


def stated_causes(old: bytes, new: bytes) -> StatedCauses | None:
    """The known causes, if each program writes one definition, or transformation, plainly.

    Args:
      old: the source of the file of the old program that makes the optimizer.
      new: that of the new one.
    """
    before = dict(_stated(old, optim.OptimizerDef))
    after = dict(_stated(new, optax.GradientTransformation))
    if len(before) != 1 or len(after) != 1:
        return None
    ((first, definition),), ((second, tx),) = before.items(), after.items()
    try:
        report = compare(definition, tx, trial.parameters(), trial.gradients, _STEPS, loop="open")
    except Exception:
        # Such as a definition whose rate is given at each step.
        return None
    return StatedCauses(first, second, report.causes) if report.causes else None


def _stated(source: bytes, kind: type) -> Iterator[tuple[str, Any]]:
    """The outermost expressions that make an object of a kind, and the objects."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    own = {
        alias.asname or alias.name: f"optim.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(".optim")
        for alias in node.names
    }
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        text = _plain(node, own) if isinstance(node, ast.Call) else None
        made = None
        if text is not None:
            try:
                made = eval(text, dict(_NAMES))
            except Exception:
                text = None
        if text is not None and isinstance(made, kind):
            yield text, made
        else:
            waiting += ast.iter_child_nodes(node)


def _plain(node: ast.expr, own: dict[str, str]) -> str | None:
    """An expression of constants and calls of the two packages; None if there is more in it."""
    if isinstance(node, ast.Call):
        function = _dotted(node.func)
        function = own.get(function, function).removeprefix("flax.")
        arguments = [_plain(each, own) for each in node.args]
        named = {each.arg: _plain(each.value, own) for each in node.keywords}
        texts = [*arguments, *(f"{name}={text}" for name, text in named.items() if text)]
        if not _CALLED.fullmatch(function) or None in (*arguments, *named, *named.values()):
            return None
        return f"{function}({', '.join(map(str, texts))})"
    if isinstance(node, ast.Attribute):
        text = _dotted(node).removeprefix("flax.")
        return text if text.split(".")[0] in _NAMES else None
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _dotted(node: ast.expr) -> str:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(names)]) if isinstance(node, ast.Name) else ""
