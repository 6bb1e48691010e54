"""The optax expression for a constructor call, made of the formula of its class.

Hyper-parameters that are given with each step need ``optax.inject_hyperparams`` around it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from flaxoptim_compat import syntax
from flaxoptim_compat.catalogue import BY_NAME, DTYPE, FLAGS, INTEGERS, WRAPPED
from flaxoptim_compat.formula_text import stages
from flaxoptim_compat.formula_text.injected_function import injected_function
from flaxoptim_compat.formula_text.recorded import parameters_of
from flaxoptim_compat.formula_text.term import Term
from flaxoptim_compat.migrate.editing.edits import Fragments
from flaxoptim_compat.migrate.optax_text.accepted import exact, namesake
from flaxoptim_compat.migrate.optax_text.binding import Bound, Stated
from flaxoptim_compat.migrate.optax_text.program_expressions import (
    fragments_of,
    is_settled,
    may_act,
    quoted,
    quoted_fragments,
)
from flaxoptim_compat.migrate.program.document import Document


class Injecting:
    """One ``optax.inject_hyperparams``, with a lambda whose arguments are collected one by one.

    The lambda runs again at each step. So values that could have changed by then are computed once
    before, and handed in as static arguments. A lambda that would only call a function of optax
    becomes that function. Without hyper-parameters to inject, there is no lambda.

    Args:
      document: the file.
      starts: the injected hyper-parameters, and the values that they start with.
    """

    def __init__(self, document: Document, starts: Mapping[str, ast.expr]) -> None:
        self.starts = starts
        self._document = document
        self._static: dict[str, ast.expr] = {}
        # The names of the program that the lambda reads.
        self._read: set[str] = set()

    def of(self, node: ast.expr, name: str) -> ast.expr:
        """The text of an expression of the program in the lambda.

        Args:
          node: the expression.
          name: the name of its value, if that is handed in.
        """
        value = quoted(self._document, node)
        if not self.starts:
            return value
        names = syntax.names_in(node)
        if is_settled(self._document, node) and not self.hides(names):
            self._read |= names
            return value
        return self.static(name, value)

    def hides(self, names: Collection[str]) -> bool:
        """True if an argument of the lambda has one of these names."""
        return not {*self.starts, *self._static}.isdisjoint(names)

    def static(self, name: str, value: ast.expr) -> ast.expr:
        """Compute a value once, outside of the lambda; returns its name in the lambda."""
        taken = {*self.starts, *self._static, *self._read}
        chosen, number = name, 2
        while chosen in taken:
            chosen, number = f"{name}_{number}", number + 1
        self._static[chosen] = value
        return ast.Name(chosen)

    def around(self, body: ast.expr) -> ast.expr:
        """The expression that injects the hyper-parameters into this body, and calls it."""
        if not self.starts:
            return body
        function = injected_function(body, self.starts, self._static, parameters_of)
        if function is not None:
            return function
        used = syntax.names_in(body)
        static = {name: value for name, value in self._static.items() if name in used}
        arguments = {**self.starts, **static}
        keys = [ast.Constant(name) for name in static]
        names: ast.expr = keys[0] if len(keys) == 1 else ast.Tuple(list(keys))
        injected = syntax.called(
            "optax.inject_hyperparams",
            syntax.function(arguments, body),
            **({"static_args": names} if keys else {}),
        )
        return syntax.called(injected, **arguments)


# The names of modules in an expression, until it gets those of the file.
_MODULES: Final = {
    "jax": "jax",
    "jnp": "jax.numpy",
    "optax": "optax",
    "transforms": "flaxoptim_compat.transforms",
}


class Expression:
    """An expression in the making.

    Args:
      document: the file of quoted expressions.
      name_of: returns the expression of a module in the file, for the dotted name of the module.
      plain: whether to take optax's namesakes, although they do not do quite the same.
    """

    def __init__(
        self,
        document: Document,
        name_of: Callable[[str], str],
        plain: bool = False,
    ) -> None:
        self._document = document
        self._name_of = name_of
        self._expression_of = namesake if plain else exact

    def chain(self, bound: Bound, injecting: Injecting) -> ast.expr:
        """The expression for a call.

        Args:
          bound: the call.
          injecting: the injection that the expression will stand in.
        """
        terms: dict[str, Any] = {}
        for name, default in BY_NAME[bound.name].hyper_params.items():
            given = bound.arguments.get(name)
            if name == WRAPPED:
                assert bound.inner is not None
                terms["inner"] = self.chain(bound.inner, injecting)
            elif name in injecting.starts:
                terms[name] = Term(ast.Name(name))
            elif given is not None and not given.is_literal:
                terms[name] = Term(injecting.of(given.node, name))
            elif name == DTYPE:
                terms[name] = Term.of_dtype(default)
            else:
                terms[name] = self._known(name, default if given is None else given.value, given)
        return self._expression_of(bound.name, terms)

    def injecting(self, bound: Bound, names: Collection[str]) -> Injecting:
        """The injection of some hyper-parameters of a call."""
        return Injecting(self._document, {name: self._start(bound, name) for name in names})

    def labels(self, filters: Mapping[str, ast.expr], injecting: Injecting) -> ast.expr:
        """The function that labels parameters with the key of the filter that selects each.

        Args:
          filters: the filters by their labels.
          injecting: the injection that the expression will stand in.
        """
        by_label = ast.Dict(
            [ast.Constant(label) for label in filters],
            [quoted(self._document, selects) for selects in filters.values()],
        )
        otherwise = {"otherwise": ast.Constant(stages.FROZEN)}
        labels = syntax.called("transforms.labels", by_label, **otherwise)
        names = frozenset().union(*map(syntax.names_in, filters.values()))
        is_late = all(map(self._may_be_read_late, filters.values()))
        if not injecting.starts or (is_late and not injecting.hides(names)):
            return labels
        # In the lambda, the filters would be made anew at each step.
        return injecting.static("labels", labels)

    def _may_be_read_late(self, node: ast.expr) -> bool:
        """True if a filter is the same one whenever it is read."""
        if isinstance(node, ast.Lambda):
            return not (node.args.defaults or node.args.kw_defaults)
        return is_settled(self._document, node)

    def _start(self, bound: Bound, name: str) -> ast.expr:
        """The value that an injected hyper-parameter starts with."""
        owner = bound.owner_of(name)
        assert owner is not None
        given = owner.arguments.get(name)
        if given is not None and not given.is_literal:
            start = quoted(self._document, given.node)
            if not owner.may_lack(given.node):
                return start
            # Optax has no None for a value that is missing until a step gives one.
            if may_act(given.node):
                return quoted_fragments(self._document, (*start.origin, " or 0.0"))
            is_none = quoted_fragments(self._document, (*start.origin, " is None"))
            return ast.IfExp(is_none, ast.Constant(0.0), start)
        value = BY_NAME[owner.name].hyper_params[name] if given is None else given.value
        if value is None:
            value, given = 0.0, None
        return self._number(name, value, given).node

    def finished(self, node: ast.expr) -> Fragments:
        """The whole expression, with the names of the file."""
        return fragments_of(syntax.written(_InFile(self._name_of).visit(node)))

    def _known(self, name: str, value: Any, given: Stated | None) -> Term:
        if name in FLAGS:
            return Term(ast.Constant(bool(value)), bool(value), assumed=True)
        if value is None or isinstance(value, str):
            return Term.of(value)
        return self._number(name, value, given)

    def _number(self, name: str, value: float, given: Stated | None) -> Term:
        if given is not None and (isinstance(value, float) or name in INTEGERS):
            return Term(quoted(self._document, given.node), value)
        # flax.optim made a float of an integer, whose powers are rounded differently.
        value = value if name in INTEGERS else float(value)
        return Term(ast.Constant(value), value, assumed=given is None)


class _InFile(ast.NodeTransformer):
    """Replaces the names of modules by those of the file."""

    def __init__(self, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """The file's expression, if this is one of the modules."""
        if node.id not in _MODULES:
            return node
        return ast.parse(self._name_of(_MODULES[node.id]), mode="eval").body
