"""The scopes of a file, and the bindings of names in each scope."""

from __future__ import annotations

import ast
import dataclasses
from typing import Literal, NamedTuple

# The kinds of bindings. `nothing` leaves the value open: None, `del`, and an annotation without a
# value; `other` binds an object of the program's own.
BindingKind = Literal["import", "star", "value", "nothing", "other"]


class Binding(NamedTuple):
    """One binding of a name.

    Args:
      kind: the kind of binding.
      after: the line and column after which it holds.
      full_name: for an import, the full name of the imported object.
      alias: for an import, its node.
      value: for a plain assignment, the expression.
    """

    kind: BindingKind
    after: tuple[int, int]
    full_name: str = ""
    alias: ast.alias | None = None
    value: ast.expr | None = None


@dataclasses.dataclass(eq=False, slots=True)
class Scope:
    """A module, class, function, lambda or comprehension.

    Args:
      node: the module, class, function, lambda or comprehension.
      parent: the scope around it; None for the module.
      bindings: the bindings of each name in the scope.
      elsewhere: the names that ``global`` (True) and ``nonlocal`` (False) send elsewhere.
    """

    node: ast.AST
    parent: Scope | None = None
    bindings: dict[str, list[Binding]] = dataclasses.field(default_factory=dict)
    elsewhere: dict[str, bool] = dataclasses.field(default_factory=dict)
    # Whether the scope is that of a class, whose names functions inside do not see.
    is_class: bool = dataclasses.field(init=False)
    # The scopes around it in which Python looks for a name that is used here, in their order.
    around: tuple[Scope, ...] = dataclasses.field(init=False, default=())

    def __post_init__(self) -> None:
        self.is_class = isinstance(self.node, ast.ClassDef)
        if self.parent is not None:
            own = () if self.parent.is_class else (self.parent,)
            self.around = own + self.parent.around

    @property
    def outward(self) -> tuple[Scope, ...]:
        """The scopes in which Python looks for a name that is used here, in their order."""
        return (self, *self.around)

    @property
    def is_comprehension(self) -> bool:
        """True for a comprehension, in which ``:=`` binds in the scope around it."""
        return isinstance(self.node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)

    @property
    def module(self) -> Scope:
        """The scope of the file."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def home(self, name: str) -> Scope | None:
        """The scope of the bindings of a name here, by ``global``, ``nonlocal`` or its place."""
        is_global = self.elsewhere.get(name)
        if is_global is None:
            return self
        if is_global:
            return self.module
        functions = (each for each in self.around if each.parent is not None)
        return next((each for each in functions if name in each.bindings), None)

    def binder(self, name: str, position: tuple[int, int]) -> Scope | None:
        """The scope whose binding a name has when it is used here.

        Args:
          name: the name.
          position: the line and column of the use; it only counts in the body of a class, where a
            name has the meaning from around the class until the class binds it.
        """
        for scope in self.outward:
            home = scope.home(name) if name in scope.elsewhere else scope
            if home is None or name not in home.bindings:
                continue
            if home.is_class and all(each.after > position for each in home.bindings[name]):
                continue
            return home
        return None
