"""The text in optax of a constructor call, and of several calls as a partition."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence

from flaxoptim_compat import syntax
from flaxoptim_compat.migrate.editing.edits import Fragments
from flaxoptim_compat.migrate.optax_text.binding import Bound, acting, refusal
from flaxoptim_compat.migrate.optax_text.expression import Expression
from flaxoptim_compat.migrate.optax_text.labels import REST, filter_acts, filter_refusal
from flaxoptim_compat.migrate.optax_text.program_expressions import quoted_fragments
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases


def chain(
    bound: Bound,
    document: Document,
    name_of: Callable[[str], str],
    injected: Sequence[str] = (),
    schedule: Fragments | None = None,
    plain: bool = False,
) -> Fragments:
    """The optax expression that does exactly what a constructor call does.

    Args:
      bound: the call.
      document: the file it stands in.
      name_of: takes ``optax``, ``jax``, ``jax.numpy`` or ``flaxoptim_compat.transforms``, and
        returns the expression for this module in the file. It is asked for those that are needed.
      injected: the hyper-parameters that are given with each step: they stand in
        ``opt_state.hyperparams``. One that the call does not give starts with its default, and a
        learning rate with 0.
      schedule: a function of the step, which takes the place of the learning rate.
      plain: write optax's namesake where there is one, although that changes the numbers.

    Raises:
      ValueError: ``refusal`` has a reason why there is no such text.
    """
    reason = refusal(bound, injected, schedule is not None)
    if reason:
        raise ValueError(reason)
    expression = Expression(document, name_of, plain)
    injecting = expression.injecting() if injected else None
    names = {}
    if injecting is not None:
        for name in injected:
            injecting.dynamic(name, expression.start(bound, name))
            names[name] = name
    function = None if schedule is None else quoted_fragments(document, schedule)
    node = expression.chain(bound, names, injecting, function)
    if injecting is not None:
        node = injecting.around(node)
    return expression.finished(node)


@dataclasses.dataclass(frozen=True, eq=False)
class Part:
    """One optimizer and the parameters that it moves.

    Args:
      selects: the function in the ``ModelParamTraversal``.
      optimizer: the constructor call, or an optax expression.
      key: what it is called in the partition; "" for its number.
      injected: hyper-parameters that are given with each step, and their names in
        ``opt_state.hyperparams``. Two parts may have the same name for theirs: it starts with the
        value that both have, or with 0, so in that case each step has to give it.
      schedule: a function of the step, which takes the place of the learning rate.
    """

    selects: ast.expr
    optimizer: Bound | Fragments
    key: str = ""
    injected: Mapping[str, str] = dataclasses.field(default_factory=dict)
    schedule: Fragments | None = None


def partition_refusal(parts: Sequence[Part]) -> str:
    """Why there is no text for these parts together; "" if there is one."""
    for part in parts:
        reason = filter_refusal(part.selects)
        if not reason and isinstance(part.optimizer, Bound):
            reason = refusal(part.optimizer, [*part.injected], part.schedule is not None)
        if reason:
            return reason
    calls = [acting(part.optimizer) for part in parts if isinstance(part.optimizer, Bound)]
    filters = [part for part in parts if filter_acts(part.selects)]
    if any(calls) and (filters or (len(list(filter(None, calls))) > 1 and _injects(parts))):
        return "several of its arguments are computed by calls, whose order would be another one"
    return ""


def _injects(parts: Sequence[Part]) -> bool:
    return any(part.injected for part in parts)


def partition(
    parts: Sequence[Part],
    document: Document,
    name_of: Callable[[str], str],
    plain: bool = False,
    releases: Releases = NEWEST,
) -> Fragments:
    """An ``optax.partition`` in which what no filter selects keeps every bit.

    Args:
      parts: those of the ``MultiOptimizer``, in their order; the only one of a focus.
      document: the file they stand in.
      name_of: takes ``optax``, ``jax``, ``jax.numpy`` or ``flaxoptim_compat.transforms``, and
        returns the expression for this module in the file. It is asked for those that are needed.
      plain: write optax's namesakes where there are any, although that changes the numbers.
      releases: the versions that the text is for.

    Raises:
      ValueError: ``partition_refusal`` has a reason why there is no such text.
    """
    reason = partition_refusal(parts)
    if reason:
        raise ValueError(reason)
    expression = Expression(document, name_of, plain, releases)
    injecting = expression.injecting() if _injects(parts) else None
    if injecting is not None:
        for name in dict.fromkeys(name for part in parts for name in part.injected.values()):
            owners = [
                (part.optimizer, parameter)
                for part in parts
                for parameter, called in part.injected.items()
                if called == name and isinstance(part.optimizer, Bound)
            ]
            injecting.dynamic(name, expression.common_start(owners))
    keys = [part.key or str(index) for index, part in enumerate(parts)]
    optimizers: list[ast.expr] = []
    for part in parts:
        if isinstance(part.optimizer, Bound):
            function = None if part.schedule is None else quoted_fragments(document, part.schedule)
            node = expression.chain(part.optimizer, part.injected, injecting, function)
        else:
            node = quoted_fragments(document, part.optimizer)
            node = node if injecting is None else injecting.static("optimizer", node)
        optimizers.append(node)
    optimizers.append(syntax.called("transforms.hold"))
    labels = expression.labels([part.selects for part in parts])
    labelled = labels.function(keys)
    if injecting is not None and (injecting.hides(labels.names) or not labels.is_late):
        labelled = injecting.static("labels", labelled)
    by_key = ast.Dict([ast.Constant(key) for key in (*keys, REST)], optimizers)
    node = syntax.called("optax.partition", by_key, labelled)
    return expression.finished(node if injecting is None else injecting.around(node))
