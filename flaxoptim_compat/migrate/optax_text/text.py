"""The optax text of a constructor call, and of several calls as a partition."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection, Sequence

from flaxoptim_compat.formula_text import stages
from flaxoptim_compat.migrate.editing.edits import Fragments
from flaxoptim_compat.migrate.optax_text.binding import Bound, acting, refusal
from flaxoptim_compat.migrate.optax_text.expression import Expression
from flaxoptim_compat.migrate.optax_text.program_expressions import may_act, quoted_fragments
from flaxoptim_compat.migrate.program.document import Document


def chain(
    bound: Bound,
    document: Document,
    name_of: Callable[[str], str],
    injected: Sequence[str] = (),
    plain: bool = False,
) -> Fragments:
    """The optax expression that does exactly what a constructor call does.

    Args:
      bound: the call.
      document: the file of the call.
      name_of: takes ``optax``, ``jax``, ``jax.numpy`` or ``flaxoptim_compat.transforms``, and
        returns the expression for this module in the file; called for modules that are needed.
      injected: the hyper-parameters that are given with each step: they stand in
        ``opt_state.hyperparams``. One that the call does not state starts with its default, and a
        learning rate with 0.
      plain: write optax's namesake where there is one, although that changes the numbers.

    Raises:
      ValueError: ``refusal`` has a reason why there is no such text.
    """
    reason = refusal(bound, injected)
    if reason:
        raise ValueError(reason)
    expression = Expression(document, name_of, plain)
    return expression.finished(_of_call(expression, bound, injected))


def _of_call(expression: Expression, bound: Bound, injected: Collection[str]) -> ast.expr:
    """The expression for one call, with the injection of hyper-parameters around it."""
    if not injected:
        return expression.chain(bound, (), None)
    injecting = expression.injecting()
    for name in injected:
        injecting.dynamic(name, expression.start(bound, name))
    return injecting.around(expression.chain(bound, injected, injecting))


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """One optimizer and the parameters that it moves.

    Args:
      selects: the function in the ``ModelParamTraversal``.
      optimizer: the constructor call, or an optax expression.
      injected: hyper-parameters that are given with each step.
    """

    selects: ast.expr
    optimizer: Bound | Fragments
    injected: Sequence[str] = ()


def partition_refusal(parts: Sequence[Part]) -> str:
    """The reason why there is no text for these parts together; "" if there is one."""
    for part in parts:
        reason = _filter_refusal(part.selects)
        if not reason and isinstance(part.optimizer, Bound):
            reason = refusal(part.optimizer, part.injected)
        if reason:
            return reason
    calls = [acting(part.optimizer) for part in parts if isinstance(part.optimizer, Bound)]
    filters = any(_filter_acts(part.selects) for part in parts)
    injects = any(part.injected for part in parts)
    if any(calls) and (filters or (len(list(filter(None, calls))) > 1 and injects)):
        return "several of its arguments are computed by calls, whose order would be another one"
    return ""


def _filter_refusal(node: ast.expr) -> str:
    """The reason why a filter cannot be put into a text; "" if it can."""
    pauses = (ast.Await, ast.Yield, ast.YieldFrom)
    if isinstance(node, ast.Starred) or any(isinstance(each, pauses) for each in ast.walk(node)):
        return "the filter of a traversal does more than select"
    return ""


def _filter_acts(node: ast.expr) -> bool:
    """True if making a filter may have an effect."""
    if isinstance(node, ast.Lambda):
        return any(may_act(each) for each in (*node.args.defaults, *node.args.kw_defaults) if each)
    return may_act(node)


def partition(
    parts: Sequence[Part],
    document: Document,
    name_of: Callable[[str], str],
    plain: bool = False,
) -> Fragments:
    """An ``optax.partition`` in which parameters that no filter selects keep every bit.

    Args:
      parts: the parts of the ``MultiOptimizer``, in their order.
      document: the file of the calls.
      name_of: as for ``chain``.
      plain: write optax's namesakes where there are any, although that changes the numbers.

    Raises:
      ValueError: ``partition_refusal`` has a reason why there is no such text.
    """
    reason = partition_refusal(parts)
    if reason:
        raise ValueError(reason)
    expression = Expression(document, name_of, plain)
    # Each of several parts has its own hyper-parameters; those of a single one stand at the top.
    injecting = expression.injecting() if len(parts) == 1 and parts[0].injected else None
    if injecting is not None and isinstance(parts[0].optimizer, Bound):
        for name in parts[0].injected:
            injecting.dynamic(name, expression.start(parts[0].optimizer, name))
    keys = [stages.label_of(index) for index, _ in enumerate(parts)]
    optimizers: list[ast.expr] = []
    for part in parts:
        if isinstance(part.optimizer, Bound) and injecting is None:
            optimizers.append(_of_call(expression, part.optimizer, part.injected))
            continue
        if isinstance(part.optimizer, Bound):
            node = expression.chain(part.optimizer, part.injected, injecting)
        else:
            node = quoted_fragments(document, part.optimizer)
            node = node if injecting is None else injecting.static("optimizer", node)
        optimizers.append(node)
    filters = dict(zip(keys, (part.selects for part in parts), strict=True))
    labelled = expression.labels(filters, injecting)
    node = stages.partition(dict(zip(keys, optimizers, strict=True)), labelled)
    return expression.finished(node if injecting is None else injecting.around(node))
