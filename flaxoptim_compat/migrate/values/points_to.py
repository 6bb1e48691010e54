"""What the expressions of a program can hold."""

from __future__ import annotations

import ast
import functools
import itertools
import sys
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import cast

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.names.walk import parameters, walk_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.linking import Processes
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.arguments import Call
from flaxoptim_compat.migrate.values.calls import Calls
from flaxoptim_compat.migrate.values.constraints import Constraints
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.hints import Hints
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import (
    LEGACY,
    NOTHING,
    Class,
    Container,
    Definition,
    External,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Site,
)
from flaxoptim_compat.migrate.values.solver import Solver, Variable
from flaxoptim_compat.migrate.values.stars import Stars
from flaxoptim_compat.migrate.values.variables import Held, objects_of
from flaxoptim_compat.migrate.values.versions import all_versions

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


Scope = (
    ast.Module
    | ast.FunctionDef
    | ast.AsyncFunctionDef
    | ast.Lambda
    | ast.ClassDef
    | ast.ListComp
    | ast.SetComp
    | ast.DictComp
    | ast.GeneratorExp
)


class Scopes:
    """The scopes of one file."""

    def __init__(self, document: Document) -> None:
        self._tree = document.tree
        self._parents = document.parents
        self.walk = walk_of(document)
        self._scopes = self.walk.scopes

    def binder(self, node: ast.AST, name: str) -> Scope | None:
        """The scope that binds a name which is used at a node; None if it is a builtin."""
        position = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        # What binds a name counts as after itself, and after the value that it is given.
        if not isinstance(getattr(node, "ctx", None), ast.Load):
            position = (sys.maxsize, 0)
        found = self._scopes[self.around(node)].binder(name, position)
        return None if found is None else cast(Scope, found.node)

    def around(self, node: ast.AST) -> Scope:
        """The scope that a node stands in; that of a function is the one it is defined in."""
        child, parent = node, self._parents[node]
        while parent not in self._scopes or not _is_inside(child, parent):
            child, parent = parent, self._parents[parent]
        return cast(Scope, parent)


def _is_inside(child: ast.AST, scope: ast.AST) -> bool:
    """Whether a child of a scope's node is evaluated inside of the scope."""
    if isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return child in scope.body
    return not (isinstance(scope, ast.Lambda) and child is scope.args)


# A variable by its scope, or a field by its class, and the name.
_Cell = tuple[ast.AST, str]
# A function that calls others like it may need as many rounds to be kept apart.
_MOST_ROUNDS = 4
_MOST_CALLS = 64
_MOST_NODES = 400


