"""The statements of a function, each with the assignments that reach it.

A statement is read again, by itself, when something that it reads has grown. So that it can be, the
assignments to each variable are told apart beforehand, as in static single assignment: each has a
cell, and so have the places where several meet.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.cells import Cell
from flaxoptim_compat.migrate.values.objects import Class, FunctionNode, Unknown
from flaxoptim_compat.migrate.values.scopes import Scopes

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_TRY = (ast.Try, getattr(ast, "TryStar", ast.Try))  # of Python 3.11
_NOTHING_TO_READ = (ast.Pass, ast.Break, ast.Continue, ast.Global, ast.Nonlocal)
# The fields of a statement in which other statements stand.
_INSIDE = ("body", "handlers", "orelse", "finalbody", "items", "cases")


class Source(NamedTuple):
    """A file of the program.

    Args:
      document: it.
      modules: the files that it imports, by the names it imports them by.
      brought: the names that ``import *`` brings: the file that has it, or what it is elsewhere.
      scopes: its scopes.
    """

    document: Document
    modules: Mapping[str, Document]
    brought: Mapping[str, Document | str]
    scopes: Scopes


class Body(NamedTuple):
    """A function, or what stands at the top of a file.

    Args:
      file: the file it stands in.
      node: it.
      of: the class around it.
    """

    file: Source
    node: FunctionNode | ast.Module
    of: Class | None = None

    def unknown(self) -> Unknown:
        """Something unknown in it."""
        return Unknown(self.file.document, self.node, is_several=True)

    def keeps(self, home: Scope, name: str) -> bool:
        """True if only this function assigns to a variable, in an order that is known."""
        return home.node is self.node and (self.node, name) not in self.file.scopes.shared


@dataclasses.dataclass(eq=False, slots=True)
class Instruction:
    """A statement without those in it, or an expression of one.

    Args:
      node: the statement or expression.
      body: the function it stands in.
      scope: the scope, which is that of a class in the body of one.
      of: the class around it.
      reaching: the cell of the assignment that reaches it, for each variable.
    """

    node: ast.AST
    body: Body
    scope: Scope
    of: Class | None
    reaching: Mapping[str, Cell]


def instructions_of(body: Body, flow: Callable[[Cell, Cell], None]) -> Sequence[Instruction]:
    """The instructions of a function in their order.

    Args:
      body: the function.
      flow: is called with two cells where all values of the first are in the second.
    """
    return _Order(body, flow).instructions


class _Order:
    def __init__(self, body: Body, flow: Callable[[Cell, Cell], None]) -> None:
        self.instructions: list[Instruction] = []
        self._body = body
        self._flow = flow
        self._scope, self._of = body.file.scopes.of[body.node], body.of
        self._now: dict[str, Cell] = {}
        # The statements around of which parts may be run again, or not at all.
        self._around: list[ast.AST] = []
        self._names: dict[ast.AST, frozenset[str]] = {}
        match body.node:
            case ast.Lambda(args=arguments, body=value):
                self._take(arguments)
                self._all([ast.copy_location(ast.Return(value), value)])
            case ast.FunctionDef(args=arguments) | ast.AsyncFunctionDef(args=arguments):
                self._take(arguments)
                self._all(body.node.body)
            case ast.Module(body=statements):
                self._all(statements)

    def _take(self, node: ast.arguments) -> None:
        """Let the parameters hold what the function is given."""
        own = self._body.node
        for each in parameters(node):
            cell = self._now[each.arg] = ("given", own, each.arg)
            self._flow(cell, ("variable", own, each.arg))

    def _instruction(self, node: ast.AST) -> None:
        """Note an instruction, and the variables that it assigns to."""
        self.instructions.append(Instruction(node, self._body, self._scope, self._of, self._now))
        own = self._body.node
        for name in _bound_by(node):
            home = self._scope.home(name) if name in self._scope.elsewhere else self._scope
            if home is not None and self._body.keeps(home, name):
                cell = ("assigned", node, name)
                self._flow(cell, ("variable", own, name))
                for each in self._around:
                    self._flow(cell, ("joined", each, name))
                self._now = {**self._now, name: cell}

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for each in nodes:
            if each is not None:
                self._statement(each)

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Expr(value=value):
                if not isinstance(value, ast.Constant):
                    self._instruction(value)
            case ast.If(test=test):
                self._instruction(test)
                self._either(node)
            case ast.For() | ast.AsyncFor():
                self._instruction(node)
                self._again(node, node.body, node.orelse)
            case ast.While(test=test):
                self._again(node, [test, *node.body], node.orelse)
            case _ if isinstance(node, _TRY):
                handlers = ([each] for each in node.handlers)
                self._again(node, node.body, *handlers, node.orelse, node.finalbody)
            case ast.ExceptHandler(type=kind, body=body):
                self._all([kind, *body])
            case ast.With() | ast.AsyncWith():
                self._all([*node.items, *node.body])
            case ast.Match(subject=subject, cases=cases):
                # The names of a pattern are bound by nothing that is followed, and so are unknown.
                self._again(node, [subject], *([each] for each in cases))
            case ast.match_case(pattern=pattern, guard=guard, body=body):
                self._all([pattern, guard, *body])
            case ast.ClassDef():
                self._instruction(node)
                around = self._scope, self._of
                self._scope = self._body.file.scopes.of[node]
                self._of = Class(self._body.file.document, node)
                self._all(node.body)
                self._scope, self._of = around
            case _ if not isinstance(node, _NOTHING_TO_READ):
                self._instruction(node)

    def _either(self, node: ast.If) -> None:
        before = self._now
        self._all(node.body)
        after, self._now = self._now, before
        self._all(node.orelse)
        met: dict[str, Cell] = {}
        for name, cell in self._now.items():
            if name in after:
                met[name] = cell
                if after[name] != cell:
                    met[name] = ("met", node, name)
                    self._flow(cell, met[name])
                    self._flow(after[name], met[name])
        self._now = met

    def _again(self, node: ast.AST, *parts: Iterable[ast.AST]) -> None:
        """The parts of a statement that may be run again, or not at all.

        A variable is there what it was before, or anything that the statement assigns to it.
        """
        self._around.append(node)
        names = self._bound_inside(node)
        for each in (*parts, ()):
            now = dict(self._now)
            for name in names & now.keys():
                cell = ("joined", node, name)
                if now[name] != cell:
                    self._flow(now[name], cell)
                    now[name] = cell
            self._now = now
            self._all(each)
        self._around.pop()

    def _bound_inside(self, node: ast.AST) -> frozenset[str]:
        """The variables that a statement, or those in it, assign to."""
        names = self._names.get(node)
        if names is None:
            inside = () if isinstance(node, _DEFINITIONS) else _INSIDE
            statements = (each for field in inside for each in getattr(node, field, ()))
            both = frozenset(_bound_by(node)).union(*map(self._bound_inside, statements))
            names = self._names[node] = both
        return names


def _bound_by(node: ast.AST) -> Iterator[str]:
    """The variables that a statement assigns to by itself."""
    match node:
        case ast.Assign(targets=targets):
            for each in targets:
                yield from _names_in(each)
        case (
            ast.AnnAssign(target=target)
            | ast.For(target=target)
            | ast.AsyncFor(target=target)
            | ast.withitem(optional_vars=ast.expr() as target)
        ):
            yield from _names_in(target)
        case ast.AugAssign(target=target, op=ast.Add() | ast.BitOr()):
            yield from _names_in(target)
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            yield from (each.asname or each.name.partition(".")[0] for each in aliases)


def _names_in(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Starred(value=inner):
            yield from _names_in(inner)
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for each in targets:
                yield from _names_in(each)
