"""What a call returns, and what it gives to the function that it calls, once that is known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterable, Sequence

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.names.walk import parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values import containers, known_names
from flaxoptim_compat.migrate.values.arguments import MOST_SLOTS, Argument, Call, Given, given_by
from flaxoptim_compat.migrate.values.containers import Containers
from flaxoptim_compat.migrate.values.memory import Memory
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    NOTHING,
    Class,
    Container,
    Context,
    Create,
    Definition,
    External,
    Function,
    FunctionNode,
    Instance,
    Object,
    Optimizer,
    Partial,
    Site,
    StateDict,
    Stored,
    Super,
    Transformed,
    bases_of,
)
from flaxoptim_compat.migrate.values.package_functions import PackageFunctions, matters
from flaxoptim_compat.migrate.values.solver import Variable
from flaxoptim_compat.migrate.values.variables import Held

# Methods of an optimizer that return one, and that of its structure.
_RETURN_THEMSELVES = frozenset({"apply_gradient", "replace", "restore_state", "unflatten"})


# Those that give and put what is in a field by its name.
FIELD_METHODS = frozenset({"__getattribute__", "__setattr__"})


class Calls:
    """What calls mean.

    Args:
      memory: the variables.
      apart: the functions that are kept apart by their calls.
      documents: the files of the program.
    """

    def __init__(
        self, memory: Memory, apart: frozenset[ast.AST], documents: Sequence[Document]
    ) -> None:
        self._memory = memory
        self._apart = apart
        self._containers = Containers(memory, self.called)
        self.packages = PackageFunctions(memory, self, self._containers, documents)
        # What writes down, for a call, the body of a function that is kept apart.
        self.bodies: dict[ast.AST, Callable[[Context], None]] = {}
        self._written: set[tuple[ast.AST, Context]] = set()
        # For each function its calls, and what each gives to its parameters.
        self.arguments: dict[ast.AST, dict[ast.Call, list[tuple[str, Held]]]] = {}
        self.sites: dict[Site, None] = {}
        self._bound: dict[Object, tuple[Held, Given]] = {}
        self._come: set[tuple[ast.Call, Context, Object, int]] = set()

    def bind(self, made: Object, function: Held, given: Given) -> None:
        """Say which function one that is made of it calls, and what it gives to that first."""
        self._bound[made] = function, given

    def called_by(self, each: Object) -> Held:
        """What a partial, or what a transformation of jax returns, calls in the end."""
        return self._bound[each][0] if each in self._bound else NOTHING

    def result(
        self, call: Call, function: Held, owner: Held, method: str, arguments: Iterable[Argument]
    ) -> Held:
        """What a call holds; whoever it calls is given its arguments.

        Args:
          call: where it stands.
          function: what is called.
          owner: what it is looked up on, if it is a method.
          method: its name then.
          arguments: in their order.
        """
        has_method = method in _METHODS and owner is not NOTHING
        if isinstance(function, frozenset):
            function = frozenset(
                each
                for each in function
                if not (isinstance(each, External) and not matters(each.name))
            )
            if not function and not has_method:
                return NOTHING
        memory = self._memory
        given = given_by(memory, arguments)
        needs = tuple(each for each in (function, owner) if isinstance(each, Variable))
        result = Variable(call.node, needs)
        self._call_any(call, function, given, result)
        if has_method:
            memory.each(owner, lambda each: self.method(call, each, method, given, result))
        for value in (*given.positional, *(value for _, value in given.named)):
            # Who is given something that matters is to be known.
            memory.once_it_matters(value, lambda: memory.ask(function))
            if method in containers.PUT:
                memory.may_put(owner, value)
        return result

    def _call_any(
        self,
        call: Call,
        functions: Held,
        given: Given,
        result: Variable,
        through: frozenset[Object] = frozenset(),
    ) -> None:
        self._memory.each(functions, lambda each: self._call(call, each, given, result, through))

    def _call_method(
        self,
        call: Call,
        owner: Held,
        name: str,
        given: Given,
        result: Variable,
        through: frozenset[Object] = frozenset(),
    ) -> None:
        """Call a method that Python looks up by itself, as ``__init__``: it is to be known."""
        method = self._memory.attribute(owner, name, {})
        self._memory.ask(method)
        self._call_any(call, method, given, result, through)

    def _call(
        self,
        call: Call,
        callee: Object,
        given: Given,
        result: Variable,
        through: frozenset[Object],
    ) -> None:
        """Connect a call with one of the functions that it can call.

        Args:
          call: the call.
          callee: the function.
          given: its arguments.
          result: what the call holds.
          through: the functions made of others that led here: one may seem to be made of itself.
        """
        memory = self._memory
        match callee:
            case Create(site=site):
                memory.solver.state(result, [Optimizer(site)])
            case Function():
                self._function(call, callee, given, result)
            case Class():
                self.construct(call, callee, given, result)
                memory.flow(frozenset({Instance(callee)}), result)
                self._define_if(call, callee, result)
            case Instance() if callee not in through:
                owner = frozenset({callee})
                self._call_method(call, owner, "__call__", given, result, through | {callee})
            case Partial() | Transformed() if self._is_new(call, callee, given, through):
                function, bound = self._bound[callee]
                if isinstance(callee, Partial):
                    given = Given(
                        [*bound.positional, *given.positional], [*bound.named, *given.named]
                    )
                else:
                    result = self._beside_gradients(callee, result)
                # Whoever asked for this one asked for what it calls.
                memory.ask(function)
                self._call_any(call, function, given, result, through | {callee})
            case External(name=name) if matters(name):
                self.packages.call(call, name, given, result)

    def _beside_gradients(self, function: Transformed, result: Variable) -> Variable:
        """What the function in it returns: no gradient is an optimizer, but ``aux`` may be one."""
        returned = Variable()
        if any(each.arg == "has_aux" for each in function.node.keywords):
            memory = self._memory
            made = Container(function.node, function.context)
            aux = memory.item(returned, 1)
            if last_name(function.node.func) == "value_and_grad":
                pair = Container(function.node.func, function.context)
                memory.put(pair, 1, aux)
                memory.put(made, 0, frozenset({pair}))
            else:
                memory.put(made, 1, aux)
            memory.flow(frozenset({made}), result)
        return returned

    def _is_new(self, call: Call, callee: Object, given: Given, through: frozenset[Object]) -> bool:
        """Whether a call comes to a function made of another for the first time.

        There may be very many ways through functions that are made of each other; they end at the
        same functions.
        """
        key = (call.node, call.context, callee, len(given.positional))
        if callee in through or callee not in self._bound or key in self._come:
            return False
        self._come.add(key)
        return True

    # Functions and classes of the program

    def _function(self, call: Call, function: Function, given: Given, result: Variable) -> None:
        memory, node = self._memory, function.node
        context = function.context
        if node in self._apart and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            context = call.node
            self._write(node, context)
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        if function.is_bound:
            names = names[1:]
        known = self.arguments.setdefault(node, {}).setdefault(call.node, [])
        for index, value in enumerate(given.positional):
            if value is NOTHING:
                continue
            if index < len(names):
                known.append((names[index], value))
                memory.flow(value, memory.variable(node, names[index], context))
            elif node.args.vararg is not None:
                # A function that calls itself with one argument more would never end otherwise.
                slot = index - len(names) if index - len(names) < MOST_SLOTS else ANYWHERE
                self._put_rest(node, node.args.vararg, context, slot, value)
        every = {each.arg for each in parameters(node.args)}
        for name, value in given.named:
            if value is NOTHING:
                continue
            if name is None:
                if node.args.kwarg is not None:
                    self._put_rest(node, node.args.kwarg, context, ANYWHERE, memory.contents(value))
                for each in (*names, *(each.arg for each in node.args.kwonlyargs)):
                    memory.flow(memory.item(value, each), memory.variable(node, each, context))
            elif name in every:
                known.append((name, value))
                memory.flow(value, memory.variable(node, name, context))
            elif node.args.kwarg is not None:
                self._put_rest(node, node.args.kwarg, context, name, value)
        memory.flow(memory.returns(node, context), result)

    def _put_rest(
        self, node: FunctionNode, taker: ast.arg, context: Context, slot: Hashable, value: Held
    ) -> None:
        """Give a function something that its ``*`` or ``**`` takes."""
        memory = self._memory
        rest = Container(taker, context, is_dict=taker is node.args.kwarg)
        memory.put(rest, slot, value)
        memory.flow(frozenset({rest}), memory.variable(node, taker.arg, context))

    def _write(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: Context) -> None:
        """Write down the body of a function that is kept apart, for one of its calls."""
        if (node, context) in self._written:
            return
        self._written.add((node, context))
        method = self._memory.methods.get(node)
        if method is not None:
            self._memory.flow(
                self._memory.variable(node, method.receiver, None),
                self._memory.variable(node, method.receiver, context),
            )
        self.bodies[node](context)

    def uncalled(self) -> None:
        """Write down the bodies of those functions kept apart that nothing calls."""
        called = {node for node, _ in self._written}
        for node in self.bodies:
            if node not in called and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._write(node, None)

    def construct(self, call: Call, made: Class, given: Given, result: Variable) -> None:
        """Give the arguments to ``__init__``, or to the fields of a dataclass in their order.

        The result may be another: what ``__new__`` returns, or the ``__call__`` of a metaclass.
        """
        memory = self._memory
        for keyword in made.node.keywords:
            if keyword.arg == "metaclass":
                metaclass = memory.of(keyword.value)
                memory.ask(metaclass)
                self._call_method(call, memory.instances(metaclass), "__call__", given, result)
        with_class = Given([NOTHING, *given.positional], given.named)
        self._call_method(call, frozenset({made}), "__new__", with_class, result)
        self._call_method(call, frozenset({Instance(made)}), "__init__", given, Variable())
        self._containers.fill(memory.within(made), given)
        if any(getattr(each, "name", "") == "__init__" for each in made.node.body):
            return
        fields = memory.all_fields(made)
        by_name: dict[str, Held] = {}
        for name, value in [*zip(fields, given.positional, strict=False), *given.named]:
            for each in fields if name is None else [name]:
                held = memory.item(value, each) if name is None else value
                by_name[each] = held
                if held is not NOTHING:
                    memory.flow(held, memory.field(made.node, each))
        first = [by_name.get(each, NOTHING) for each in memory.all_fields(made, "InitVar")]
        if any(each is not NOTHING for each in first):
            owner = frozenset({Instance(made)})
            self._call_method(call, owner, "__post_init__", Given(first, []), Variable())

    def _define_if(self, call: Call, made: Class, result: Variable) -> None:
        """An object of a class that is, however far, derived from OptimizerDef is a definition."""

        def follow(each: Object) -> None:
            if isinstance(each, External) and known_names.is_base(each.name):
                self.define(call, "", result)

        self._memory.solver.watch(self._ancestors(made), follow)

    def _ancestors(self, of: Class) -> Variable:
        """All classes that a class is derived from."""
        memory = self._memory

        def prepare(result: Variable) -> None:
            def follow(each: Object) -> None:
                memory.solver.state(result, [each])
                if isinstance(each, Class):
                    memory.flow(self._ancestors(each), result)

            for base in bases_of(of.node):
                memory.each(memory.of(base), follow)

        return memory.once(("ancestors", of), prepare)

    def define(self, call: Call, name: str, result: Variable) -> None:
        """Let a call make a definition.

        Args:
          call: the call.
          name: that of the class; "" if it is not known.
          result: what the call holds.
        """
        site = Site(call.document, call.node, name)
        self.sites[site] = None
        self._memory.solver.state(result, [Definition(site)])

    # Methods of objects that are no functions of the program

    def method(
        self, call: Call, owner: Object, method: str, given: Given, result: Variable
    ) -> None:
        """Call a method.

        Args:
          call: the call.
          owner: the object.
          method: the name.
          given: the arguments.
          result: what the call holds.
        """
        memory = self._memory
        add = memory.solver.state
        match owner:
            case Definition(site=site) if method == "create":
                add(result, [Optimizer(site)])
            case Optimizer() if method in _RETURN_THEMSELVES:
                add(result, [owner])
            case Optimizer() if method == "optimize":
                made = Container(call.node, call.context)
                memory.put(made, 0, frozenset({owner}))
                memory.flow(memory.made(made), result)
            case Optimizer(site=site) if method == "replicate":
                add(result, [Optimizer(site, known_names.axis_of(call.node))])
            case Optimizer(site=site) if method == "unreplicate":
                add(result, [Optimizer(site)])
            case Optimizer(site=site) if method == "state_dict":
                add(result, [StateDict(site)])
            case Stored() if method == "item":
                add(result, [owner])
            case Instance(of=of) if method in ("replace", "_replace"):
                memory.store_fields(frozenset({owner}), given.named)
                add(result, [owner])
            case Instance() | Super() if method in FIELD_METHODS:
                match call.node.args:
                    case [ast.Constant(value=str(name))]:
                        memory.flow(memory.attribute(frozenset({owner}), name, {}), result)
                    case [ast.Constant(value=str(name)), _]:
                        holder = frozenset({Instance(owner.of)})
                        memory.store_field(holder, name, given.positional[1])
            case Instance(of=of) if method == "_asdict":
                made = Container(call.node, call.context, is_dict=True)
                for name, value in memory.tuple_fields(of).items():
                    memory.put(made, name, value)
                memory.flow(memory.made(made), result)
            case Container() if method in containers.METHODS:
                self._containers.method(call, owner, method, given, result)
            case Instance(of=of) | Super(of=of) if method == "__init__":
                self._containers.fill(memory.within(of), given)
            case Instance(of=of) | Super(of=of) if method in containers.METHODS:
                if method == "copy":
                    add(result, [Instance(of)])
                memory.each(
                    memory.within(of), lambda each: self.method(call, each, method, given, result)
                )

    def called(self, call: Call, function: Held, *arguments: Held) -> Variable:
        """What a function returns that a function of a package calls.

        Args:
          call: that of the function of the package.
          function: what it calls.
          *arguments: what it gives to that.
        """
        return self.called_with(call, function, Given(arguments, []))

    def called_with(self, call: Call, function: Held, given: Given) -> Variable:
        """The same, with arguments by name as well."""
        returned = Variable()
        for each in (*given.positional, *(value for _, value in given.named)):
            # What is given something that matters may ask it for things, whatever it returns.
            self._memory.once_it_matters(each, lambda: self._memory.ask(function))
        self._call_any(call, function, given, returned)
        return returned


_METHODS = frozenset(
    {
        *_RETURN_THEMSELVES,
        *containers.METHODS,
        *FIELD_METHODS,
        "_asdict",
        "create",
        "item",
        "optimize",
        "replicate",
        "state_dict",
        "unreplicate",
    }
)
