"""The hyper-parameters that a constructor call states, read without running it."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from flaxoptim_compat.catalogue import (
    BY_NAME,
    COMPLEMENTED,
    DTYPE,
    FLAGS,
    INTEGERS,
    RATE,
    REQUIRED,
    WRAPPED,
)
from flaxoptim_compat.migrate.optax_text.program_expressions import literal, may_act


class Stated(NamedTuple):
    """A hyper-parameter that a call states: its expression, and its value if it is a literal."""

    node: ast.expr
    is_literal: bool
    value: Any = None


@dataclasses.dataclass(frozen=True, eq=False)
class Bound:
    """A constructor call that is understood.

    Args:
      name: the class, such as ``Adam``.
      call: the call.
      arguments: the stated hyper-parameters by name, in the order of the call.
      inner: for a WeightNorm, the optimizer in it.
      may_lack: whether an argument may be None when the program runs.
    """

    name: str
    call: ast.Call
    arguments: Mapping[str, Stated]
    inner: Bound | None = None
    may_lack: Callable[[ast.expr], bool] = lambda node: False

    @property
    def rate(self) -> Stated | None:
        """The learning rate; None if there is none, or if it is None."""
        owner = self.inner or self
        rate = owner.arguments.get(RATE)
        return None if rate is None or (rate.is_literal and rate.value is None) else rate

    def owner_of(self, name: str) -> Bound | None:
        """The call that has a hyper-parameter, this one or the one inside; None if neither has."""
        if name in BY_NAME[self.name].hyper_params and name not in (WRAPPED, DTYPE):
            return self
        return None if self.inner is None else self.inner.owner_of(name)


class Refused(ValueError):
    """There is no text for a call; the message is the reason, as a sentence."""


def bind(
    call: ast.Call,
    name: str,
    definition_of: Callable[[ast.expr], Bound | None] = lambda node: None,
) -> Bound:
    """The hyper-parameters of a constructor call.

    Args:
      call: the call.
      name: the class of the call, such as ``Adam``.
      definition_of: reads the expression of the optimizer in a WeightNorm; returns None if that
        is no constructor call.

    Raises:
      Refused: the hyper-parameters are not known.
    """
    if not name:
        raise Refused("the class of a part is not one of flax.optim, or not known here")
    if name not in BY_NAME:
        raise Refused(f"{name} has no text in optax")
    nodes = _assigned(call, name)
    inner = (
        _inner(nodes.pop(WRAPPED), definition_of) if WRAPPED in BY_NAME[name].hyper_params else None
    )
    arguments = {each: _argument(name, each, node) for each, node in nodes.items()}
    bound = Bound(name, call, arguments, inner)
    _check_effects(bound)
    return bound


def _assigned(call: ast.Call, name: str) -> dict[str, ast.expr]:
    """The expression of each parameter that is stated."""
    defaults = BY_NAME[name].hyper_params
    known = list(defaults)
    if any(isinstance(each, ast.Starred) for each in call.args):
        raise Refused(f"{name} takes its arguments from *, so it is not known which they are")
    if any(each.arg is None for each in call.keywords):
        raise Refused(f"{name} takes its arguments from **, so it is not known which they are")
    by_name = {str(each.arg): each.value for each in call.keywords}
    nodes = {**dict(zip(known, call.args, strict=False)), **by_name}
    is_one_each = len(nodes) == len(call.args) + len(by_name) and nodes.keys() <= defaults.keys()
    if not is_one_each or any(defaults[each] is REQUIRED for each in defaults.keys() - nodes):
        raise Refused(f"{name} takes other arguments: {', '.join(known)}")
    return nodes


def _inner(node: ast.expr, definition_of: Callable[[ast.expr], Bound | None]) -> Bound:
    inner = definition_of(node)
    if inner is None:
        raise Refused("the optimizer in the WeightNorm is not known here")
    if inner.inner is not None:
        raise Refused("a WeightNorm in a WeightNorm is not in optax")
    return inner


def _argument(name: str, parameter: str, node: ast.expr) -> Stated:
    what = f"{parameter} of {name}"
    if parameter == DTYPE:
        return Stated(node, False)
    try:
        argument = Stated(node, True, literal(node))
    except ValueError:
        argument = Stated(node, False)
    if isinstance(node, _NO_NUMBERS) and not argument.is_literal:
        raise Refused(f"{what} is no number")
    if parameter in BY_NAME[name].decides and not argument.is_literal:
        raise Refused(f"{what} decides which optax it is, and its value is not known here")
    if argument.is_literal and not _fits(name, parameter, argument.value):
        raise Refused(f"{what} is {argument.value}")
    return argument


_NO_NUMBERS = (
    *(ast.Constant, ast.JoinedStr, ast.Lambda),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set),
)


def _fits(name: str, parameter: str, value: Any) -> bool:
    """True if flax could compute with a literal as this hyper-parameter."""
    if parameter in FLAGS:
        return isinstance(value, bool | int)
    if value is None:
        return parameter == RATE or parameter in BY_NAME[name].decides
    return not isinstance(value, bool)


def _check_effects(bound: Bound) -> None:
    """Raise if the order of the text would change the effects of arguments."""
    calls = acting(bound)
    for owner, name in calls:
        row = BY_NAME[owner.name]
        if len(calls) > 1 or name in row.repeated or name in row.conditional:
            raise Refused(
                f"{name} of {owner.name} is computed by a call: assign it to a variable before"
            )


def acting(bound: Bound) -> list[tuple[Bound, str]]:
    """The hyper-parameters whose expressions may have an effect, each with its call."""
    inner = [] if bound.inner is None else acting(bound.inner)
    own = [(bound, name) for name, stated in bound.arguments.items() if may_act(stated.node)]
    return [*inner, *own]


def check(bound: Bound, injected: Collection[str] = ()) -> None:
    """Raise Refused unless there is a text for a call that is understood.

    Args:
      bound: the call.
      injected: the hyper-parameters that are given with each step.
    """
    for name in injected:
        _check_injected(bound, name)
    if bound.rate is None and RATE not in injected:
        raise Refused("there is no learning rate, neither here nor with each step")


def _check_injected(bound: Bound, name: str) -> None:
    owner = bound.owner_of(name)
    if owner is None:
        raise Refused(f"{(bound.inner or bound).name} has no hyper-parameter {name}")
    if name in COMPLEMENTED:
        raise Refused(f"{name} given with each step has fewer digits in optax than in flax.optim")
    if name in FLAGS | INTEGERS:
        raise Refused(f"{name} cannot be given with each step in optax")
    stated = owner.arguments.get(name)
    row = BY_NAME[owner.name]
    value = row.hyper_params[name] if stated is None else stated.value
    if name in row.decides and value is None:
        raise Refused(f"{name} is None here and a number with a step")


def pairs(call: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """The traversal and the optimizer of each argument of a ``MultiOptimizer``.

    Raises:
      Refused: the parts are not written out.
    """
    if call.keywords or not call.args:
        raise Refused("MultiOptimizer takes pairs of a traversal and an optimizer")
    parts = []
    for each in call.args:
        if isinstance(each, ast.Starred):
            raise Refused(f"the parts come from `{ast.unparse(each)}`: write them out as pairs")
        elements = each.elts if isinstance(each, ast.Tuple | ast.List) else []
        if len(elements) != 2 or any(isinstance(one, ast.Starred) for one in elements):
            raise Refused("a part of the MultiOptimizer is not known here: it is no pair")
        parts.append((elements[0], elements[1]))
    return parts
