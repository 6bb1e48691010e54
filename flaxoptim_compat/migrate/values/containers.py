"""What Python's own functions, methods and patterns do with containers, and with what is in them.

An iterator is taken for a container of what it gives.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.arguments import Call, Given
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    NOTHING,
    SENT,
    Container,
    External,
    Instance,
    Object,
    key_of,
)
from flaxoptim_compat.migrate.values.solver import Variable
from flaxoptim_compat.migrate.values.variables import Held

_QUEUES = frozenset({"queue.LifoQueue", "queue.PriorityQueue", "queue.Queue", "queue.SimpleQueue"})
# What they are given is what they return: its entries keep their order.
_SAME = frozenset(
    {"collections.deque", "iter", "itertools.cycle", "itertools.islice", "list", "tuple"}
)
# They return a container of the entries of what they are given.
_IN_ANOTHER_ORDER = frozenset(
    {
        "concurrent.futures.as_completed",
        "frozenset",
        "random.sample",
        "reversed",
        "set",
        "sorted",
    }
)
# They return one entry.
_ONE_ENTRY = frozenset({"next", "random.choice"})
_BEST = frozenset({"max", "min"})
_DICTS = frozenset(
    {"collections.ChainMap", "collections.OrderedDict", "collections.UserDict", "dict"}
)
_ZIPS = frozenset({"itertools.zip_longest", "zip"})
_FLATTEN = frozenset({"jax.tree.flatten", "jax.tree_flatten", "jax.tree_util.tree_flatten"})
_MADE_EMPTY = frozenset({"collections.deque", "dict", "list", "set"})
FUNCTIONS = frozenset(
    {
        *_QUEUES,
        *_SAME,
        *_IN_ANOTHER_ORDER,
        *_ONE_ENTRY,
        *_BEST,
        *_DICTS,
        *_ZIPS,
        *_FLATTEN,
        known_names.POOL_MAP,
        "collections.defaultdict",
        "dict.fromkeys",
        "enumerate",
        "filter",
        "functools.reduce",
        "itertools.chain",
        "itertools.chain.from_iterable",
        "itertools.repeat",
        "map",
    }
)

_PUT_ONE = frozenset({"add", "append", "appendleft", "put", "put_nowait"})
PUT_AT = frozenset({"insert", "setdefault"})
_PUT_ALL = frozenset({"extend", "extendleft", "update"})
_TAKE = frozenset({"get", "get_nowait", "pop", "popleft", "result", "send", "setdefault"})
# Methods that put what they are given into a container.
PUT = _PUT_ONE | PUT_AT | _PUT_ALL
# Methods after which there is something else in it.
CHANGE = PUT | {"clear", "pop", "popitem", "popleft", "remove"}
# What classes that are derived from Python's call of these.
_SPECIAL = frozenset({"__getitem__", "__init__", "__setitem__"})
METHODS = frozenset(
    {
        *PUT,
        *_TAKE,
        *_SPECIAL,
        "_replace",
        "add_done_callback",
        "copy",
        "items",
        "keys",
        "popitem",
        "replace",
        "sort",
        "values",
    }
)
# The methods as functions, such as ``dict.__getitem__``.
UNBOUND = frozenset(f"{kind}.{method}" for kind in known_names.CONTAINERS for method in METHODS)


class Containers:
    """What is done with containers.

    Args:
      memory: the variables.
      called: what a function returns that is called by a function of Python, with the arguments.
    """

    def __init__(self, memory: Memory, called: Callable[..., Held]) -> None:
        self._memory = memory
        self._called = called

    def function(self, call: Call, name: str, given: Given, result: Variable) -> None:
        """A call of one of ``FUNCTIONS``.

        Args:
          call: the call.
          name: the full name of the function.
          given: the arguments.
          result: what the call holds.
        """
        memory, positional = self._memory, given.positional
        first = positional[0] if positional else NOTHING
        if name in _DICTS:
            self._dict(call, given, result)
        elif name in _ZIPS:
            self._give_tuples(call, [memory.entries(each) for each in positional], result)
        elif name in _ONE_ENTRY:
            memory.flow(memory.joined([memory.entries(first), *positional[1:]]), result)
        elif name in _BEST:
            several = memory.joined(positional) if len(positional) > 1 else memory.entries(first)
            self._compare(call, given, several)
            memory.flow(several, result)
        elif name in _FLATTEN:
            made = Container(call.node, call.context)
            memory.put(made, 1, first)  # in the place of its structure
            memory.flow(frozenset({made}), result)
        elif name == "iter" and len(positional) > 1:
            self.give(call, self._called(call, first), result)
        elif name in _SAME and positional:
            self._same(call, first, result)
        elif name in _IN_ANOTHER_ORDER:
            self._compare(call, given, memory.entries(first))
            self.give(call, memory.entries(first), result)
        else:
            self._other_function(call, name, positional, result)

    def _other_function(
        self, call: Call, name: str, positional: Sequence[Held], result: Variable
    ) -> None:
        memory = self._memory
        match name, positional:
            case "enumerate", [first, *_]:
                self._give_tuples(call, [NOTHING, memory.entries(first)], result)
            case (("map" | known_names.POOL_MAP), [function, *over]):
                self.give(call, self._called(call, function, *map(memory.entries, over)), result)
            case "filter", [function, over]:
                self._called(call, function, memory.entries(over))
                self.give(call, memory.entries(over), result)
            case "functools.reduce", [function, over, *start]:
                entries = memory.entries(over)
                memory.flow(start[0] if start else entries, result)
                memory.flow(self._called(call, function, result, entries), result)
            case "itertools.chain", several:
                self.give(call, memory.joined([*map(memory.entries, several)]), result)
            case "itertools.chain.from_iterable", [several, *_]:
                self.give(call, memory.entries(memory.entries(several)), result)
            case "itertools.repeat", [value, *_]:
                self.give(call, value, result)
            case "dict.fromkeys", [_, value]:
                self.give(call, value, result, is_dict=True)
            case "collections.defaultdict", [maker, *_]:
                self.give(call, self._default(call, maker), result, is_dict=True)
            case _:
                self.give(call, NOTHING, result)

    def _compare(self, call: Call, given: Given, entries: Held) -> None:
        """Call the function, if there is one, by whose results entries are compared."""
        by_two = any(
            isinstance(each.value, ast.Call) and last_name(each.value.func) == "cmp_to_key"
            for each in call.node.keywords
        )
        for name, function in given.named:
            if name == "key":
                self._called(call, function, *[entries] * (1 + by_two))

    def give(self, call: Call, entries: Held, result: Variable, is_dict: bool = False) -> None:
        """Let a call hold a new container with these entries."""
        made = Container(call.node, call.context, is_dict)
        self._memory.put(made, ANYWHERE, entries)
        self._memory.flow(frozenset({made}), result)

    def _give_tuples(self, call: Call, slots: list[Held], result: Variable) -> None:
        """Let a call hold a container of tuples."""
        # There are two containers of one call; each needs a node of its own.
        each = Container(call.node.func, call.context)
        for index, value in enumerate(slots):
            self._memory.put(each, index, value)
        self.give(call, frozenset({each}), result)

    def _default(self, call: Call, maker: Held) -> Held:
        """What a ``defaultdict`` has under a key that it was not given."""
        result = Variable()

        def follow(each: Object) -> None:
            if isinstance(each, External) and each.name in _MADE_EMPTY:
                made = Container(call.node.func, call.context, each.name == "dict")
                self._memory.flow(frozenset({made}), result)

        self._memory.each(maker, follow)
        self._memory.flow(self._called(call, maker), result)
        return result

    def _same(self, call: Call, first: Held, result: Variable) -> None:
        """What keeps the order of entries; of a dict it is made of the keys."""
        memory = self._memory

        def follow(each: Object) -> None:
            if isinstance(each, Container) and each.is_dict:
                self.give(call, memory.entries(frozenset({each})), result)
            else:
                memory.solver.state(result, [each])

        if isinstance(first, Variable):
            memory.solver.need(result, first)
        memory.each(first, follow)

    def _dict(self, call: Call, given: Given, result: Variable) -> None:
        """A dict that is made of another, or of pairs; whatever is no container stays as it is."""
        memory = self._memory
        made = Container(call.node, call.context, is_dict=True)

        def follow(each: Object) -> None:
            if isinstance(each, Container) and not each.is_dict:
                memory.put(made, ANYWHERE, self._values(frozenset({each})))
                memory.flow(frozenset({made}), result)
            else:
                memory.solver.state(result, [each])

        for each in given.positional:
            memory.each(each, follow)
            if isinstance(each, Variable):
                memory.solver.need(result, each)
        for key, value in given.named:
            memory.put(made, key or ANYWHERE, value if key else memory.contents(value))
        if given.named or not given.positional:
            memory.flow(frozenset({made}), result)

    def method(
        self, call: Call, owner: Container, method: str, given: Given, result: Variable
    ) -> None:
        """A call of one of ``METHODS`` of a container.

        Args:
          call: the call.
          owner: the container.
          method: which method.
          given: the arguments.
          result: what the call holds.
        """
        memory, positional = self._memory, given.positional
        contents = memory.contents(frozenset({owner}))
        keys = memory.entries(frozenset({owner}))
        key = _key_in(call.node) if owner.is_dict else ANYWHERE
        if method in _PUT_ONE:
            for value in positional[:1]:
                memory.put(owner, ANYWHERE, value)
        if method in PUT_AT or method == "__setitem__":
            for value in positional[1:2]:
                memory.put(owner, key, value)
        if method in _TAKE or method == "__getitem__":
            taken = memory.item(frozenset({owner}), key)
            memory.flow(memory.joined([taken, *positional[1:]]), result)
        match method:
            case "send":
                for value in positional[:1]:
                    memory.put(owner, SENT, value)
            case "add_done_callback":
                for callback in positional[:1]:
                    self._called(call, callback, frozenset({owner}))
            case "copy" | "replace" | "_replace":
                memory.solver.state(result, [owner])
            case "values":
                self.give(call, contents, result)
            case "items":
                self._give_tuples(call, [keys, contents], result)
            case "keys":
                self.give(call, keys, result)
            case "popitem":
                made = Container(call.node, call.context)
                memory.put(made, 0, keys)
                memory.put(made, 1, contents)
                memory.flow(frozenset({made}), result)
            case "sort":
                self._compare(call, given, contents)
            case "extend" | "extendleft":
                for value in positional[:1]:
                    memory.put(owner, ANYWHERE, memory.entries(value))
            case "update":
                for value in positional[:1]:
                    more = self._values(value) if owner.is_dict else memory.entries(value)
                    memory.put(owner, ANYWHERE, more)
                for name, value in given.named:
                    memory.put(owner, name or ANYWHERE, value if name else memory.contents(value))

    def fill(self, within: Variable, given: Given) -> None:
        """Put what the constructor of a class of containers is given into its objects.

        Args:
          within: the containers that these objects are; those that they copy are among them.
          given: the arguments.
        """
        memory = self._memory
        copied = [*given.positional[:1], *(value for name, value in given.named if name is None)]

        def copy(own: Container, each: Object) -> None:
            if isinstance(each, Container) and own.is_dict and not each.is_dict:
                memory.put(own, ANYWHERE, self._values(frozenset({each})))
            elif isinstance(each, Container):
                memory.solver.state(within, [each])
            elif isinstance(each, Instance):
                memory.flow(memory.within(each.of), within)

        def begin(own: Object) -> None:
            assert isinstance(own, Container)
            for name, value in given.named:
                if name is not None:
                    memory.put(own, name, value)
            for value in copied:
                memory.each(value, functools.partial(copy, own))

        memory.each(within, begin)

    def _values(self, held: Held) -> Held:
        """What a dict gets from another, or from pairs."""
        memory = self._memory

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Container):
                one = frozenset({each})
                is_dict = each.is_dict
                values = memory.contents(one) if is_dict else memory.item(memory.entries(one), 1)
                memory.flow(values, result)

        return memory.derived("values", held, follow)


def _key_in(call: ast.Call) -> Hashable:
    """The key that a method of a dict is given first, as far as it is written out."""
    first = call.args[0] if call.args else None
    is_text = isinstance(first, ast.Constant) and isinstance(first.value, str)
    return key_of(first) if is_text and first is not None else ANYWHERE


def captured(
    memory: Memory, pattern: ast.pattern, held: Held, modules: Mapping[str, Document]
) -> Iterator[tuple[str, Held]]:
    """The names in a pattern, each with what it takes of what is matched.

    Args:
      memory: the variables.
      pattern: the pattern of a case, or one inside of it.
      held: what is matched with it.
      modules: the files that the file with the pattern imports, by their names there.
    """
    inner: list[tuple[ast.pattern, Held]] = []
    match pattern:
        case ast.MatchAs(pattern=inside, name=name):
            inner += [] if inside is None else [(inside, held)]
            if name is not None:
                yield name, held
        case ast.MatchOr(patterns=several):
            inner += [(each, held) for each in several]
        case ast.MatchSequence(patterns=entries):
            before = True  # a star, which takes nobody knows how many
            for index, each in enumerate(entries):
                before = before and not isinstance(each, ast.MatchStar)
                inner.append((each, memory.item(held, index) if before else memory.contents(held)))
        case ast.MatchStar(name=str(name)):
            yield name, _holding(memory, pattern, held)
        case ast.MatchMapping(keys=keys, patterns=entries, rest=rest):
            for key, each in zip(keys, entries, strict=True):
                inner.append((each, memory.item(held, key_of(key))))
            if rest is not None:
                yield rest, _holding(memory, pattern, memory.contents(held))
        case ast.MatchClass(patterns=fields, kwd_attrs=names, kwd_patterns=named):
            # Which attributes those by position are, the class alone says.
            inner += [(each, memory.item(held, index)) for index, each in enumerate(fields)]
            for name, each in zip(names, named, strict=True):
                inner.append((each, memory.attribute(held, name, modules)))
    for each, value in inner:
        yield from captured(memory, each, value, modules)


def _holding(memory: Memory, pattern: ast.pattern, held: Held) -> Held:
    """A list or dict of the rest that a pattern takes."""
    rest = Container(pattern, None, is_dict=isinstance(pattern, ast.MatchMapping))
    memory.put(rest, ANYWHERE, held)
    return memory.made(rest)
