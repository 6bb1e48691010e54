"""The contents of attributes and containers, and the effect of putting something there."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.linking import Processes
from flaxoptim_compat.migrate.values.cells import Cell, Cells
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.known_names import (
    TELLING,
    is_base,
    is_called_optimizer,
    makes_none,
)
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    NOTHING,
    Class,
    Container,
    Create,
    Definition,
    External,
    File,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Property,
    Stored,
    Unknown,
    class_of,
    external,
    fields_of,
    is_dict,
    is_unpickled,
)
from flaxoptim_compat.migrate.values.order import Instruction

# A name of a package with more dots than these is one that a program lengthens again and again.
_MOST_DOTS = 8
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class _Body(NamedTuple):
    """A class of the program, and the names that its body itself defines.

    Args:
      of: the class.
      fields: the names that it annotates.
      methods: the names of its methods.
    """

    of: Class
    fields: list[str]
    methods: frozenset[str]


class Memory:
    """The cells of a program by what they belong to.

    Args:
      evidence: what a run showed.
      processes: which files can be given what others make.
      documents: the files of the program.
    """

    def __init__(
        self, evidence: Evidence, processes: Processes, documents: Sequence[Document]
    ) -> None:
        self._processes = processes
        # The file that is being read.
        self.home = self._first = documents[0]
        self._unknown: dict[str, Objects] = {}
        self._stored = frozenset(itertools.chain(*map(_stored_in, documents)))
        self.cells = Cells[ast.AST | Instruction]()
        self.evidence = evidence
        # Of variables and fields, the optimizers that a run saw there.
        self.shown: dict[Cell, Objects] = {}
        # What the text alone says of all cells.
        self.by_text = self.cells
        self._bodies: dict[ast.ClassDef, _Body] = {}

    # Variables

    def variable(self, scope: ast.AST, name: str) -> Objects:
        """The values that a variable of a scope can hold."""
        return self.seen("variable", scope, name)

    def seen(self, kind: str, of: ast.AST, name: str) -> Objects:
        """The values of a variable or field; of optimizers those that a run saw in it, if any."""
        cell = (kind, of, name)
        return self.held(cell, cell)

    def held(self, cell: Cell, of: Cell) -> Objects:
        """The values of a cell of a variable or field; of optimizers those that a run saw in that.

        Args:
          cell: the variable or field itself, or one assignment to it.
          of: the variable or field.
        """
        objects = self.cells.read(cell)
        if of not in self.shown or (objects and all(map(is_unpickled, objects))):
            return objects
        shown = self._shown_after(cell, of)
        followed = (
            each
            for each in objects
            if not isinstance(each, Definition | Optimizer | Unknown)
            or is_unpickled(each)
            or (not isinstance(each, Unknown) and self.evidence.is_followed(each.site))
        )
        kinds = {(type(each), getattr(each, "site", None)) for each in shown}
        same = (
            each
            for each in objects
            if (type(each), getattr(each, "site", None)) in kinds  # be they copies or not
        )
        return shown.union(followed, same)

    def _shown_after(self, cell: Cell, of: Cell) -> Objects:
        """The optimizers that a run saw in a variable, as far as they can come from one assignment.

        A run does not tell which assignment reached a place. An optimizer before its `replicate()`
        and after it have one site, and the text says which of them an assignment gives.
        """
        here = self.by_text.read(cell)
        sites = {each.site for each in here if isinstance(each, Optimizer)}
        elsewhere = self.by_text.read(of) - here
        return self.shown[of] - {
            each for each in elsewhere if isinstance(each, Optimizer) and each.site in sites
        }

    def bind(self, scope: ast.AST, name: str, objects: Objects) -> None:
        """Let a variable hold these values, too."""
        self.cells.write(("variable", scope, name), objects)

    def give(self, function: ast.AST, name: str, objects: Objects) -> None:
        """Let a parameter hold these values, too."""
        self.cells.write(("given", function, name), objects)

    def returned(self, function: Function) -> Objects:
        """The values that a function returns; its receiver, if any, is given to it first.

        A function that was not read yet is read for that.
        """
        self.cells.let_wait(function.node)
        arguments = function.node.args
        first = [each.arg for each in (*arguments.posonlyargs, *arguments.args)][:1]
        if function.receiver is not None and first:
            self.give(function.node, first[0], frozenset({function.receiver}))
        return self.cells.read(("returns", function.node, ""))

    # Classes

    def add_class(self, of: Class) -> None:
        """Note a class of the program."""
        methods = frozenset(each.name for each in of.node.body if isinstance(each, _FUNCTIONS))
        self._bodies[of.node] = _Body(of, fields_of(of.node), methods)

    def bases(self, of: Class) -> Objects:
        """The values of the bases of a class."""
        return self.cells.read(("bases", of.node, ""))

    def ancestry(self, of: Class) -> Iterator[tuple[Class, Objects]]:
        """A class and those that it is derived from, however far, each with what its bases are."""
        classes = [of]
        for each in classes:
            bases = self.bases(each)
            yield each, bases
            classes += [one for one in bases if isinstance(one, Class) and one not in classes]

    def inherit(self, of: Class) -> None:
        """Let the methods that a class inherits be given its objects, too."""
        own: set[str] = set()
        for each, _ in self.ancestry(of):
            for method in each.node.body:
                if isinstance(method, _FUNCTIONS) and method.name not in own:
                    kinds = decorators_of(method) & {"classmethod", "staticmethod"}
                    for name in [] if kinds else Function(each.document, method).parameters[:1]:
                        self.give(method, name, frozenset({Instance(of)}))
            own |= self._bodies[each.node].methods

    def makes_definitions(self, of: Class) -> bool:
        """True if the objects of a class are definitions of optimizers."""
        bases = (base for _, bases in self.ancestry(of) for base in bases)
        return any(isinstance(each, External) and is_base(each.name) for each in bases)

    def hints_at_optimizer(self, node: ast.Attribute) -> bool:
        """True if an attribute, alone or with its owner's name, hints that this is an optimizer."""
        is_telling = node.attr in TELLING and not self._is_own_method(node.attr)
        return is_telling or is_called_optimizer(node)

    def _is_own_method(self, name: str) -> bool:
        """True if a class of the program that makes no definitions has a method of this name."""
        having = (each.of for each in self._bodies.values() if name in each.methods)
        return not all(map(self.makes_definitions, having))

    def all_fields(self, of: Class) -> list[str]:
        """The fields of a dataclass, with those that it inherits, in their order."""
        classes = [each.node for each, _ in self.ancestry(of)]
        return [
            *dict.fromkeys(name for each in classes[::-1] for name in self._bodies[each].fields)
        ]

    def has_method(self, of: Class, name: str) -> bool:
        """True if a class has a method that the program defines, be it inherited."""
        return any(name in self._bodies[each.node].methods for each, _ in self.ancestry(of))

    def member(self, of: Class, name: str, receiver: Object | None) -> Objects:
        """The values that a class and those that it is derived from have under a name.

        Args:
          of: the class.
          name: the name.
          receiver: what it is looked up on: an object of the class, or None for the class itself.
        """
        found: set[Object] = set()
        for each, bases in self.ancestry(of):
            for one in self.seen("field", each.node, name):
                if isinstance(one, Function | Property):
                    found |= self._looked_up(one, each, receiver)
                else:
                    found.add(one)
            if name in self._bodies[each.node].methods:
                break
            for base in bases:
                if isinstance(base, Unknown):
                    found |= self.named(name)
                elif isinstance(base, External) and not found and name not in self._stored:
                    # Such as `apply` of a module of Linen.
                    is_known = makes_none(base.name)
                    found |= external(f"{base.name}.{name}") if is_known else self.named(name)
        return frozenset(found)

    def inherited(self, of: Class, name: str) -> Objects:
        """The values that ``super()`` finds under a name, in a method of a class."""
        # In an object of a class with several bases, it may go on with any of them.
        found = self.named(name) if self._is_one_of_several_bases(of) else NOTHING
        for base in self.bases(of):
            if isinstance(base, Class):
                found |= self.member(base, name, Instance(of))
            else:
                found |= self.named(name)
        return found

    def _is_one_of_several_bases(self, of: Class) -> bool:
        mixed = (each.of for each in self._bodies.values() if len(each.of.node.bases) > 1)
        return any(of == base for each in mixed if each != of for base, _ in self.ancestry(each))

    def _looked_up(self, found: Function | Property, of: Class, receiver: Object | None) -> Objects:
        """The value that a class attribute has for its receiver, such as a bound method."""
        match found:
            case Property(function=function) if receiver is not None:
                return self.returned(Function(function.document, function.node, receiver))
            case Function(document=document, node=node, receiver=None) if node in of.node.body:
                decorators = decorators_of(node)
                if "staticmethod" in decorators:
                    return frozenset({found})
                given = of if "classmethod" in decorators else receiver
                return frozenset({Function(document, node, given)})
        return frozenset({found})

    # Attributes

    def attribute(self, owners: Objects, name: str, modules: Mapping[str, Document]) -> Objects:
        """The values that an attribute of any of these objects holds.

        Args:
          owners: what is asked.
          name: the attribute.
          modules: the files that the file with the expression imports, by their names there.
        """
        if len(owners) == 1:
            (owner,) = owners
            return self._attribute(owner, name, modules)
        return NOTHING.union(*(self._attribute(each, name, modules) for each in owners))

    def _attribute(self, owner: Object, name: str, modules: Mapping[str, Document]) -> Objects:
        found: Object | None = None
        match owner:
            case External(name=of):
                full = f"{of}.{name}"
                if full in modules:
                    found = File(modules[full])
                elif of.count(".") < _MOST_DOTS:
                    return external(full)
            case File(document=document):
                submodule = modules.get(f"{document.module}.{name}")
                bound = self.variable(document.tree, name)
                return bound if submodule is None else bound | {File(submodule)}
            case Instance(of=of):
                return self.member(of, name, owner)
            case Class():
                return self.member(owner, name, None)
            case Optimizer(site=site) if name == "optimizer_def":
                found = Definition(site)
            case Definition(site=site) if name == "create":
                found = Create(site)
            case Unknown():
                return self.named(name)
        return NOTHING if found is None else frozenset({found})

    def named(self, name: str) -> Objects:
        """The optimizers that an unknown object may have under a name, because others have them.

        Where no others have any, it is unknown.
        """
        if name not in self._stored:
            return self.unknown_named(name)
        together = self._processes.together_with(self.home)
        naming = self.cells.read(("naming", "", name))
        files = [each.document for each in naming if isinstance(each, File)]
        here = [each for each in files if each in together] or [self.home]
        return NOTHING.union(*(self.cells.read(("named", each, name)) for each in here))

    def unknown_named(self, name: str) -> Objects:
        """The value that an unknown object has under a name."""
        found = self._unknown.get(name)
        if found is None:
            unknown = Unknown(self._first, ast.Name(name))
            found = self._unknown[name] = frozenset({unknown})
        return found

    def store(self, owners: Objects, name: str, objects: Objects) -> None:
        """Let an attribute of each of these objects hold these values, too."""
        optimizers = [each for each in objects if isinstance(each, Definition | Optimizer)]
        if optimizers:
            self.cells.write(("named", self.home, name), optimizers)
            self.cells.write(("naming", "", name), [File(self.home)])
        for each in owners:
            match each:
                case Instance(of=of) | (Class() as of):
                    self.cells.write(("field", of.node, name), objects)
                    self.cells.write(("items", of.node, ""), objects)
                case File(document=document):
                    self.bind(document.tree, name, objects)

    # Containers

    def put(self, container: Container, key: Hashable, objects: Objects) -> Objects:
        """Let an entry of a container hold these values, too; returns the container."""
        return self.put_all(container, [(key, objects)])

    def put_all(self, container: Container, entries: Sequence[tuple[Hashable, Objects]]) -> Objects:
        """Let many entries of a container hold their values, all at once; returns the container."""
        for key, objects in entries:
            self.cells.write(("item", container.node, key), objects)
        every = NOTHING.union(*(objects for _, objects in entries))
        self.cells.write(("items", container.node, ""), every)
        return frozenset({container})

    def item(self, held: Objects, key: Hashable) -> Objects:
        """The values that these containers or objects hold under a key."""
        if len(held) == 1:
            (one,) = held
            return self._item(one, key)
        return NOTHING.union(*(self._item(each, key) for each in held))

    def _item(self, each: Object, key: Hashable) -> Objects:
        match each:
            case Container(node=node) if key == ANYWHERE:
                return self.cells.read(("items", node, ""))
            case Container(node=node):
                of_key = self.cells.read(("item", node, key))
                return of_key | self.cells.read(("item", node, ANYWHERE))
            case Instance(of=of) if self.has_method(of, "__getitem__") or not self.all_fields(of):
                methods = self.member(of, "__getitem__", each)
                functions = (one for one in methods if isinstance(one, Function))
                return NOTHING.union(*map(self.returned, functions))
            case Instance(of=of):  # of a named tuple
                names = self.all_fields(of)
                if isinstance(key, int) and key < len(names):
                    names = names[key : key + 1]
                return NOTHING.union(*(self.member(of, name, each) for name in names))
            case Stored() | Unknown() | Class():  # of a class, as `Base[T]`
                return frozenset({each})
        return NOTHING

    def contents(self, held: Objects) -> Objects:
        """All that is in these containers."""
        return self.item(held, ANYWHERE)

    def entries(self, held: Objects) -> Objects:
        """The values that a loop over these objects gives: for a dict its keys, which hold none."""
        return self.contents(frozenset(each for each in held if not is_dict(each)))

    def inside(self, objects: Objects, *, only_data: bool = False) -> Objects:
        """These objects, what is in their fields and entries, and so on.

        Args:
          objects: the objects.
          only_data: whether containers and dataclasses are looked into, and no other objects.
        """
        seen: set[Object] = set()
        waiting: set[Object] = {*objects}
        while waiting:
            seen |= waiting
            inside = set[Object]()
            for each in waiting:
                if isinstance(each, Container):
                    inside |= self._item(each, ANYWHERE)
                elif isinstance(each, Instance) and not (only_data and not self.is_data(each.of)):
                    inside |= self.cells.read(("items", each.of.node, ""))
            waiting = inside - seen
        return frozenset(seen)

    def is_data(self, of: Class) -> bool:
        """True if the objects of a class are what their fields are, as those of a dataclass."""
        return bool(self._bodies[of.node].fields)


def _stored_in(document: Document) -> Iterator[str]:
    """The names under which code of a file may store something in objects."""
    for attribute in document.of_kind(ast.Attribute):
        if isinstance(attribute.ctx, ast.Store):
            yield attribute.attr
    for made in document.of_kind(ast.ClassDef):
        yield from fields_of(made)
    for call in document.of_kind(ast.Call):
        yield from (each.arg for each in call.keywords if each.arg)


def decorators_of(node: ast.AST) -> set[str]:
    """The last names of what decorates a function."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return {last_name(each.func if isinstance(each, ast.Call) else each) for each in decorators}


def cells_of(objects: Objects, name: str) -> Iterator[Cell]:
    """The fields of these objects of the program under a name."""
    for each in objects:
        of = class_of(each)
        if of is not None:
            yield "field", of.node, name
