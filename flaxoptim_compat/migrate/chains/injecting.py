"""Hyper-parameters that are given with each step: ``optax.inject_hyperparams`` around a text."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping

from flaxoptim_compat.migrate.chains.pieces import Pieces


class Injecting:
    """One ``optax.inject_hyperparams`` with a lambda, whose arguments are collected one by one.

    The lambda is run again at each step. So what could have changed by then is computed before, as
    it was, and handed in as a static argument.

    Args:
      pieces: those of the text.
      is_settled: whether an expression is a name that has its value for good.
    """

    def __init__(self, pieces: Pieces, is_settled: Callable[[ast.expr], bool]) -> None:
        self._pieces = pieces
        self._is_settled = is_settled
        self._starts: dict[str, str] = {}
        self._static: dict[str, str] = {}
        # Names of the program that the lambda reads.
        self._read: set[str] = set()
        self._reserved: set[str] = set()

    def dynamic(self, name: str, start: str) -> str:
        """Make ``opt_state.hyperparams`` hold a value of this name; the name, in the lambda."""
        self._starts[name] = start
        return name

    def of(self, node: ast.expr, name: str) -> str:
        """An expression of the program, as it has to stand in the lambda.

        Args:
          node: the expression.
          name: what to call its value, if that is handed in.
        """
        piece = self._pieces.of(node)
        if isinstance(node, ast.Name) and self._is_settled(node) and not self.hides({node.id}):
            self._read.add(node.id)
            return piece
        return self.static(name, piece)

    def reserve(self, name: str) -> None:
        """Let a name of the program be handed in where the lambda would read it."""
        self._reserved.add(name)

    def hides(self, names: Collection[str]) -> bool:
        """Whether an argument of the lambda, or of one inside of it, has one of these names."""
        return not {*self._starts, *self._static, *self._reserved}.isdisjoint(names)

    def static(self, name: str, value: str) -> str:
        """Compute a value once, outside of the lambda; its name in there."""
        taken = {*self._starts, *self._static, *self._read, *self._reserved}
        chosen, number = name, 2
        while chosen in taken:
            chosen, number = f"{name}_{number}", number + 1
        self._static[chosen] = value
        return chosen

    def around(self, text: str) -> str:
        """The lambda with this text, injected, and called."""
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        static = {name: value for name, value in self._static.items() if name in used}
        given = {**self._starts, **static}
        function = f"lambda {', '.join(given)}: {text}"
        return f"optax.inject_hyperparams({function}{self._static_args(static)})({_call(given)})"

    def _static_args(self, static: Mapping[str, str]) -> str:
        quoted = list(map(self._pieces.quoted, static))
        if not quoted:
            return ""
        names = quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"
        return f", static_args={names}"


def _call(given: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in given.items())