class PointsTo:
    """What is known of a program.

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
        self.modules = modules
        self.evidence = evidence or Evidence()
        self.scopes = {document: Scopes(document) for document in documents}
        self.processes = Processes(modules)
        self._stars = Stars(modules)
        self._parameter_names: dict[Document, frozenset[str]] = {}
        apart: frozenset[ast.AST] = frozenset()
        for _ in range(_MOST_ROUNDS):
            self._solve(apart)
            more = frozenset(self._to_keep_apart()) - apart
            if self.gave_up or not more:
                break
            apart |= more

    # What others ask

    def values(self, node: ast.AST) -> Objects:
        """What an expression can hold."""
        self._memory.ask_for(node)
        self._solver.solve()
        return self.legacy(node)

    def legacy(self, node: ast.AST) -> Objects:
        """What of flax.optim an expression can hold; this takes no work."""
        objects = self._memory.objects(node)
        if not self._exactly or not objects:
            return objects
        if node in self._exactly:
            return self._exactly[node]
        return self._as_shown(objects, self._cells_of(node))

    def is_unknown(self, node: ast.AST) -> bool:
        """Whether an expression may hold more than is followed."""
        return node not in self._exactly and self._memory.is_full(node)

    def variable(self, scope: ast.AST, name: str) -> Objects:
        """What a variable of a scope can hold."""
        variables = (
            self._memory.variable(scope, each, None) for each in (name, all_versions(name))
        )
        return self._as_shown(NOTHING.union(*map(objects_of, variables)), [(scope, name)])

    def is_parameter(self, document: Document, node: ast.expr) -> bool:
        """Whether it is a parameter of the function that it stands in, or of one around that."""
        if not isinstance(node, ast.Name):
            return False
        scope = self.scopes[document].binder(node, node.id)
        return isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) and any(
            each.arg == node.id for each in parameters(scope.args)
        )

    def field(self, of: ast.ClassDef, name: str) -> Objects:
        """What a field of the objects of a class can hold."""
        return self._as_shown(objects_of(self._memory.field(of, name)), [(of, name)])

    def entry(self, node: ast.AST, key: Hashable) -> Objects:
        """What the containers that an expression can hold have under a key."""
        return self._asked(self._memory.item(self._memory.of(node), key))

    def entries(self, node: ast.AST) -> Objects:
        """What a loop over an expression can give to its variable."""
        return self._asked(self._memory.entries(self._memory.of(node)))

    def entered(self, node: ast.AST) -> Objects:
        """What a ``with`` over an expression can give to its variable."""
        return self._asked(self._memory.entered(self._memory.of(node)))

    def _asked(self, held: Held) -> Objects:
        self._memory.ask(held)
        self._solver.solve()
        return objects_of(held)

    @functools.cached_property
    def optimizer_fields(self) -> Mapping[str, Sequence[tuple[Class, Objects]]]:
        """The optimizers in fields of objects, by the field, with the class that has it."""
        found: dict[str, list[tuple[Class, Objects]]] = {}
        for document, node in self._memory.classes:
            for name, held in self._memory.fields(node):
                inside = (each for each in self.data_inside(held) if isinstance(each, Optimizer))
                if optimizers := frozenset(inside):
                    found.setdefault(name, []).append((Class(document, node), optimizers))
        return found

    def returned(self, function: ast.AST) -> Objects:
        """What a function can return."""
        return objects_of(self._memory.returns(function, None))

    def given(self, function: ast.AST, name: str) -> Objects:
        """What a parameter is given by all calls of a function."""
        calls = self._calls.arguments.get(function, {}).values()
        given = (held for arguments in calls for each, held in arguments if each == name)
        return NOTHING.union(*map(objects_of, given))

    def definitions(self) -> list[Site]:
        """Where the program makes definitions, in the order of its files."""
        order = {document: number for number, document in enumerate(self.documents)}
        return sorted(
            self._calls.sites,
            key=lambda site: (order[site.document], site.node.lineno, site.node.col_offset),
        )

    def holds_optimizer(self, objects: Objects) -> bool:
        """Whether there is an optimizer among these objects, or in fields or slots of them."""
        return any(isinstance(each, Optimizer) for each in self.inside(objects))

    def is_container(self, of: Class) -> bool:
        """Whether a class is derived from one of Python's whose objects are containers."""
        return bool(self._memory.within(of).objects)

    def ancestry(self, of: Class) -> Iterator[tuple[Class, list[Object]]]:
        """A class and those that it is derived from, however far, each with what its bases are."""
        return self._memory.ancestry(of)

    def has_method(self, of: Class, name: str) -> bool:
        """Whether a class has a method of the program, be it inherited."""
        return self._memory.has(of, name)

    def is_own_method(self, name: str) -> bool:
        """Whether a class of the program has this method, and makes no definitions."""
        return name in self._memory.method_names

    def package_names(self, node: ast.AST) -> frozenset[str]:
        """The full names of what an expression can be of packages that are not read."""
        return frozenset(each.name for each in self.values(node) if isinstance(each, External))

    def functions(self, node: ast.AST) -> Iterator[Function]:
        """The functions of the program that an expression can be, be it with some arguments."""
        return (each for each in self.called_by(node) if isinstance(each, Function))

    def called_by(self, node: ast.AST) -> Iterator[Object]:
        """What an expression can be and, of functions made of others, what these are."""
        waiting = [*self.values(node)]
        for each in waiting:
            yield each
            held = self._calls.called_by(each)
            if isinstance(held, Variable):
                self._solver.ask(held)
                self._solver.solve()
            waiting += objects_of(held) - {*waiting}

    @functools.cached_property
    def definitions_without_create(self) -> Sequence[Site]:
        """The definitions of which it is not seen that they make optimizers."""
        asked = (
            each.value
            for document in self.documents
            for each in document.of_kind(ast.Attribute)
            if each.attr == "create"
        )
        held = frozenset().union(*map(self.legacy, asked))
        with_create = {each.site for each in held if isinstance(each, Definition)}
        return [each for each in self.definitions() if each not in with_create]

    @functools.cached_property
    def traced(self) -> AbstractSet[ast.AST]:
        """The functions that jax traces, because the program has it compile or repeat them."""
        found: set[ast.AST] = set()
        for document in self.documents:
            for call in document.of_kind(ast.Call):
                if self.legacy(call.func) and self.package_names(call.func) & known_names.TRACE:
                    given = itertools.chain.from_iterable(map(self.functions, arguments_of(call)))
                    found |= {each.node for each in given}
            for function in document.of_kind(ast.FunctionDef):
                for each in function.decorator_list:
                    if self.only_traces(each):
                        found.add(function)
        return found

    def only_traces(self, decorator: ast.expr) -> bool:
        """Whether it is one of jax, and not, by some switch, one that leaves the function."""
        made_by = [decorator]
        if isinstance(decorator, ast.Call):
            made_by = [decorator.func, *decorator.args[:1]]
        is_other = any(isinstance(each, Function) for each in self.values(decorator))
        return not is_other and any(
            self.package_names(each) & known_names.TRACE for each in made_by
        )

    def inside(self, objects: Objects) -> Objects:
        """These objects, what is in their fields and slots, and so on."""
        return self._memory.inside(objects)

    def data_inside(self, objects: Objects) -> Objects:
        """These objects, and those in the containers and dataclasses among them.

        What takes another object calls its methods, which are read.
        """
        return self._memory.data_inside(objects)

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
    def has_traversals(self) -> bool:
        """Whether the program makes anything that selects parameters by their paths."""
        return self._calls.packages.has_traversals

    @property
    def gave_up(self) -> bool:
        """Whether the program is more than can be followed, so that nothing is certain."""
        return self._solver.gave_up or bool(self._solver.lost)

    @property
    def counts(self) -> tuple[int, int]:
        """How many constraints there are, and how many objects went along them."""
        return self._solver.constraints, self._solver.propagations

    # Solving

    def _solve(self, apart: frozenset[ast.AST]) -> None:
        self._exactly: dict[ast.AST, Objects] = {}
        self._cells: dict[_Cell, Objects] = {}
        self._solver = Solver()
        self._memory = Memory(self._solver)
        self._calls = Calls(self._memory, apart, self.documents)
        for document in self.documents:
            Constraints(
                document,
                self.scopes[document].walk,
                self.modules[document],
                self._stars,
                self._memory,
                self._calls,
                self.evidence.nodes,
            ).file({*apart})
        self._solver.solve()
        self._calls.uncalled()
        if self.evidence.makers:
            # What a name alone would tell, the run has shown, or did not come to.
            self._believe()
            return
        hints = Hints(self._memory, self._solver, self.processes)
        hints.by_fields()
        self._solver.solve()
        while not self.gave_up and hints.take():
            self._solver.solve()

    def _believe(self) -> None:
        """State what a run showed: at the places themselves, and of the variables and fields."""
        memory = self._memory
        sites = {each.node: each for each in self._calls.sites}
        for call, document in self.evidence.makers.items():
            held = memory.of(call)
            if call not in sites and isinstance(held, Variable):
                self._calls.define(Call(document, call, None), "", held)
        sites = {each.node: each for each in self._calls.sites}
        for shown in self.evidence.shown.values():
            made = frozenset[Object](
                Optimizer(sites[call], axis) if shown.of == "optimizer" else Definition(sites[call])
                for call, axis in shown.made
                if call in sites
            )
            held = memory.of(shown.node)
            if not made or not isinstance(held, Variable):
                continue
            self._solver.state(held, made)
            if isinstance(shown.node, ast.Attribute):
                memory.store_field(memory.of(shown.node.value), shown.node.attr, made)
            self._exactly[shown.node] = self._exactly.get(shown.node, NOTHING) | made
        self._solver.solve()
        for node, objects in self._exactly.items():
            for cell in self._cells_of(node):
                self._cells[cell] = self._cells.get(cell, NOTHING) | objects

    @property
    def shown_together(self) -> Iterator[list[Site]]:
        """The definitions that a run saw in one variable, or one field."""
        for objects in self._cells.values():
            sites = (each.site for each in objects if isinstance(each, Definition | Optimizer))
            yield [each for each in sites if each is not None]

    @functools.cached_property
    def _names(self) -> Mapping[ast.AST, Document]:
        """The files in which names stand."""
        return {
            node: document for document in self.documents for node in document.of_kind(ast.Name)
        }

    def _cells_of(self, node: ast.AST) -> Iterator[_Cell]:
        """The variable, or the fields, that an expression reads."""
        match node:
            case ast.Name(id=name):
                scope = self.scopes[self._names[node]].binder(node, name)
                yield from [] if scope is None else [(scope, name)]
            case ast.Attribute(value=owner, attr=name):
                for each in self._memory.objects(owner):
                    if isinstance(each, Instance):
                        yield each.of.node, name

    def _as_shown(self, objects: Objects, cells: Iterable[_Cell]) -> Objects:
        """What a variable or field can hold: of optimizers those that a run saw in it, if any."""
        shown = NOTHING.union(*(self._cells.get(each, NOTHING) for each in cells))
        if not shown:
            return objects
        others = (
            each
            for each in objects
            if not isinstance(each, Definition | Optimizer) or self.evidence.is_followed(each.site)
        )
        return _of_sites(objects, shown).union(others)

    def _to_keep_apart(self) -> Iterator[ast.AST]:
        """The functions that are given optimizers by some calls, and something else by others."""
        for node, calls in self._calls.arguments.items():
            if not 1 < len(calls) <= _MOST_CALLS or not _is_small(node):
                continue
            returned = self._memory.returns(node, None).objects
            if not any(type(each) in LEGACY or isinstance(each, Container) for each in returned):
                continue
            given: list[dict[str, frozenset[Object]]] = []
            for arguments in calls.values():
                by_name: dict[str, frozenset[Object]] = {}
                for name, held in arguments:
                    by_name[name] = by_name.get(name, frozenset()) | _legacy(held)
                given.append({name: each for name, each in by_name.items() if each})
            if any(given) and any(each != given[0] for each in given):
                yield node


def _of_sites(objects: Objects, shown: Objects) -> Objects:
    """Those that are the same optimizers and definitions as others, be they copies or not."""
    kinds = {(type(each), getattr(each, "site", None)) for each in shown}
    return frozenset(each for each in objects if (type(each), getattr(each, "site", None)) in kinds)


def _legacy(held: Held) -> frozenset[Object]:
    return frozenset(each for each in objects_of(held) if type(each) in LEGACY)


def _is_small(node: ast.AST) -> bool:
    """Whether a function can be written down for each of its calls."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    for count, inner in enumerate(ast.walk(node)):
        if count > _MOST_NODES:
            return False
        if inner is not node and isinstance(
            inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        ):
            return False
    return True
