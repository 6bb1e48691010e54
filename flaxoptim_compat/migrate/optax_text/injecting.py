"""Hyper-parameters that are given with each step: ``optax.inject_hyperparams`` around a chain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any

from flaxoptim_compat import syntax
from flaxoptim_compat.migrate.optax_text.program_expressions import quoted
from flaxoptim_compat.migrate.program.document import Document

# inject_hyperparams makes neither hyper-parameters nor schedules of these.
_LEFT_ALONE = (bool, str, type(None))


def injected_function(
    body: ast.expr,
    starts: Mapping[str, ast.expr],
    static: Mapping[str, ast.expr],
    parameters_of: Callable[[str], Mapping[str, Any]],
) -> ast.expr | None:
    """``optax.inject_hyperparams(optax.adam, static_args=...)(...)`` for one call of optax.

    Whatever is not injected is a static argument, also where the call leaves it to its default: as
    an array it would have fewer digits, and ``1 - b2`` of a float32 array has lost four more.

    Args:
      body: the expression that is injected.
      starts: the hyper-parameters that are injected, and what they start with.
      static: other names in the expression, and what they stand for.
      parameters_of: takes the name of a function of optax, and returns its parameters with their
        defaults.

    Returns:
      None if the expression is something else than such a call, or if a hyper-parameter would have
      another name in ``opt_state.hyperparams`` than it has.
    """
    match body:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="optax"), attr=name)):
            defaults = parameters_of(name)
        case _:
            return None
    given = dict(zip(defaults, body.args, strict=False))
    given |= {str(each.arg): each.value for each in body.keywords}
    values: dict[str, ast.expr] = {}
    for parameter, value in given.items():
        name_in_body = value.id if isinstance(value, ast.Name) else ""
        if (name_in_body in starts or parameter in starts) and name_in_body != parameter:
            return None
        if not name_in_body and syntax.names_in(value) & {*starts, *static}:
            return None
        values[parameter] = {**static, **starts}.get(name_in_body, value)
    if not starts.keys() <= values.keys():
        return None
    kept = [
        ast.Constant(each)
        for each, default in defaults.items()
        if each not in starts and not _is_left_alone(values.get(each, ast.Constant(default)))
    ]
    names: ast.expr = kept[0] if len(kept) == 1 else ast.Tuple([*kept])
    function = syntax.called(
        "optax.inject_hyperparams", body.func, **({"static_args": names} if kept else {})
    )
    return syntax.called(function, **values)


def _is_left_alone(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, _LEFT_ALONE)


class Injecting:
    """One ``optax.inject_hyperparams``, with a lambda whose arguments are collected one by one.

    The lambda is run again at each step. So what could have changed by then is computed before, as
    it was, and handed in as a static argument. Where the lambda would just call a function of
    optax, that takes its place.

    Args:
      document: the file.
      is_settled: whether an expression is a name that has its value for good.
      parameters_of: the parameters of a function of optax, with their defaults.
    """

    def __init__(
        self,
        document: Document,
        is_settled: Callable[[ast.expr], bool],
        parameters_of: Callable[[str], Mapping[str, Any]],
    ) -> None:
        self._document = document
        self._is_settled = is_settled
        self._parameters_of = parameters_of
        self._starts: dict[str, ast.expr] = {}
        self._static: dict[str, ast.expr] = {}
        # Names of the program that the lambda reads.
        self._read: set[str] = set()
        self._reserved: set[str] = set()

    def dynamic(self, name: str, start: ast.expr) -> ast.expr:
        """Make ``opt_state.hyperparams`` hold a value of this name; what it is in the lambda."""
        self._starts[name] = start
        return ast.Name(name)

    def of(self, node: ast.expr, name: str) -> ast.expr:
        """An expression of the program, as it has to stand in the lambda.

        Args:
          node: the expression.
          name: what to call its value, if that is handed in.
        """
        value = quoted(self._document, node)
        if isinstance(node, ast.Name) and self._is_settled(node) and not self.hides({node.id}):
            self._read.add(node.id)
            return value
        return self.static(name, value)

    def reserve(self, name: str) -> None:
        """Let a name of the program be handed in where the lambda would read it."""
        self._reserved.add(name)

    def hides(self, names: Collection[str]) -> bool:
        """Whether an argument of the lambda, or of one inside of it, has one of these names."""
        return not {*self._starts, *self._static, *self._reserved}.isdisjoint(names)

    def static(self, name: str, value: ast.expr) -> ast.expr:
        """Compute a value once, outside of the lambda; what it is in there."""
        taken = {*self._starts, *self._static, *self._read, *self._reserved}
        chosen, number = name, 2
        while chosen in taken:
            chosen, number = f"{name}_{number}", number + 1
        self._static[chosen] = value
        return ast.Name(chosen)

    def around(self, body: ast.expr) -> ast.expr:
        """What makes this body, injected, and called."""
        function = injected_function(body, self._starts, self._static, self._parameters_of)
        if function is not None:
            return function
        used = syntax.names_in(body)
        static = {name: value for name, value in self._static.items() if name in used}
        given = {**self._starts, **static}
        keys = [ast.Constant(name) for name in static]
        names: ast.expr = keys[0] if len(keys) == 1 else ast.Tuple(list(keys))
        injected = syntax.called(
            "optax.inject_hyperparams",
            syntax.function(dict.fromkeys(given), body),
            **({"static_args": names} if keys else {}),
        )
        return syntax.called(injected, **given)
