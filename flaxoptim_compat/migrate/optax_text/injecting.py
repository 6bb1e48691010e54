"""Hyper-parameters that are given with each step: ``optax.inject_hyperparams`` around a chain."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from flaxoptim_compat import syntax
from flaxoptim_compat.formula_text.injected_function import injected_function
from flaxoptim_compat.formula_text.recorded import parameters_of
from flaxoptim_compat.migrate.optax_text.program_expressions import quoted
from flaxoptim_compat.migrate.program.document import Document


class Injecting:
    """One ``optax.inject_hyperparams``, with a lambda whose arguments are collected one by one.

    The lambda is run again at each step. So what could have changed by then is computed before, as
    it was, and handed in as a static argument. Where the lambda would just call a function of
    optax, that takes its place.

    Args:
      document: the file.
      is_settled: whether an expression is a name that has its value for good.
    """

    def __init__(self, document: Document, is_settled: Callable[[ast.expr], bool]) -> None:
        self._document = document
        self._is_settled = is_settled
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
        function = injected_function(body, self._starts, self._static, parameters_of)
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
