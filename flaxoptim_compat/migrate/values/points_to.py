"""The values that expressions, variables and fields of a program hold, for all who ask."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.linking import Processes
from flaxoptim_compat.migrate.values.cells import order_of
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.flow import Flow
from flaxoptim_compat.migrate.values.objects import (
    NONE,
    NOTHING,
    ONE,
    Class,
    Definition,
    External,
    Function,
    Object,
    Objects,
    Optimizer,
    Plain,
    Site,
    Unknown,
)

# Methods of modules that make a variable, and the functions that make dicts.
_MAKE = frozenset({"dict", "get_param", "param", "variable"})


def parameter_names(document: Document) -> Iterator[str]:
    """Names that a parameter may have, as far as a file says.

    ``optax.tree_utils.tree_set`` goes by names, and moments have those of their parameters.

    Args:
      document: the file.
    """
    for node in document.nodes:
        match node:
            case ast.Dict(keys=keys, values=values):
                # A number or a text is a setting.
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and not isinstance(value, ast.Constant):
                        yield str(key.value)
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _MAKE:
                given = node.args[:1]
                yield from (str(each.value) for each in given if isinstance(each, ast.Constant))
                for keyword in node.keywords:
                    if keyword.arg and not isinstance(keyword.value, ast.Constant):
                        yield keyword.arg
            case ast.Call(keywords=keywords):
                # What a module is called.
                for keyword in keywords:
                    if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                        yield str(keyword.value.value)


class PointsTo:
    """Answers which values the expressions, variables and functions of a program can hold.

    Args:
      documents: its files.
      modules: for each file, the files that it imports, by the names it imports them by.
      evidence: what a run showed of it.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        modules: Mapping[Document, Mapping[str, Document]],
        evidence: Evidence | None = None,
    ) -> None:
        self.documents = documents
        self.evidence = evidence or Evidence()
        self.processes = Processes(modules)
        self._flow = Flow(documents, modules, self.evidence, self.processes)
        self.memory = self._flow.memory
        self.scopes = self._flow.scopes
        held, exactly = self._flow.held, self._flow.exactly
        self._held = held | exactly if exactly else held
        self._known: dict[Objects, Objects] = {}
        self._data: dict[Objects, Objects] = {}
        self._parameter_names: dict[Document, frozenset[str]] = {}

    # Expressions

    def values(self, node: ast.AST) -> Objects:
        """The values that an expression can hold, as far as they are known."""
        held = self._held.get(node)
        if not held:
            return NOTHING
        known = self._known.get(held)
        if known is None:
            known = self._known[held] = _known(held)
        return known

    def is_unknown(self, node: ast.AST) -> bool:
        """True if an expression may be anything."""
        if node in self._flow.exactly:
            return False
        held = self._flow.held.get(node, NOTHING)
        return any(isinstance(each, Unknown) and not self._flow.is_taken(each) for each in held)

    def unknown(self, node: ast.AST) -> Unknown | None:
        """The first unknown value of an expression; None if all are known, be it from a run."""
        held = self._flow.exactly.get(node, self._flow.held.get(node, NOTHING))
        unknown = (each for each in held if isinstance(each, Unknown))
        return min(unknown, key=order_of, default=None)

    def may_be_one(self, node: ast.AST) -> bool:
        """True if an expression may be a single array or number."""
        return ONE in self._flow.held.get(node, NOTHING)

    def may_be_none(self, node: ast.AST) -> bool:
        """True if an expression may be None."""
        return NONE in self._flow.held.get(node, NOTHING)

    def package_names(self, node: ast.AST) -> frozenset[str]:
        """The full names of what an expression can be of packages that are not read."""
        return frozenset(each.name for each in self.values(node) if isinstance(each, External))

    def called_by(self, node: ast.AST) -> Iterator[Object]:
        """The values that an expression can hold and, of functions made of others, these others."""
        waiting = [*self.values(node)]
        for each in waiting:
            yield each
            waiting += _known(self._flow.calls.bound_by(each)) - {*waiting}

    def functions(self, node: ast.AST) -> Iterator[Function]:
        """The functions of the program that an expression can be, be it with some arguments."""
        return (each for each in self.called_by(node) if isinstance(each, Function))

    def may_call_unseen(self, node: ast.AST) -> bool:
        """True if an expression may be any function, or one made of a function that may be any."""
        made_of = map(self._flow.calls.bound_by, self.called_by(node))
        return self.is_unknown(node) or any(map(_has_unknown, made_of))

    def is_parameter(self, document: Document, node: ast.expr) -> bool:
        """True if a name is a parameter of the function it stands in, or of one around that."""
        if not isinstance(node, ast.Name):
            return False
        scope = self.scopes[document].binder(node, node.id)
        return isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and any(
            each.arg == node.id for each in parameters(scope.args)
        )

    def returned(self, function: ast.AST) -> Objects:
        """The values that a function can return."""
        return self.memory.cells.read(("returns", function, ""))

    def is_made_unseen(self, of: Class) -> bool:
        """True if code that is not seen takes the arguments that make an object of a class."""
        return not (self.memory.has_method(of, "__init__") or self.memory.all_fields(of))

    def data_inside(self, objects: Objects) -> Objects:
        """These objects, and those in the containers and the fields of dataclasses among them.

        What takes another object calls its methods, which are read.
        """
        data = self._data.get(objects)
        if data is None:
            data = self._data[objects] = self.memory.inside(objects, only_data=True)
        return data

    def holds_optimizer(self, objects: Objects) -> bool:
        """True if there is an optimizer among these objects, or inside of them."""
        return any(isinstance(each, Optimizer) for each in self.memory.inside(objects))

    # The whole program

    def definitions(self) -> list[Site]:
        """Where the program makes definitions, in the order of its files."""
        order = {document: number for number, document in enumerate(self.documents)}
        return sorted(
            self._flow.calls.sites.values(),
            key=lambda site: (order[site.document], site.node.lineno, site.node.col_offset),
        )

    @property
    def shown_together(self) -> Iterator[list[Site]]:
        """The definitions that a run saw in one variable, or one field."""
        for objects in self.memory.shown.values():
            sites = (each.site for each in objects if isinstance(each, Definition | Optimizer))
            yield [each for each in sites if each is not None]

    def parameter_names(self, documents: Iterable[Document]) -> frozenset[str]:
        """The names that parameters may have where one of these files runs."""
        together = map(self.processes.together_with, documents)
        found: set[str] = set()
        for each in frozenset().union(*together):
            if each not in self._parameter_names:
                self._parameter_names[each] = frozenset(parameter_names(each))
            found |= self._parameter_names[each]
        return frozenset(found)

    @property
    def gave_up(self) -> bool:
        """True if the program is more than can be followed, so that nothing is certain."""
        return self._flow.cells.gave_up

    @property
    def readings(self) -> int:
        """How often functions were read until nothing changed any more, all together."""
        return self._flow.cells.readings


def _known(objects: Objects) -> Objects:
    known = [each for each in objects if not isinstance(each, (Plain, Unknown))]
    return objects if len(known) == len(objects) else frozenset(known)


def _has_unknown(objects: Objects) -> bool:
    return any(isinstance(each, Unknown) for each in objects)
