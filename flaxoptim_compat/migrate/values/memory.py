"""What objects have in their attributes and containers, and what putting something there says."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    KEYS,
    NOTHING,
    Class,
    Container,
    Create,
    Definition,
    Entries,
    External,
    File,
    Function,
    FunctionNode,
    HyperParams,
    Instance,
    Object,
    Objects,
    Optimizer,
    State,
    StateDict,
    Stored,
    Super,
    bases_of,
    external,
    fields_of,
)
from flaxoptim_compat.migrate.values.solver import Solver, Variable
from flaxoptim_compat.migrate.values.variables import Held, Variables, objects_of

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The method of a class that is given each class which is derived from it.
INIT_SUBCLASS = "__init_subclass__"
_ENTER = ("__enter__", "__aenter__")
# What dicts are asked for is none of their entries.
_OF_DICTS = frozenset(dir(dict))
_GENERIC = frozenset(
    f"{module}.{name}"
    for module in ("typing", "typing_extensions")
    for name in ("Generic", "Protocol")
)
# A name of a package with more dots than these is one that a program lengthens again and again.
_MOST_DOTS = 8


class Method(NamedTuple):
    """A function that is given what it is looked up on.

    Args:
      receiver: its first parameter.
      of_class: whether it is given the class.
    """

    receiver: str
    of_class: bool


class Asked(NamedTuple):
    """An attribute of something that is not a name of a package.

    Args:
      document: the file.
      node: the expression.
      owner: what is asked.
      result: what the attribute holds.
    """

    document: Document
    node: ast.Attribute
    owner: Held
    result: Variable


class Memory(Variables):
    """All variables, and what reading and writing attributes and slots says of each other.

    Args:
      solver: what holds the constraints.
    """

    def __init__(self, solver: Solver) -> None:
        super().__init__(solver)
        self.methods: dict[ast.AST, Method] = {}
        self.context_managers: set[ast.AST] = set()
        self.asked: list[Asked] = []
        self.classes: list[tuple[Document, ast.ClassDef]] = []
        # The fields of each class.
        self._fields: dict[ast.AST, list[Variable]] = {}
        self._subclasses: dict[ast.AST, list[ast.ClassDef]] = {}

    # Classes

    def field(self, of: ast.ClassDef, name: str) -> Variable:
        """A field of the objects of a class, as its own methods and body set it."""

        def prepare(result: Variable) -> None:
            self.solver.once_it_matters(result, lambda: self.let_class_matter(of))
            self._fields.setdefault(of, []).append(result)
            # Whatever is assigned to a field of this name may be assigned to this one.
            result.needs = (self._stores(name),)

        return self.once(("field", of, name), prepare)

    def _of_function(self, function: ast.AST, name: str) -> Variable:
        """An attribute that a program gives to a function, as ``train.optimizer = ...``."""

        def prepare(result: Variable) -> None:
            result.needs = (self._stores(name),)

        return self.once(("field", function, name), prepare)

    def fields(self, of: ast.ClassDef) -> Iterator[tuple[str, Objects]]:
        """What the objects of a class have in their fields, as far as is known now."""
        for each in self._fields.get(of, ()):
            assert isinstance(each.origin, tuple)
            yield each.origin[-1], objects_of(each)

    def _stores(self, name: str) -> Variable:
        """A variable that needs whatever has a field of this name assigned."""
        return self._variable(("stores", name))

    def let_class_matter(self, of: ast.AST) -> None:
        """Follow a class, and those that inherit from it, and their objects."""
        if self.solver.let_matter(of):
            for each in self._subclasses.get(of, ()):
                self.let_class_matter(each)

    def inherit(self, of: Class, base: Held) -> None:
        """State that a class is derived from what an expression holds."""
        own = {each.name for each in of.node.body if isinstance(each, _DEFINITIONS)}

        def inherited(method: Object) -> None:
            # Where its objects are made, and who calls their methods, need not be seen.
            assert isinstance(method, Function)
            if getattr(method.node, "name", "") not in own:
                self.receive(method, Instance(of))
                self.solver.state(self.own_methods(of.node), [method])

        def follow(each: Object) -> None:
            if isinstance(each, Class):
                self._subclasses.setdefault(each.node, []).append(of.node)
                if self.solver.does_matter(each):
                    self.let_class_matter(of.node)
                hook = self.inherited(each, INIT_SUBCLASS)
                self.solver.watch(hook, lambda found: self.receive(found, of))
                self.solver.watch(self.own_methods(each.node), inherited)
            elif isinstance(each, External) and known_names.is_base(each.name):
                self.let_class_matter(of.node)

        if isinstance(base, Variable):
            self.solver.ask(base)
        self.each(base, follow)

    def own_methods(self, of: ast.ClassDef) -> Variable:
        """The functions that the objects of a class have, and may be asked to call."""
        # They are few, and are to be given the object.
        return self.once(("own methods", of), self.solver.ask)

    # Attributes

    def attribute(self, owner: Held, name: str, modules: Mapping[str, Document]) -> Held:
        """What an attribute holds.

        Args:
          owner: what is asked for it.
          name: the attribute.
          modules: the files that the file with the expression imports, by their names there.
        """
        if isinstance(owner, frozenset) and all(isinstance(each, External) for each in owner):
            found = [self._of_external(each, name, modules) for each in owner]
            return frozenset(each for each in found if each is not None) or NOTHING
        return self.derived(
            ("attribute", name),
            owner,
            lambda each, result: self._attribute(each, name, modules, result),
        )

    def _of_external(
        self, owner: Object, name: str, modules: Mapping[str, Document]
    ) -> Object | None:
        assert isinstance(owner, External)
        if owner.name.count(".") >= _MOST_DOTS:
            return None
        full = f"{owner.name}.{name}"
        return File(modules[full]) if full in modules else external(full)

    def _attribute(
        self, owner: Object, name: str, modules: Mapping[str, Document], result: Variable
    ) -> None:
        add = self.solver.state
        match owner:
            case External():
                found = self._of_external(owner, name, modules)
                if found is not None:
                    add(result, [found])
            case File(document=document):
                submodule = modules.get(f"{document.module}.{name}")
                if submodule is not None:
                    add(result, [File(submodule)])
                self.flow(self.variable(document.tree, name, None), result)
            case Instance(of=of) if name == "__class__":
                add(result, [of])
            case Instance(of=of):
                self.flow(self._of_instance(of, name), result)
            case Class():
                self.flow(self._of_class_itself(owner, name), result)
            case Function() if name in ("__call__", "__wrapped__"):
                # Decorators return the function, or one that does the same.
                add(result, [owner])
            case Function(node=node):
                self.flow(self._of_function(node, name), result)
            case Super(of=of):
                self._from_bases(of, name, result, Instance(of))
            case Container(is_dict=True) if name not in _OF_DICTS:
                # A plain dict has no such attribute; those in a ConfigDict become ConfigDicts.
                self.flow(self.item(frozenset({owner}), name), result)
            case Optimizer(site=site) if name == "state":
                add(result, [State(site)])
            case Optimizer(site=site) if name == "optimizer_def":
                add(result, [Definition(site)])
            case Definition(site=site) if name == "create":
                add(result, [Create(site)])
            case Definition(site=site) if name == "hyper_params":
                add(result, [HyperParams(site)])

    def inherited(self, of: Class, name: str) -> Variable:
        """What a class or one that it inherits from has under a name."""

        def prepare(result: Variable) -> None:
            self.flow(self.field(of.node, name), result)
            self._from_bases(of, name, result, None)
            # Its methods are few, and are to be given the object.
            self.solver.ask(result)

        return self.once(("inherited", of, name), prepare)

    def _from_bases(
        self, of: Class, name: str, result: Variable, receiver: Instance | None
    ) -> None:
        def follow(base: Object) -> None:
            if isinstance(base, Class):
                found = self.inherited(base, name)
                if receiver is not None:
                    self.solver.watch(found, lambda each: self.receive(each, receiver))
                self.flow(found, result)

        for each in bases_of(of.node):
            self.each(self.of(each), follow)

    def _of_instance(self, of: Class, name: str) -> Variable:
        """An attribute of an object; a method is given the object."""

        def prepare(result: Variable) -> None:
            found = self.inherited(of, name)
            self.flow(found, result)
            self.solver.watch(found, lambda each: self.receive(each, Instance(of)))
            if name == "data":
                self.flow(self.within(of), result)  # as of a `UserDict`
            elif name not in _OF_DICTS:
                self.flow(self._entry(of, name), result)
            if not name.startswith("__") and self.has(of, "__getattr__"):
                self.solver.watch(
                    self.inherited(of, "__getattr__"), lambda each: hand_on(each, result)
                )

        def hand_on(method: Object, result: Variable) -> None:
            inner = _asked_instead(method.node) if isinstance(method, Function) else ""
            if inner not in ("", name):
                self.flow(self.attribute(self._of_instance(of, inner), name, {}), result)

        return self.once(("of instance", of, name), prepare)

    def _entry(self, of: Class, name: str) -> Held:
        """What objects of a class of dicts have under a key: many give it as an attribute, too."""

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Container) and each.is_dict:
                self.flow(self.item(frozenset({each}), name), result)

        return self.derived(("entry", name), self.within(of), follow)

    def _of_class_itself(self, of: Class, name: str) -> Variable:
        """An attribute of a class; its methods are still to be given an object there."""

        def prepare(result: Variable) -> None:
            def follow(each: Object) -> None:
                if isinstance(each, Function) and each.is_bound:
                    if self.methods[each.node].of_class:
                        self.receive(each, of)
                    else:
                        each = Function(each.document, each.node, False, each.context)
                self.solver.state(result, [each])

            self.solver.watch(self.inherited(of, name), follow)

        return self.once(("of class", of, name), prepare)

    def receive(self, found: Object, receiver: Object) -> None:
        """Give a method the object or class that it is looked up on."""
        if isinstance(found, Function) and found.is_bound:
            method = self.methods[found.node]
            if isinstance(receiver, Instance) and method.of_class:
                receiver = receiver.of
            self.solver.state(self.variable(found.node, method.receiver, None), [receiver])

    def bound(self, held: Held, to_class: bool = False) -> Held:
        """What a class has in an attribute: functions there are given what they are looked up on.

        Args:
          held: what is assigned to the attribute.
          to_class: whether functions are given the class, also by its objects.
        """
        if isinstance(held, frozenset) and not any(isinstance(each, Function) for each in held):
            return held

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Function) and not each.is_bound and each.node.args.args:
                receiver = each.node.args.args[0].arg
                self.methods.setdefault(each.node, Method(receiver, to_class))
                each = Function(each.document, each.node, True, each.context)
            self.solver.state(result, [each])

        return self.derived(("bound", to_class), held, follow)

    def store_fields(self, owner: Held, named: Iterable[tuple[str | None, Held]]) -> None:
        """What giving values to fields says; without a name a dict of them, as by ``**``."""

        def entry(each: Object, result: Variable, name: str) -> None:
            # Not what may have any name: that would make all of them out of one.
            if isinstance(each, Container):
                self.flow(self.slot(each, name), result)

        def spread(values: Held, each: Object) -> None:
            if isinstance(each, Instance):
                for name in self.all_fields(each.of):
                    held = self.derived(
                        ("entry", name), values, functools.partial(entry, name=name)
                    )
                    self.store_field(frozenset({each}), name, held)

        for name, value in named:
            if name is None:
                self.each(owner, functools.partial(spread, value))
            else:
                self.store_field(owner, name, value)

    def store_field(self, owner: Held, name: str, value: Held) -> None:
        """What assigning to an attribute says."""

        def follow(each: Object) -> None:
            match each:
                case Instance(of=of):
                    self.flow(value, self.field(of.node, name))
                    self.solver.watch(self.within(of), enter)
                case Class(node=node):
                    self.flow(self.bound(value), self.field(node, name))
                case Container(is_dict=True):
                    self.put(each, name, value)
                case Function(node=node):
                    self.flow(value, self._of_function(node, name))
                case File(document=document):
                    self.flow(value, self.variable(document.tree, name, None))
                    self.flow(value, self.set_elsewhere(document.tree, name))

        def enter(container: Object) -> None:
            if isinstance(container, Container) and container.is_dict:
                self.put(container, name, value)

        self.each(owner, follow)
        if isinstance(owner, Variable):
            self.solver.need(self._stores(name), owner)
            self.once_it_matters(value, lambda: self.ask(owner))

    def instances(self, classes: Held) -> Held:
        """What a variable holds that is annotated with one of these."""

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, External):
                self.solver.state(result, _foreign(each.name))
            elif isinstance(each, Class):
                self.solver.state(result, [Instance(each)])

        if isinstance(classes, frozenset):
            known = [each for each in classes if isinstance(each, External)]
            if len(known) == len(classes):
                return frozenset().union(*(_foreign(each.name) for each in known)) or NOTHING
        return self.derived("instances", classes, follow)

    # Containers

    def within(self, of: Class) -> Variable:
        """The containers that objects of a class are, if it is derived from one of Python's.

        One is their own, which they share with those of classes that theirs is derived from.
        """

        def prepare(result: Variable) -> None:
            def follow(base: Object) -> None:
                if isinstance(base, Class):
                    self.flow(self.within(base), result)
                elif isinstance(base, External) and base.name in known_names.CONTAINERS:
                    own = Container(of.node, None, known_names.CONTAINERS[base.name])
                    self.solver.state(result, [own])
                    # Methods that it does not define itself ask for entries by this one.
                    self.put(own, ANYWHERE, self._returned_by(of, "__getitem__"))

            def let_matter(container: Object) -> None:
                assert isinstance(container, Container)
                alarm = functools.partial(self.let_class_matter, of.node)
                self.solver.once_it_matters(self._all_slots(container), alarm)

            self.solver.ask(result)
            self.solver.watch(result, let_matter)
            for each in bases_of(of.node):
                self.each(self.of(each), follow)

        return self.once(("within", of), prepare)

    def slot(self, container: Container, key: Hashable) -> Variable:
        """A slot of a container."""

        def prepare(result: Variable) -> None:
            self.solver.include(result, self._all_slots(container))

        return self.once(("slot", container, key), prepare)

    def _all_slots(self, container: Container) -> Variable:

        def prepare(result: Variable) -> None:
            self.solver.once_it_matters(result, lambda: self.solver.let_matter(container))
            # Whatever is put into a container may be put into this one.
            result.needs = (self._variable("puts"),)

        return self.once(("slots", container), prepare)

    def put(self, container: Container, key: Hashable, value: Held) -> None:
        """State that a slot of a container holds this."""
        if value is not NOTHING:
            self.flow(value, self.slot(container, key))

    def store_item(self, owner: Held, key: Hashable, value: Held) -> None:
        """What assigning to a slot says."""

        def follow(each: Object) -> None:
            if isinstance(each, Container):
                self.put(each, key, value)
            elif isinstance(each, Instance):
                self.solver.watch(self.inherited(each.of, "__setitem__"), give)
                self.solver.watch(self.within(each.of), follow)

        def give(method: Object) -> None:
            if isinstance(method, Function):
                for each in method.node.args.args[2:3]:
                    self.flow(value, self.variable(method.node, each.arg, None))

        self.each(owner, follow)
        self.may_put(owner, value)

    def store_key(self, owner: Held, key: Held) -> None:
        """What assigning under a key says that is more than a number or text."""

        def follow(each: Object) -> None:
            if isinstance(each, Container) and each.is_dict:
                self.put(each, KEYS, key)

        if key is not NOTHING:
            self.each(owner, follow)
            self.may_put(owner, key)

    def may_put(self, owner: Held, value: Held) -> None:
        """State that this may be put into containers that are held."""
        if isinstance(owner, Variable):
            self.solver.need(self._variable("puts"), owner)
            self.once_it_matters(value, lambda: self.ask(owner))

    def contents(self, held: Held) -> Held:
        """Whatever is in these containers."""

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Container):
                self.flow(self._all_slots(each), result)
            elif isinstance(each, Instance):
                self._of_iterated(each.of, result)
                self.flow(self.contents(self.within(each.of)), result)

        return self.derived("contents", held, follow)

    def nodes(self, tree: Held) -> Held:
        """A tree and all that is in its containers, however deep."""
        found = Variable()
        self.flow(tree, found)
        self.flow(self.contents(found), found)
        return found

    def entries(self, held: Held) -> Held:
        """What a loop over these containers gives."""

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Container):
                given = self.slot(each, KEYS) if each.is_dict else self._all_slots(each)
                self.flow(given, result)
            elif isinstance(each, Instance):
                self._of_iterated(each.of, result)
                self.flow(self.entries(self.within(each.of)), result)

        return self.derived("entries", held, follow)

    def _of_iterated(self, of: Class, result: Variable) -> None:
        """What a loop over an object of a class of the program gives."""
        self._of_tuple(of, ANYWHERE, result)
        self.flow(self.entries(self._returned_by(of, "__iter__")), result)
        self.flow(self._returned_by(of, "__next__"), result)
        if not self.has(of, "__iter__"):
            # Otherwise it may be one with keys, which a loop gives.
            self.flow(self._returned_by(of, "__getitem__"), result)

    def entered(self, held: Held) -> Held:
        """What a ``with`` over these gives to its variable."""

        def follow(each: Object, result: Variable) -> None:
            entering = [
                self._returned_by(each.of, method)
                for method in _ENTER
                if isinstance(each, Instance) and self.has(each.of, method)
            ]
            for returned in entering:
                self.flow(returned, result)
            if not entering:
                self.solver.state(result, [each])

        return self.derived("entered", held, follow)

    def has(self, of: Class, method: str) -> bool:
        """Whether a class has a method of the program, be it inherited."""
        names = (
            getattr(each, "name", "") for one, _ in self.ancestry(of) for each in one.node.body
        )
        return method in names

    def _returned_by(self, of: Class, method: str) -> Variable:
        """What Python gets from a method that it calls by itself, as ``__getitem__``."""

        def prepare(result: Variable) -> None:
            def follow(each: Object) -> None:
                if isinstance(each, Function):
                    self.flow(self.returns(each.node, None), result)

            self.solver.watch(self.inherited(of, method), follow)

        return self.once(("returned by", of, method), prepare)

    def ancestry(self, of: Class) -> Iterator[tuple[Class, list[Object]]]:
        """A class and those that it is derived from, however far, each with what its bases are."""
        # Under one name there may be a class and what it is derived from.
        classes = [of]
        for each in classes:
            bases = [one for base in bases_of(each.node) for one in objects_of(self.of(base))]
            yield each, bases
            classes += [one for one in bases if isinstance(one, Class) and one not in classes]

    def all_fields(self, of: Class, annotation: str = "") -> list[str]:
        """The names that a class annotates, and those that it is derived from, in this order.

        Args:
          of: the class.
          annotation: what they are annotated with; "" for all.
        """
        classes = [each.node for each, _ in self.ancestry(of)]
        names = (name for each in classes[::-1] for name in fields_of(each, annotation))
        return [*dict.fromkeys(names)]

    @functools.cached_property
    def method_names(self) -> frozenset[str]:
        """The methods of the classes of the program that are no definitions of optimizers."""
        return frozenset(
            method.name
            for document, node in self.classes
            for method in node.body
            if isinstance(method, ast.FunctionDef)
            and not self._makes_definitions(Class(document, node))
        )

    def _makes_definitions(self, of: Class) -> bool:
        bases = (base for _, bases in self.ancestry(of) for base in bases)
        return any(isinstance(each, External) and known_names.is_base(each.name) for each in bases)

    def tuple_fields(self, of: Class) -> dict[str, Variable]:
        """The fields of the objects of a class in their order, if they are named tuples."""
        for each, bases in self.ancestry(of):
            if External(known_names.NAMED_TUPLE) in bases:
                return {name: self._of_instance(of, name) for name in fields_of(each.node)}
        return {}

    def _of_tuple(self, of: Class, key: Hashable, result: Variable) -> None:
        for index, held in enumerate(self.tuple_fields(of).values()):
            if key in (index, ANYWHERE):
                self.flow(held, result)

    def item(self, held: Held, key: Hashable) -> Held:
        """What is in a slot of these containers."""

        def follow(each: Object, result: Variable) -> None:
            match each:
                case Container() if key == ANYWHERE:
                    self.flow(self._all_slots(each), result)
                case Container():
                    self.flow(self.slot(each, key), result)
                    self.flow(self.slot(each, ANYWHERE), result)
                case Instance(of=of):
                    self._of_tuple(of, key, result)
                    self.flow(self._returned_by(of, "__getitem__"), result)
                    self.flow(self.item(self.within(of), key), result)
                case Stored():
                    self.solver.state(result, [each])
                case Entries(of=Instance(of=of)):
                    names = self.all_fields(of) if key == ANYWHERE else [key]
                    for name in names:
                        self.flow(self.state_dict(self._of_instance(of, str(name))), result)
                case Entries(of=Container() as container):
                    self.flow(self.state_dict(self.contents(frozenset({container}))), result)
                case HyperParams(site=site, part=None) if isinstance(key, int):
                    self.solver.state(result, [HyperParams(site, key)])
                case Class() if self._is_generic(each):
                    self.solver.state(result, [each])

        return self.derived(("item", key), held, follow)

    def _is_generic(self, of: Class) -> bool:
        """Whether brackets behind a class only say what is in its objects, as in ``Base[T]``."""
        bases = (base for _, bases in self.ancestry(of) for base in bases)
        return any(isinstance(each, External) and each.name in _GENERIC for each in bases)

    def state_dict(self, held: Held) -> Held:
        """The nested dicts that ``flax.serialization`` makes of these."""

        def follow(each: Object, result: Variable) -> None:
            match each:
                case Optimizer(site=site):
                    self.solver.state(result, [StateDict(site)])
                case Instance() | Container():
                    self.solver.state(result, [Entries(each)])

        return self.derived("state dict", held, follow)

    def flattened(self, held: Held) -> Held:
        """State dicts whose keys are paths."""

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, StateDict):
                self.solver.state(result, [StateDict(each.site, is_flat=True)])

        return self.derived("flattened", held, follow)

    def inside(self, objects: Objects) -> Objects:
        """These objects, what is in their fields and slots, and so on."""
        return self._inside(objects, lambda of: self._fields.get(of.node, ()))

    def data_inside(self, objects: Objects) -> Objects:
        """These objects, what is in slots of containers and annotated fields, and so on."""
        return self._inside(
            objects, lambda of: [self.field(of.node, name) for name in self.all_fields(of)]
        )

    def _inside(self, objects: Objects, fields: Callable[[Class], Sequence[Variable]]) -> Objects:
        seen: set[Object] = set()
        waiting = [*objects]
        while waiting:
            each = waiting.pop()
            if each not in seen:
                seen.add(each)
                if isinstance(each, Container):
                    waiting += self._all_slots(each).objects
                elif isinstance(each, Instance):
                    waiting += self.within(each.of).objects
                    for variable in fields(each.of):
                        waiting += variable.objects
        return frozenset(seen)


def _asked_instead(method: FunctionNode) -> str:
    """The field that ``__getattr__`` asks for all that its object has not; "" if it does more."""
    match method:
        case ast.FunctionDef(
            args=ast.arguments(args=[ast.arg(arg=owner), ast.arg(arg=asked)]),
            body=[
                *before,
                ast.Return(
                    value=ast.Call(
                        func=ast.Name(id="getattr"),
                        args=[ast.Attribute(value=ast.Name(id=of), attr=field), ast.Name(id=name)],
                    )
                ),
            ],
        ) if (of, name) == (owner, asked):
            # One that takes the name for another asks for something else.
            return "" if any(isinstance(each, ast.Assign) for each in before) else field
    return ""


def _foreign(name: str) -> Objects:
    """What is annotated with a class of flax.optim, wherever it comes from."""
    if known_names.is_optimizer(name):
        return frozenset({Optimizer(None)})
    return frozenset({Definition(None)}) if known_names.is_base_itself(name) else NOTHING
