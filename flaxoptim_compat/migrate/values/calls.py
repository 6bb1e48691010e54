"""The values that a call returns, and those that it gives to the function that it calls."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple

from flaxoptim_compat.migrate.names.dotted import name_asked
from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    NOTHING,
    ONE,
    Class,
    Container,
    Create,
    Definition,
    External,
    Function,
    Instance,
    Object,
    Objects,
    Optimizer,
    Partial,
    Plain,
    Site,
    StateDict,
    Stored,
    Transformed,
    Traversal,
    Unknown,
    external,
    is_dict,
    key_of,
)

# Methods of an optimizer, or of a DualTrainState, that return one.
_RETURN_THEMSELVES = frozenset({"apply_gradient", "apply_gradients", "replace", "restore_state"})
# As many arguments as `*` may stand for, with those behind it.
MOST_SLOTS = 16
# So many functions that are made of others may be in each other.
_MOST_DEEP = 12


class Call(NamedTuple):
    """A call in a program: the file, the expression, and what the file imports by which names."""

    document: Document
    node: ast.Call
    modules: Mapping[str, Document]

    @property
    def unknown(self) -> Objects:
        """A result that may be anything, as the only value."""
        return frozenset({Unknown(self.document, self.node)})


@dataclasses.dataclass
class Given:
    """The arguments of a call.

    Args:
      positional: by position.
      named: by name.
      rest_named: the dicts behind two stars.
    """

    positional: list[Objects] = dataclasses.field(default_factory=list)
    named: dict[str, Objects] = dataclasses.field(default_factory=dict)
    rest_named: Objects = NOTHING

    def __getitem__(self, place: tuple[int, str]) -> Objects:
        index, name = place
        if index < len(self.positional):
            return self.positional[index]
        return self.named.get(name, NOTHING)

    def behind(self, count: int) -> Given:
        """The arguments without the first ones by position."""
        return dataclasses.replace(self, positional=self.positional[count:])

    @property
    def all(self) -> Objects:
        """The values of all arguments, those of ``*`` and ``**`` among them."""
        return self.rest_named.union(*self.positional, *self.named.values())


class Calls:
    """Finds the results of calls, and gives their arguments to the functions that they call.

    Args:
      memory: what objects have in them.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._cells = memory.cells
        self.sites: dict[ast.Call, Site] = {}
        self._depth = 0

    def result(self, call: Call, functions: Objects, given: Given) -> Objects:
        """The values that a call returns; each function that it calls is given its arguments.

        Args:
          call: where it stands.
          functions: what is called.
          given: the arguments.
        """
        if self._depth > _MOST_DEEP:
            return NOTHING
        self._depth += 1
        found = NOTHING.union(*(self._call(call, each, given) for each in functions))
        self._depth -= 1
        return found

    def _call(self, call: Call, function: Object, given: Given) -> Objects:
        match function:
            case Create(site=site):
                return frozenset({Optimizer(site)})
            case Function():
                return self._function(function, given)
            case Class():
                return self._construct(call, function, given)
            case Instance(of=of):
                return self.result(call, self._memory.member(of, "__call__", function), given)
            case Partial(node=node):
                return self.result(call, self.bound_by(function), self._with_bound(node, given))
            case Transformed():
                self.result(call, self.bound_by(function), given)
                # The gradients of an optimizer are in an optimizer.
                optimizers = [each for each in given[0, ""] if isinstance(each, Optimizer)]
                if optimizers:
                    made = self._memory.put(Container(call.node), ANYWHERE, frozenset(optimizers))
                    return made.union(optimizers)
            case External(name=name):
                return self._of_package(call, name, given)
            case Unknown():
                return call.unknown
        return NOTHING

    # Functions and classes of the program

    def _function(self, function: Function, given: Given) -> Objects:
        memory, node = self._memory, function.node
        arguments, names = node.args, function.parameters
        for name in function.optional:
            memory.give(node, name, NOTHING)
        for index, objects in enumerate(given.positional):
            if index < len(names):
                memory.give(node, names[index], objects)
            elif arguments.vararg is not None:
                self._rest(node, arguments.vararg, index - len(names), objects)
        every = {each.arg for each in parameters(arguments)}
        for name, objects in given.named.items():
            if name in every:
                memory.give(node, name, objects)
            elif arguments.kwarg is not None:
                self._rest(node, arguments.kwarg, name, objects)
        if given.rest_named:
            taken = [*names[: len(given.positional)], *given.named]
            for name in [*names, *(each.arg for each in arguments.kwonlyargs)]:
                if name not in taken:
                    memory.give(node, name, memory.item(given.rest_named, name))
            if arguments.kwarg is not None:
                inside = memory.contents(given.rest_named)
                self._rest(node, arguments.kwarg, ANYWHERE, inside)
        return self._returned_here(function, given)

    def _returned_here(self, function: Function, given: Given) -> Objects:
        """The values that one call returns: of the optimizers that calls give, only its own.

        Of a call that is not seen to give one, all: it may do so by a value that is not followed.
        """
        memory, returned = self._memory, self._memory.returned(function)
        optimizers = [each for each in returned if isinstance(each, Optimizer)]
        own = memory.inside(given.all) if optimizers else NOTHING
        kinds = {*map(type, own)}
        if Optimizer not in kinds or Unknown in kinds:
            return returned
        names = (each.arg for each in parameters(function.node.args))
        every = NOTHING.union(*(self._cells.read(("given", function.node, name)) for name in names))
        return returned - (every - own).intersection(optimizers)

    def _rest(self, node: ast.AST, taker: ast.arg, key: Hashable, objects: Objects) -> None:
        """Give a function something that its ``*`` or ``**`` takes."""
        is_dict = taker is getattr(node, "args").kwarg  # noqa: B009
        rest = self._memory.put(Container(taker, is_dict), key, objects)
        self._memory.give(node, taker.arg, rest)

    def _construct(self, call: Call, made: Class, given: Given) -> Objects:
        memory, instance = self._memory, Instance(made)
        if memory.makes_definitions(made):
            self.result(call, memory.member(made, "__init__", instance), given)
            return self.define(call, "")
        if memory.has_method(made, "__init__"):
            self.result(call, memory.member(made, "__init__", instance), given)
            return frozenset({instance})
        self._take_fields(instance, made, given)
        return frozenset({instance})

    def _take_fields(self, instance: Instance, of: Class, given: Given) -> None:
        """Let the fields of a dataclass hold what is given for them."""
        memory, owner, fields = self._memory, frozenset({instance}), self._memory.all_fields(of)
        named = dict(zip(fields, given.positional, strict=False)) | given.named
        if given.rest_named:
            for name in fields:
                named.setdefault(name, memory.item(given.rest_named, name))
        for name, objects in named.items():
            memory.store(owner, name, objects)

    def define(self, call: Call, name: str) -> Objects:
        """The definition that a call makes.

        Args:
          call: the call.
          name: the name of the class; "" if it is not known.
        """
        site = self.sites.setdefault(call.node, Site(call.document, call.node))
        if name:
            site.names.add(name)
        return frozenset({Definition(site)})

    # Functions of packages

    def _of_package(self, call: Call, name: str, given: Given) -> Objects:
        does = _DOES.get(name)
        if does is not None:
            return does(self, call, name, given)
        memory = self._memory
        if known_names.is_definition(name):
            return self.define(call, known_names.legacy_name(name) or "")
        if name == known_names.COMPUTED:
            return self.define(call, "")
        if known_names.legacy_name(name) == "from_train_state":
            return external(known_names.BRIDGED)
        if known_names.is_traversal(name):
            return frozenset({Traversal(call.document, call.node)})
        if known_names.is_optimizer(name):
            return frozenset({Optimizer(Site(call.document, call.node))})
        # What it calls gets no optimizers, unless it is given them.
        everything = given.all
        inside = memory.inside(everything, only_data=True)
        has_optimizers = any(isinstance(each, Optimizer) for each in inside)
        if known_names.is_number(name) and not has_optimizers:
            return frozenset({ONE})
        if known_names.makes_none(name):
            returned: Objects = NOTHING
            for each in everything:
                if isinstance(each, Function) and not has_optimizers:
                    for parameter in each.parameters:
                        memory.give(each.node, parameter, NOTHING)
                    returned |= memory.returned(each)
            if has_optimizers and "." in name and name not in known_names.SAVING:
                return self._perhaps(call, inside)
            if any(isinstance(each, Optimizer) for each in returned):
                return self._perhaps(call, returned)  # such as `map`
            return NOTHING
        return call.unknown

    def _perhaps(self, call: Call, inside: Objects) -> Objects:
        """The optimizers that a function is given, or what holds them, or something else."""
        perhaps = call.unknown.union(each for each in inside if isinstance(each, Optimizer))
        return perhaps | self._memory.put(Container(call.node), ANYWHERE, perhaps)

    def _returned(self, call: Call, name: str, given: Given) -> Objects:
        """One of the arguments, perhaps with other arrays in it."""
        found = given[known_names.RETURNS_ARGUMENT[name]]
        for each in found if name == "dataclasses.replace" else ():
            if isinstance(each, Instance):
                self._take_fields(each, each.of, given.behind(1))
        return found

    def _restored(self, call: Call, name: str, given: Given) -> Objects:
        """The nested dicts of a checkpoint, or the argument into which they are restored."""
        if known_names.returns_stored(name, call.node):
            dicts = (each for each in given.all if isinstance(each, StateDict) or is_dict(each))
            return frozenset({Stored(), *dicts})
        return given[known_names.RETURNS_ARGUMENT[name]]

    def _unpickled(self, call: Call, name: str, given: Given) -> Objects:
        """An optimizer, as it was pickled, or anything else."""
        return frozenset({Unknown(call.document, call.node, is_unpickled=True)})

    def _mapped(self, call: Call, name: str, given: Given) -> Objects:
        """A tree like those that are mapped."""
        functions, *trees = given.positional or [NOTHING]
        self.result(call, functions, Given([NOTHING for _ in trees]))  # arrays
        return NOTHING.union(*trees)

    def _partial(self, call: Call, name: str, given: Given) -> Objects:
        """A function with some of its arguments; of ``jax.jit`` as a decorator, itself."""
        return self._bind(Partial(call.node), call.node, given)

    def _transformed(self, call: Call, name: str, given: Given) -> Objects:
        """A function that calls the one it is made of."""
        return self._bind(Transformed(call.node), call.node, Given(given.positional[:1]))

    def _bind(self, made: Object, node: ast.Call, given: Given) -> Objects:
        """Keep the function, and what it is given first."""
        for index, objects in enumerate(given.positional):
            self._cells.write(("bound", node, index), objects)
        for name, objects in given.named.items():
            self._cells.write(("bound", node, name), objects)
        self._cells.write(("bound", node, "**"), given.rest_named)
        return frozenset({made})

    def bound_by(self, each: Object) -> Objects:
        """The function that another one is made of."""
        if isinstance(each, Partial | Transformed):
            return self._cells.read(("bound", each.node, 0))
        return NOTHING

    def _with_bound(self, node: ast.Call, given: Given) -> Given:
        """The arguments that a function has been given before, and then these."""

        def bound(place: Hashable) -> Objects:
            return self._cells.read(("bound", node, place))

        first = first_star(node)
        positional = [bound(index) for index in range(1, first)]
        if first == len(node.args):
            positional += given.positional
        else:  # somewhere behind the star
            slots = range(max(first, 1), first + MOST_SLOTS)
            positional += [bound(index).union(*given.positional) for index in slots]
        named = {each.arg: bound(each.arg) for each in node.keywords if each.arg is not None}
        return Given(positional, named | given.named, bound("**") | given.rest_named)

    def _control_flow(self, call: Call, name: str, given: Given) -> Objects:
        """Functions that call a function, also on what it returned."""
        memory, positional = self._memory, given.positional

        def calls(functions: Objects, *arguments: Objects) -> Objects:
            return self.result(call, functions, Given([*arguments]))

        match name.rpartition(".")[2], positional:
            case "fori_loop", [_, _, body, start, *_]:
                carry = start | calls(body, NOTHING, start)
                return carry | calls(body, NOTHING, carry)
            case "while_loop", [condition, body, start, *_]:
                carry = start | calls(body, start)
                calls(condition, carry)
                return carry | calls(body, carry)
            case "cond", [_, first, second, *operands]:
                operands += [given.named["operand"]] if "operand" in given.named else []
                found = calls(first, *operands) | calls(second, *operands)
                return found
            case "switch", [_, branches, *operands]:
                return calls(memory.contents(branches), *operands)
            case "scan", [body, start, *over]:
                xs = over[0] if over else given.named.get("xs", NOTHING)
                made = Container(call.node)
                carry = start | memory.item(calls(body, start, xs), 0)
                returned = calls(body, carry, xs)
                memory.put(made, 1, memory.item(returned, 1))
                return memory.put(made, 0, carry | memory.item(returned, 0))
            case "reduce", [function, over, *start]:
                entries = memory.entries(over)
                carry = start[0] if start else entries
                carry |= calls(function, carry, entries)
                return carry | calls(function, carry, entries)
            case _, [functions, *_]:
                return self.result(call, functions, given.behind(1))
        return NOTHING

    def _container(self, call: Call, name: str, given: Given) -> Objects:
        """The result of a function that makes or reads containers, such as ``zip`` or ``next``."""
        memory, made = self._memory, Container(call.node)
        first = given.positional[0] if given.positional else NOTHING
        match name:
            case "list" | "tuple" | "iter" if first and not any(map(is_dict, first)):
                return first
            case "next":
                return memory.entries(first)
            case "enumerate":
                pair = memory.put(Container(call.node.func), 1, memory.entries(first))
                return memory.put(made, ANYWHERE, pair)
            case "zip":
                row = Container(call.node.func)
                for index, each in enumerate(given.positional):
                    memory.put(row, index, memory.entries(each))
                return memory.put(made, ANYWHERE, frozenset({row}))
        entries = memory.entries(first)
        self.result(call, given.named.get("key", NOTHING), Given([entries]))
        return memory.put(made, ANYWHERE, entries)

    def _dict(self, call: Call, name: str, given: Given) -> Objects:
        """A dict of what a call is given by name, of other dicts, or of pairs."""
        memory, made = self._memory, Container(call.node, is_dict=True)
        first = given.positional[0] if given.positional else NOTHING
        for key, objects in given.named.items():
            memory.put(made, key, objects)
        memory.put(made, ANYWHERE, memory.contents(given.rest_named))
        return self._taken_in(made, first) | frozenset(filter(is_dict, first))

    def _taken_in(self, made: Container, of: Objects) -> Objects:
        """A dict, once it has what is in others, or in pairs of keys and values."""
        memory, dicts = self._memory, frozenset(filter(is_dict, of))
        pairs = memory.entries(of - dicts)
        return memory.put(made, ANYWHERE, memory.contents(dicts) | memory.item(pairs, 1))

    def _taken_apart(self, call: Call, name: str, given: Given) -> Objects:
        """The leaves, and a structure, which stands for the tree."""
        made = Container(call.node)
        if name == "jax.flatten_util.ravel_pytree":
            return self._memory.put(made, 0, frozenset({ONE}))
        return self._memory.put(made, 1, given[0, "tree"])

    def _state_dict(self, call: Call, name: str, given: Given) -> Objects:
        """The nested dicts of an optimizer, or of those in a dict, or the bytes of these dicts."""
        memory, target = self._memory, given[0, "target"]
        found = _state_dicts(target)
        for each in target:
            if isinstance(each, Container) and isinstance(each.node, ast.Dict):
                made = Container(call.node, is_dict=True)
                for key in map(key_of, filter(None, each.node.keys)):
                    entry = _state_dicts(memory.item(frozenset({each}), key))
                    found |= memory.put(made, key, entry)
        return found

    def _get_field(self, call: Call, name: str, given: Given) -> Objects:
        memory = self._memory
        if len(call.node.args) < 2 or not given.positional:
            return NOTHING
        owners = given.positional[0]
        found = NOTHING.union(*given.positional[2:3])
        if asked := name_asked(call.node):
            return found | memory.attribute(owners, asked, call.modules)
        if any(isinstance(each, External) and known_names.is_package(each.name) for each in owners):
            found |= external(known_names.COMPUTED)
        for owner in owners:
            if isinstance(owner, Instance) and memory.is_data(owner.of):
                found |= self._cells.read(("items", owner.of.node, ""))
            elif isinstance(owner, Instance | Class | Unknown):
                found |= call.unknown
        return found

    # Methods of objects that are no functions of the program

    def method(self, call: Call, owner: Object, method: str, given: Given) -> Objects:
        """The values that a method call returns, such as ``optimizer.replicate()``."""
        memory = self._memory
        match owner:
            case Optimizer() if method in _RETURN_THEMSELVES:
                return frozenset({owner})
            case Optimizer() if method == "optimize":
                return memory.put(Container(call.node), 0, frozenset({owner}))
            case Optimizer(site=site) if method == "replicate":
                return frozenset({Optimizer(site, known_names.axis_of(call.node))})
            case Optimizer(site=site) if method == "unreplicate":
                return frozenset({Optimizer(site)})
            case Optimizer(site=site) if method == "state_dict":
                return frozenset({StateDict(site)})
            case Instance(of=of) if method in ("replace", "_replace"):
                self._take_fields(owner, of, given)
                return frozenset({owner})
            case Container():
                return self._of_container(call, owner, method, given)
            case Unknown() if method == "replace":
                for name, objects in given.named.items():
                    memory.store(frozenset({owner}), name, objects)
            case Unknown() if method in known_names.RESTORE_METHODS:
                return given.all
            case Plain(kind="one"):
                return frozenset({ONE})
        return NOTHING

    def _of_container(self, call: Call, owner: Container, method: str, given: Given) -> Objects:
        memory, holder = self._memory, frozenset({owner})
        first = given.positional[0] if given.positional else NOTHING
        match method:
            case "append" | "add":
                memory.put(owner, ANYWHERE, first)
            case "insert":
                memory.put(owner, ANYWHERE, NOTHING.union(*given.positional[1:2]))
            case "extend":
                memory.put(owner, ANYWHERE, memory.entries(first))
            case "update":
                self._taken_in(owner, first | given.rest_named)
                for key, objects in given.named.items():
                    memory.put(owner, key, objects)
            case "get" | "pop":
                at: Hashable = _key(call.node) if owner.is_dict else ANYWHERE
                return memory.item(holder, at).union(*given.positional[1:2])
            case "values":
                return memory.put(Container(call.node), ANYWHERE, memory.contents(holder))
            case "items":
                pair = memory.put(Container(call.node.func), 1, memory.contents(holder))
                return memory.put(Container(call.node), ANYWHERE, pair)
            case "copy":
                return holder
        return NOTHING


