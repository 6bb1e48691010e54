"""What functions of packages return, and what they do with the functions that they are given."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Protocol

from flaxoptim_compat.migrate.names.dotted import last_name, names_asked
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import files_by_name
from flaxoptim_compat.migrate.values import containers, known_names
from flaxoptim_compat.migrate.values.arguments import MOST_SLOTS, Call, Given
from flaxoptim_compat.migrate.values.containers import Containers
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Class,
    Container,
    External,
    File,
    Instance,
    Object,
    Optimizer,
    Partial,
    Site,
    Stored,
    Transformed,
    Traversal,
)
from flaxoptim_compat.migrate.values.solver import Variable
from flaxoptim_compat.migrate.values.variables import Held

# By a name that only shows when the program runs, one of more files may be imported.
_MOST_FILES = 10


class Caller(Protocol):
    """Who calls what the program has itself."""

    def called(self, call: Call, function: Held, *arguments: Held) -> Variable:
        """What a function returns that is called with these."""

    def called_with(self, call: Call, function: Held, given: Given) -> Variable:
        """The same, with arguments by name."""

    def construct(self, call: Call, made: Class, given: Given, result: Variable) -> None:
        """Make an object of a class."""

    def define(self, call: Call, name: str, result: Variable) -> None:
        """Make a definition, of the class of this name."""

    def method(
        self, call: Call, owner: Object, method: str, given: Given, result: Variable
    ) -> None:
        """Call a method of an object that is no function of the program."""

    def bind(self, made: Object, function: Held, given: Given) -> None:
        """Say which function one that is made of it calls, and what it gives to that first."""


class PackageFunctions:
    """What they mean.

    Args:
      memory: the variables.
      caller: calls what the program has itself.
      containers: does what Python's functions do with containers.
      documents: the files of the program.
    """

    def __init__(
        self,
        memory: Memory,
        caller: Caller,
        containers: Containers,
        documents: Sequence[Document],
    ) -> None:
        self._memory = memory
        self._caller = caller
        self._containers = containers
        self._documents = documents
        self.has_traversals = False
        # What calls of `collections.namedtuple` and the like make.
        self._classes: dict[ast.Call, ast.ClassDef] = {}

    def call(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """Call one that matters.

        Args:
          call: the call.
          name: the full name of the function.
          given: its arguments.
          result: what the call holds.
        """
        if (does := _DOES.get(name)) is not None:
            does(self, call, name, given, result)
        else:
            self._of_flax_optim(call, name, result)

    def _of_flax_optim(self, call: Call, name: str, result: Variable) -> None:
        add = self._memory.solver.state
        if known_names.is_definition(name):
            self._caller.define(call, known_names.legacy_name(name) or "", result)
        elif name == known_names.COMPUTED:
            self._caller.define(call, "", result)
        elif known_names.legacy_name(name) == "from_train_state":
            add(result, [External(known_names.BRIDGED)])
        elif known_names.is_traversal(name):
            self.has_traversals = True
            add(result, [Traversal(call.document, call.node)])
        elif known_names.is_optimizer(name):
            add(result, [Optimizer(Site(call.document, call.node, ""))])

    def _returned(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """One of the arguments, perhaps with other arrays in it."""
        memory, (index, keyword) = self._memory, known_names.RETURNS_ARGUMENT[name]
        value = given.positional[index] if index < len(given.positional) else None
        value = dict(given.named).get(keyword) if value is None else value
        if value is not None:
            memory.flow(value, result)
            if name == "dataclasses.replace":
                memory.store_fields(value, given.named)

    def _restored(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """What a checkpoint has, or an argument in which that is put."""
        if known_names.returns_stored(name, call.node):
            self._memory.solver.state(result, [Stored()])
        else:
            self._returned(call, name, given, result)

    def _read(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """What the program wrote, whatever it was."""
        if _makes_state_dicts(call.document):
            self._memory.solver.state(result, [Stored()])

    def _made_field(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """What a field of a dataclass has to begin with."""
        for field, value in given.named:
            if field == "default":
                self._memory.flow(value, result)
            elif field == "default_factory":
                self._memory.flow(self._caller.called(call, value), result)

    def _named_tuple(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """The class that ``collections.namedtuple`` makes, as if it were written out."""
        if names := _field_names(call.node):
            made = self._written_out(call, known_names.NAMED_TUPLE, names)
            self._memory.solver.state(result, [made])

    def _imported(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """The files of the program that may be imported by a name; none if they are many."""
        found = files_by_name(call.node, call.document, self._documents)
        # Without a list of names, `__import__` gives the package around.
        is_whole = name != "__import__" or len(call.node.args) > 3 or bool(call.node.keywords)
        if is_whole and len(found) <= _MOST_FILES:
            self._memory.solver.state(result, map(File, found))

    def _namespace(self, call: Call, name: str, given: Given, result: Variable) -> None:
        self._memory.solver.state(result, [self.namespace(call, given)])

    def namespace(self, call: Call, given: Given) -> Object:
        """What ``types.SimpleNamespace`` makes: the object of a class that is its alone."""
        names = [name for name, _ in given.named if name is not None]
        made = Instance(self._written_out(call, "object", names))
        self._memory.store_fields(frozenset({made}), given.named)
        return made

    def _attribute_dict(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A dict whose entries are attributes: the object of a class that is its alone."""
        made = self._written_out(call, "dict", [])
        self._caller.construct(call, made, given, result)
        self._memory.solver.state(result, [Instance(made)])

    def _written_out(self, call: Call, base: str, fields: list[str]) -> Class:
        """The class that a call makes, as if it were written out with these fields."""
        if call.node not in self._classes:
            derived_from = ast.Name(base.rpartition(".")[2], ast.Load())
            self._memory.note(derived_from, frozenset({External(base)}))
            body: list[ast.stmt] = [
                ast.AnnAssign(ast.Name(each, ast.Store()), ast.Name("object", ast.Load()), None, 1)
                for each in fields
            ]
            name = last_name(call.node.func)
            node = ast.ClassDef(name, [derived_from], [], body or [ast.Pass()], [])
            self._classes[call.node] = ast.fix_missing_locations(ast.copy_location(node, call.node))
            self._memory.classes.append((call.document, node))
        return Class(call.document, self._classes[call.node])

    def _pool(self, call: Call, name: str, given: Given, result: Variable) -> None:
        self._memory.solver.state(result, [External(known_names.POOL)])

    def _container(self, call: Call, name: str, given: Given, result: Variable) -> None:
        self._containers.function(call, name, given, result)

    def _unbound(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A method of a container that is called as a function."""
        memory, method = self._memory, name.rpartition(".")[2]
        rest = Given(given.positional[1:], given.named)
        for owner in given.positional[:1]:
            memory.ask(owner)
            memory.each(owner, lambda each: self._caller.method(call, each, method, rest, result))

    def _state_dict(self, call: Call, name: str, given: Given, result: Variable) -> None:
        for value in given.positional[:1]:
            self._memory.flow(self._memory.state_dict(value), result)

    def _flattened(self, call: Call, name: str, given: Given, result: Variable) -> None:
        for value in given.positional[:1]:
            self._memory.flow(self._memory.flattened(value), result)
            self._containers.give(call, self._memory.nodes(value), result, is_dict=True)

    def _mapped(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A tree like those that are mapped."""
        memory, (function, *trees) = self._memory, given.positional or [NOTHING]
        for value in trees:
            memory.flow(value, result)
        for is_leaf in (value for each, value in given.named if each == "is_leaf"):
            leaves = [memory.nodes(each) for each in trees]
            memory.flow(self._caller.called(call, function, *leaves), result)
            self._caller.called(call, is_leaf, *leaves[:1])

    def _partial(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A function with some of its arguments; of ``jax.jit`` as a decorator, itself."""
        bound = Given(given.positional[1:], given.named)
        self._bind(Partial(call.node, call.context), given.positional, bound, result)

    def _transformed(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A function that calls the one it is made of."""
        self._bind(Transformed(call.node, call.context), given.positional, Given([], []), result)

    def _bind(
        self, made: Object, functions: Sequence[Held], bound: Given, result: Variable
    ) -> None:
        memory = self._memory
        for function in functions[:1]:
            self._caller.bind(made, function, bound)
            for value in (function, *bound.positional, *(value for _, value in bound.named)):
                memory.once_it_matters(value, lambda: memory.solver.let_matter(made))
            memory.solver.state(result, [made])

    def _class(self, call: Call, name: str, given: Given, result: Variable) -> None:
        if len(given.positional) == 1:
            self._memory.flow(self._memory.attribute(given.positional[0], "__class__", {}), result)

    def _class_method(self, call: Call, name: str, given: Given, result: Variable) -> None:
        for value in given.positional:
            self._memory.flow(self._memory.bound(value, to_class=True), result)

    def _property(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """What it is, the body of its class says."""

    def _get_field(self, call: Call, name: str, given: Given, result: Variable) -> None:
        memory = self._memory
        if len(call.node.args) < 2 or not given.positional:
            return
        owner = given.positional[0]
        names = names_asked(call.document, call.node)
        for each in names:
            memory.flow(memory.attribute(owner, each, {}), result)
        for default in given.positional[2:3]:
            memory.flow(default, result)

        def follow(each: Object) -> None:
            if isinstance(each, External) and known_names.is_package(each.name):
                memory.solver.state(result, [External(known_names.COMPUTED)])

        if not names:
            memory.each(owner, follow)

    def _set_field(self, call: Call, name: str, given: Given, result: Variable) -> None:
        if len(call.node.args) == len(given.positional) == 3:
            for each in names_asked(call.document, call.node):
                self._memory.store_field(given.positional[0], each, given.positional[2])

    def _later(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A function that is called in another thread, or when the program ends."""
        memory, positional = self._memory, given.positional
        (index, keyword), place = known_names.CALL_LATER[name]
        named = dict(given.named)
        function = positional[index] if index < len(positional) else named.pop(keyword, NOTHING)
        rest = Given(positional[index + 1 :], [*named.items()])
        if place is not None:
            arguments = memory.joined([*positional[place : place + 1], named.get("args", NOTHING)])
            by_name = memory.joined([*positional[place + 1 :], named.get("kwargs", NOTHING)])
            several = [memory.item(arguments, slot) for slot in range(MOST_SLOTS)]
            rest = Given(several, [(None, by_name)])
        returned = self._caller.called_with(call, function, rest)
        if name == "asyncio.to_thread":
            memory.flow(returned, result)
        elif name.startswith(known_names.POOL):
            self._containers.give(call, returned, result)

    def _control_flow(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """Functions that call a function again and again, on what it returns."""
        memory = self._memory
        calls = functools.partial(self._caller.called, call)
        match name, given.positional:
            case "jax.lax.fori_loop", [_, _, body, start, *_]:
                memory.flow(start, result)
                memory.flow(calls(body, NOTHING, result), result)
            case "jax.eval_shape", [function, *arguments]:
                memory.flow(calls(function, *arguments), result)
            case "jax.lax.while_loop", [condition, body, start, *_]:
                memory.flow(start, result)
                calls(condition, result)
                memory.flow(calls(body, result), result)
            case "jax.lax.cond", [_, first, second, *operands]:
                operands += [value for name, value in given.named if name == "operand"]
                memory.flow(calls(first, *operands), result)
                memory.flow(calls(second, *operands), result)
                if len(operands) == 2:
                    # Before jax 0.2.10 each branch had an operand of its own in front of it.
                    memory.flow(calls(second, first), result)
                    memory.flow(calls(operands[1], operands[0]), result)
            case "jax.lax.switch", [_, branches, *operands]:
                memory.flow(calls(memory.contents(branches), *operands), result)
            case _, [function, *arguments] if name in known_names.CALL_BACK:
                operands = arguments[known_names.CALL_BACK[name] - 1 :]
                memory.flow(calls(function, *operands), result)
                if name.endswith("id_tap"):
                    named = [value for each, value in given.named if each == "result"]
                    memory.flow(memory.joined(named or operands), result)
            case "jax.lax.map", [function, over, *_]:
                memory.flow(calls(function, over), result)
            case "jax.lax.scan", [body, start, *over]:
                carry = Variable()
                memory.flow(start, carry)
                over += [value for name, value in given.named if name == "xs"]
                slices = over[0] if over else NOTHING
                returned = calls(body, carry, slices)
                memory.flow(memory.item(returned, 0), carry)
                made = Container(call.node, call.context)
                memory.put(made, 0, carry)
                memory.put(made, 1, memory.item(returned, 1))
                memory.flow(frozenset({made}), result)


_Does = Callable[[PackageFunctions, Call, str, Given, Variable], None]
_DOES: dict[str, _Does] = {
    name: does
    for names, does in (
        (known_names.RETURNS_ARGUMENT, PackageFunctions._returned),
        (
            [*known_names.RESTORING, "flax.serialization.msgpack_restore"],
            PackageFunctions._restored,
        ),
        (known_names.READ_ANYTHING, PackageFunctions._read),
        (known_names.MAKE_FIELDS, PackageFunctions._made_field),
        ([known_names.MAKES_NAMED_TUPLE], PackageFunctions._named_tuple),
        (known_names.IMPORT_BY_NAME, PackageFunctions._imported),
        (known_names.MAKE_NAMESPACES, PackageFunctions._namespace),
        (known_names.ATTRIBUTE_DICTS, PackageFunctions._attribute_dict),
        (known_names.POOLS, PackageFunctions._pool),
        (known_names.CALL_LATER, PackageFunctions._later),
        (containers.FUNCTIONS, PackageFunctions._container),
        (containers.UNBOUND, PackageFunctions._unbound),
        (["flax.serialization.to_state_dict"], PackageFunctions._state_dict),
        (["flax.traverse_util.flatten_dict"], PackageFunctions._flattened),
        (known_names.MAPS_TREES, PackageFunctions._mapped),
        (known_names.PARTIALS, PackageFunctions._partial),
        (known_names.CALLS_LATER, PackageFunctions._transformed),
        (["type"], PackageFunctions._class),
        (["classmethod"], PackageFunctions._class_method),
        (["property"], PackageFunctions._property),
        (known_names.GET_FIELD, PackageFunctions._get_field),
        (known_names.SET_FIELD, PackageFunctions._set_field),
        (known_names.CALL_BACK, PackageFunctions._control_flow),
        (
            (
                "jax.eval_shape",
                "jax.lax.cond",
                "jax.lax.fori_loop",
                "jax.lax.map",
                "jax.lax.scan",
                "jax.lax.switch",
                "jax.lax.while_loop",
            ),
            PackageFunctions._control_flow,
        ),
    )
    for name in names
}


def _field_names(call: ast.Call) -> list[str]:
    """The fields that a call of ``collections.namedtuple`` writes out; none if it does not."""
    match call.args:
        case [_, ast.Constant(value=str(text))]:
            return text.replace(",", " ").split()
        case [_, ast.List(elts=names) | ast.Tuple(elts=names)]:
            return [str(each.value) for each in names if isinstance(each, ast.Constant)]
    return []


def _makes_state_dicts(document: Document) -> bool:
    """Whether a file makes nested dicts of something, as those do that write them."""
    return any(
        last_name(each.func) in ("state_dict", "to_state_dict")
        for each in document.of_kind(ast.Call)
    )


def matters(name: str) -> bool:
    """Whether a function of a package does something with optimizers that is known here."""
    return (
        name in _DOES or known_names.legacy_name(name) is not None or known_names.is_traversal(name)
    )
