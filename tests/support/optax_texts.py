"""Constructor calls of flax.optim as text, what they become in optax, and what that text makes."""

from __future__ import annotations

import ast
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat import optim, transforms
from flaxoptim_compat.catalogue import BY_NAME, REQUIRED
from flaxoptim_compat.migrate.editing.edits import Edit, apply_edits
from flaxoptim_compat.migrate.editing.layout import laid_out
from flaxoptim_compat.migrate.optax_text.binding import Bound, bind, pairs
from flaxoptim_compat.migrate.optax_text.text import Part, chain, partition
from flaxoptim_compat.migrate.program.document import Document
from tests.support import cases

NAMES = {
    "optax": "optax",
    "jax": "jax",
    "jax.numpy": "jnp",
    "flaxoptim_compat.transforms": "transforms",
}
# What a program has in its scope: the old names for the old text, the new ones for the new.
SCOPE = {"jax": jax, "jnp": jnp, "optax": optax, "optim": optim, "transforms": transforms}


def document(text: str) -> Document:
    """A file with this text."""
    return Document(Path("train.py"), text, ast.parse(text))


def call_in(each: Document) -> ast.Call:
    """The call that the last statement of a file assigns, or is."""
    statement = each.tree.body[-1]
    assert isinstance(statement, ast.Assign | ast.Expr)
    assert isinstance(statement.value, ast.Call)
    return statement.value


def read(node: ast.expr) -> Bound | None:
    """The constructor call that a node is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return bind(node, node.func.attr, read)
    return None


def bound_in(text: str) -> Bound:
    """The constructor call in a text that ends with one."""
    bound = read(call_in(document(text)))
    assert bound is not None
    return bound


def rewritten(
    text: str,
    injected: Sequence[str] = (),
    names: Mapping[str, str] = NAMES,
) -> str:
    """The text with its last constructor call in optax."""
    each = document(text)
    bound = read(call_in(each))
    assert bound is not None
    parts = chain(bound, each, names.__getitem__, injected)
    return apply_edits(text, laid_out(each, [Edit(*each.span(bound.call), parts)]))


def rewritten_parts(
    text: str,
    injected: Sequence[str] = (),
) -> str:
    """The text with its last MultiOptimizer in optax."""
    each = document(text)
    call = call_in(each)
    parts = []
    for traversal, node in pairs(call):
        assert isinstance(traversal, ast.Call)
        optimizer = read(node)
        assert optimizer is not None
        parts.append(Part(traversal.args[0], optimizer, injected))
    new = partition(parts, each, NAMES.__getitem__)
    return apply_edits(text, laid_out(each, [Edit(*each.span(call), new)]))


def made(text: str, **scope: Any) -> Any:
    """What the last statement of a program assigns."""
    program = {**SCOPE, **scope}
    exec(text, program)
    assigned = ast.parse(text).body[-1]
    assert isinstance(assigned, ast.Assign) and isinstance(assigned.targets[0], ast.Name)
    return program[assigned.targets[0].id]


def spelled(case: cases.Case, how: str) -> tuple[str, Any]:
    """The constructor call of a case, and the ``cfg`` that it reads.

    Args:
      case: the case.
      how: ``keywords``, ``positions``, or ``names`` for attributes of ``cfg``.
    """
    cfg = types.SimpleNamespace()
    return f"tx = {_call(case, how, cfg)}\n", cfg


def _call(case: cases.Case, how: str, cfg: Any) -> str:
    inner = [_call(each, how, cfg) for each in case.inner]
    if case.optimizer == "MultiOptimizer":
        filters = [f"lambda path, _: {each!r} in path" for each in case.selectors]
        every = [
            f"(optim.ModelParamTraversal({each}), {optimizer})"
            for each, optimizer in zip(filters, inner, strict=True)
        ]
        return f"optim.MultiOptimizer({', '.join(every)})"
    given = dict(zip(["wrapped_optimizer"], inner, strict=False))
    for name, value in case.kwargs.items():
        given[name] = _value(f"{case.optimizer}_{name}", name, value, how, cfg)
    if how != "positions":
        arguments = [f"{name}={text}" for name, text in given.items()]
        return f"optim.{case.optimizer}({', '.join(arguments)})"
    known = BY_NAME[case.optimizer].hyper_params
    last = max((list(known).index(name) for name in given), default=-1)
    arguments = [
        given[name] if name in given else _default(value)
        for name, value in list(known.items())[: last + 1]
    ]
    return f"optim.{case.optimizer}({', '.join(arguments)})"


def _default(value: Any) -> str:
    assert value is not REQUIRED
    return repr(value)


def _value(called: str, name: str, value: Any, how: str, cfg: Any) -> str:
    if name == "dtype_momentum":
        return f"jnp.{value}"
    decides = called.startswith("Adafactor_") and name in (
        *("beta1", "clipping_threshold", "weight_decay_rate", "multiply_by_parameter_scale"),
    )
    if how != "names" or decides:
        return repr(value)
    called = f"{called}_{len(vars(cfg))}"
    setattr(cfg, called, value)
    return f"cfg.{called}"


def program_of(tx: Any, params: Any) -> str:
    """All that a step computes, and from which state: XLA gets nothing else."""

    def train(params: Any, grads: Any) -> Any:
        updates, state = tx.update(grads, tx.init(params), params)
        return optax.apply_updates(params, updates), state

    return str(jax.make_jaxpr(train)(params, params))


def described(definition: Any, params: Any) -> Any:
    """What the definition's own text makes; tests/optim/test_formula.py checks that text."""
    labels = definition.labels(params) if hasattr(definition, "labels") else None
    known = {"optax": optax, "jnp": jnp, "transforms": transforms, "labels": labels}
    return eval(definition.optax_expression(), known)


PARAMS = {
    "bias": jnp.linspace(-1.0, 1.0, 5),
    "kernel": jnp.asarray(cases.parameters()["dense"]["kernel"]),
}