def first_star(call: ast.Call) -> int:
    """The place of the first argument with a star, or the one behind all if none has any."""
    stars = (index for index, each in enumerate(call.args) if isinstance(each, ast.Starred))
    return next(stars, len(call.args))


def _state_dicts(objects: Objects) -> Objects:
    """The nested dicts that ``flax.serialization`` makes of the optimizers among these."""
    return frozenset(StateDict(each.site) for each in objects if isinstance(each, Optimizer))


def _key(call: ast.Call) -> Hashable:
    """The key that a method of a dict is given first, as far as it is known."""
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) else ANYWHERE


_Does = Callable[[Calls, Call, str, Given], Objects]
_DOES: dict[str, _Does] = {
    name: does
    for names, does in (
        (known_names.RETURNS_ARGUMENT, Calls._returned),
        (known_names.RESTORING | known_names.RETURN_STORED, Calls._restored),
        (known_names.UNPICKLE, Calls._unpickled),
        (known_names.MAPS_TREES, Calls._mapped),
        (known_names.PARTIALS, Calls._partial),
        (known_names.CALLS_LATER, Calls._transformed),
        (known_names.CONTROL_FLOW, Calls._control_flow),
        (known_names.CONTAINER_FUNCTIONS, Calls._container),
        (known_names.MAKE_DICTS, Calls._dict),
        (known_names.FLATTEN, Calls._taken_apart),
        (["flax.serialization.to_bytes", "flax.serialization.to_state_dict"], Calls._state_dict),
        # Its keys are paths, and what it returns holds no optimizer.
        (["flax.traverse_util.flatten_dict"], lambda *given: NOTHING),
        (["getattr"], Calls._get_field),
    )
    for name in names
}


def is_followed(name: str) -> bool:
    """True if it is known what a function of a package does with the optimizers it is given."""
    return name in _DOES
