"""The optax text of a constructor call, and of several calls as a partition."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Sequence

from flaxoptim_compat.formula_text import stages
from flaxoptim_compat.migrate.editing.edits import Fragments
from flaxoptim_compat.migrate.optax_text.binding import Bound, Refused, acting, check
from flaxoptim_compat.migrate.optax_text.expression import Expression, Injecting
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
      Refused: there is no such text.
    """
    check(bound, injected)
    expression = Expression(document, name_of, plain)
    injecting = expression.injecting(bound, injected)
    return expression.finished(injecting.around(expression.chain(bound, injecting)))


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


def check_parts(parts: Sequence[Part]) -> None:
    """Raise Refused unless there is a text for these parts together."""
    for part in parts:
        _check_filter(part.selects)
        if isinstance(part.optimizer, Bound):
            check(part.optimizer, part.injected)
    calls = [acting(part.optimizer) for part in parts if isinstance(part.optimizer, Bound)]
    filters = any(_filter_acts(part.selects) for part in parts)
    injects = any(part.injected for part in parts)
    if any(calls) and (filters or (len(list(filter(None, calls))) > 1 and injects)):
        raise Refused(
            "several of its arguments are computed by calls, whose order would be another one"
        )


def _check_filter(node: ast.expr) -> None:
    """Raise Refused if a filter cannot be put into a text."""
    pauses = (ast.Await, ast.Yield, ast.YieldFrom)
    if isinstance(node, ast.Starred) or any(isinstance(each, pauses) for each in ast.walk(node)):
        raise Refused("the filter of a traversal does more than select")


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
      Refused: there is no such text.
    """
    check_parts(parts)
    expression = Expression(document, name_of, plain)
    top = Injecting(document, {})
    optimizers: dict[str, ast.expr] = {}
    for index, part in enumerate(parts):
        if isinstance(part.optimizer, Bound):
            injecting = expression.injecting(part.optimizer, part.injected)
            node = expression.chain(part.optimizer, injecting)
            # Each of several parts has its own hyper-parameters; those of one stand at the top.
            if len(parts) == 1:
                top = injecting
            else:
                node = injecting.around(node)
        else:
            node = quoted_fragments(document, part.optimizer)
        optimizers[stages.label_of(index)] = node
    filters = dict(zip(optimizers, (part.selects for part in parts), strict=True))
    labelled = expression.labels(filters, top)
    return expression.finished(top.around(stages.partition(optimizers, labelled)))
