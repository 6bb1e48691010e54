"""Reads the functions of a program until what they say of each other is known.

Values flow forward. A variable holds whatever is assigned to it anywhere, but between assignments
that follow each other in one function it holds the last one. All calls of a function are one. What
is read and written nowhere is unknown, such as the parameters of a function that nothing calls.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import defaults, parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import joined
from flaxoptim_compat.migrate.program.linking import Processes
from flaxoptim_compat.migrate.program.mentions import may_use_optimizers
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.calls import MOST_SLOTS, Call, Calls, Given, first_star
from flaxoptim_compat.migrate.values.cells import Cell
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.memory import Memory, cells_of, decorators_of
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    NONE,
    NOTHING,
    ONE,
    Class,
    Container,
    Definition,
    External,
    File,
    Function,
    FunctionNode,
    Instance,
    Object,
    Objects,
    Optimizer,
    Plain,
    Property,
    Site,
    Unknown,
    bases_of,
    external,
    is_plain,
    is_unpickled,
    key_of,
)
from flaxoptim_compat.migrate.values.order import Body, Instruction, Source, instructions_of
from flaxoptim_compat.migrate.values.scopes import Scopes, Stars

# Annotations that say nothing of how a value is wrapped, and those of containers.
_TRANSPARENT = frozenset({"Annotated", "ClassVar", "Final", "Optional", "Union"})
_CONTAINERS = frozenset({"dict", "iterable", "iterator", "list", "mapping", "sequence", "tuple"})
# Cells that may hold any value if nothing writes them.
_MAY_HOLD_ANY = frozenset({"given", "named", "variable"})
_PROPERTIES = frozenset({"cached_property", "property"})
_ONE, _NONE = frozenset[Object]({ONE}), frozenset[Object]({NONE})


class Flow:
    """The values that the expressions of a program can hold.

    Args:
      documents: its files.
      modules: for each file, the files that it imports, by the names it imports them by.
      evidence: what a run showed of it.
      processes: which files can be given what others make.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        modules: Mapping[Document, Mapping[str, Document]],
        evidence: Evidence,
        processes: Processes,
    ) -> None:
        self.scopes = {document: Scopes(document) for document in documents}
        # The calls that decorators are.
        self.decorating: dict[ast.expr, ast.Call] = {}
        # The expressions that a run saw to be these.
        self.exactly: dict[ast.AST, Objects] = {}
        # The calls that make definitions in a run.
        self._made: dict[ast.Call, Site] = {}
        self._evidence = evidence
        self._starting = _starting(documents, modules, evidence)
        stars = Stars(modules)
        self._files = [
            Source(each, modules[each], stars.brought(each), self.scopes[each])
            for each in documents
        ]
        self._read_all(Memory(evidence, processes, documents))
        if evidence.makers:
            # Once more, without what only the text made possible.
            memory = Memory(evidence, processes, documents)
            self._believe(memory)
            self._read_all(memory)
        while self._open() or self._take():
            self._read()

    def _read_all(self, memory: Memory) -> None:
        """Read the program from the beginning, with nothing in its cells but what a run showed."""
        self.memory, self.cells, self.calls = memory, memory.cells, Calls(memory)
        self.held: dict[ast.AST, Objects] = {}
        # What something unknown comes from that is used as only optimizers are.
        self._taken: set[ast.AST] = set()
        # Where something is asked for what optimizers have, and where it was taken for one.
        self.asked: dict[ast.Attribute, Instruction] = {}
        self.taken_at: set[ast.Attribute] = set()
        self._bodies: dict[ast.AST, Body] = {}
        self._reader = _Reader(self)
        for file in self._files:
            tree = file.document.tree
            self._bodies[tree] = Body(file, tree)
            self.cells.let_wait(tree)
        self.calls.sites.update(self._made)
        for cell, objects in memory.shown.items():
            self.cells.write(cell, objects)
        self._read()

    def add(self, body: Body) -> None:
        """Have a function read.

        In a file that does not name what optimizers have, it is read once something calls it.
        """
        if body.node not in self._bodies:
            self._bodies[body.node] = body
            if body.file.document in self._starting:
                self.cells.let_wait(body.node)

    def _read(self) -> None:
        for each in self.cells.waiting():
            if isinstance(each, Instruction):
                self._reader.read(each)
            else:
                self.cells.let_wait(*instructions_of(self._bodies[each], self.cells.flow))

    def _open(self) -> bool:
        """Let the cells that nothing writes hold something unknown; False if there are none."""
        opened = [each for each in self.cells.open() if each[0] in _MAY_HOLD_ANY]
        for each in opened:
            self.cells.write(each, self._unknown(each))
        return bool(opened)

    def _unknown(self, cell: Cell) -> Objects:
        """The value of a cell that nothing writes: unknown."""
        _, node, name = cell
        if isinstance(node, ast.AST) and node in self._bodies:
            arguments = parameters(node.args) if isinstance(node, FunctionNode) else ()
            place = next((each for each in arguments if each.arg == name), node)
            return frozenset({Unknown(self._bodies[node].file.document, place)})
        return self.memory.unknown_named(str(name))

    def _take(self) -> bool:
        """Take what is used as one for an optimizer that is made elsewhere; False if nothing is.

        What else it may be tells, so all else is read before.
        """
        new = (each for each in self.asked if each not in self.taken_at)
        used = [*filter(self._is_used_as_optimizer, new)]
        owners = itertools.chain(*(self.held[node.value] for node in used))
        # What stands for several is taken where it is asked, and only there.
        taken = {each for each in owners if isinstance(each, Unknown) and not each.is_several}
        self.taken_at.update(used)
        self._taken.update(each.node for each in taken)
        self.cells.let_wait_again(self.asked[node] for node in used)
        for kind in ("variable", "given", "returns"):
            for cell, held in self.cells.of(kind):
                if not taken.isdisjoint(held):
                    self.cells.write(cell, [Optimizer(None)])
        return bool(used)

    def _is_used_as_optimizer(self, node: ast.Attribute) -> bool:
        """True if an unknown value is asked for an attribute that only optimizers have.

        After a run that made definitions it is False: a name alone tells less.
        """
        owners = self.held.get(node.value, NOTHING)
        return (
            any(isinstance(each, Unknown) and not self.is_taken(each) for each in owners)
            and not any(map(is_unpickled, owners))
            and all(isinstance(each, Unknown) or each == Optimizer(None) for each in owners)
            and not self._evidence.makers
            and not known_names.is_bridged(node)
            and self.memory.hints_at_optimizer(node)
        )

    def is_taken(self, unknown: Object) -> bool:
        """True if an unknown value was taken for an optimizer."""
        return isinstance(unknown, Unknown) and unknown.node in self._taken

    def _believe(self, memory: Memory) -> None:
        """Note what a run showed: at the places themselves, and in memory of variables and fields.

        The program was read by its text, which says which variables these places read.
        """
        memory.by_text = self.cells
        for call, document in self._evidence.makers.items():
            self.calls.define(Call(document, call, {}), "")
            self._made[call] = self.calls.sites[call]
        for shown in self._evidence.shown.values():
            held = self.held.get(shown.node, NOTHING)
            unpickled = frozenset(filter(is_unpickled, held))
            if unpickled and unpickled == held:
                continue
            made = frozenset[Object](
                Optimizer(self._made[maker], axis)
                if shown.of == "optimizer"
                else Definition(self._made[maker])
                for maker, axis in shown.made
            )
            if shown.of == "definition":
                # One expression makes optimizers of all that come there, in another run of those.
                made |= {each for each in held if isinstance(each, Definition) and each.site}
            self.exactly[shown.node] = self.exactly.get(shown.node, NOTHING) | made | unpickled
        for node, objects in self.exactly.items():
            for cell in self.cells_read(node):
                memory.shown[cell] = memory.shown.get(cell, NOTHING) | objects

    def cells_read(self, node: ast.AST) -> Iterator[Cell]:
        """The variable, or the fields, that an expression reads."""
        match node:
            case ast.Name(id=name):
                for scopes in self.scopes.values():
                    if node in scopes.walk.names:
                        scope = scopes.binder(node, name)
                        yield from [] if scope is None else [("variable", scope, name)]
            case ast.Attribute(value=owner, attr=name):
                yield from cells_of(self.held.get(owner, NOTHING), name)


def _starting(
    documents: Sequence[Document],
    modules: Mapping[Document, Mapping[str, Document]],
    evidence: Evidence,
) -> frozenset[Document]:
    """The files of which every function is read: those that name what optimizers have.

    Whoever imports one of these may go between others, without a name of it.
    """
    naming = {
        document
        for document in documents
        if may_use_optimizers(document.text) or document in evidence.documents
    }
    importing = {each for each, others in modules.items() if not naming.isdisjoint(others.values())}
    return frozenset(naming | importing)


class _Reader:
    """Reads the instructions of functions, one by one."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._memory = flow.memory
        self._held = flow.held
        self._makers = flow.memory.evidence.makers
        # The instruction that is being read, and where it stands.
        self._instruction: Instruction
        self._file: Source
        self._scope: Scope
        self._class: Class | None
        self._function: FunctionNode | None
        # The cells of names with their variables, and what is none.
        self._named: dict[ast.Name, tuple[Cell, Cell] | Objects] = {}
        self._expressions: dict[type[ast.AST], Callable[[Any], Objects]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
            ast.Constant: self._constant,
            ast.Tuple: self._display,
            ast.List: self._display,
            ast.Set: self._display,
            ast.Dict: self._dict,
            ast.ListComp: self._comprehension,
            ast.SetComp: self._comprehension,
            ast.GeneratorExp: self._comprehension,
            ast.DictComp: self._comprehension,
            ast.Subscript: self._subscript,
            ast.IfExp: self._either,
            ast.BoolOp: self._any_of,
            ast.BinOp: self._operation,
            ast.UnaryOp: lambda node: _plain(self._value(node.operand)),
            ast.NamedExpr: self._walrus,
            ast.Starred: lambda node: self._value(node.value),
            ast.Await: lambda node: self._value(node.value),
            ast.Lambda: self._lambda,
            ast.Yield: self._yield,
            ast.YieldFrom: lambda node: self._give(self._elements(node.value)),
        }
        self._statements: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Assign: self._assign_statement,
            ast.AnnAssign: self._annotated_statement,
            ast.AugAssign: self._augmented_statement,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.withitem: self._with_item,
            ast.Return: self._return,
            ast.FunctionDef: self._define,
            ast.AsyncFunctionDef: self._define,
            ast.ClassDef: self._define_class,
            ast.Import: self._import,
            ast.ImportFrom: self._import_from,
        }

    def read(self, instruction: Instruction) -> None:
        """Read an instruction of a function, or of the top of a file."""
        body = instruction.body
        self._instruction, self._file = instruction, body.file
        self._scope, self._class = instruction.scope, instruction.of
        self._function = None if isinstance(body.node, ast.Module) else body.node
        self._memory.home = body.file.document
        self._memory.cells.beyond = body.unknown
        if isinstance(instruction.node, ast.expr):
            self._value(instruction.node)
        else:
            self._statement(instruction.node)

    # Statements

    def _all(self, nodes: Iterable[ast.AST]) -> None:
        for each in nodes:
            if isinstance(each, ast.expr):
                self._value(each)
            else:
                self._statement(each)

    def _statement(self, node: ast.AST) -> None:
        method = self._statements.get(type(node))
        if method is None:
            self._all(ast.iter_child_nodes(node))
        else:
            method(node)

    def _assign_statement(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        for target in node.targets:
            self._assign(target, value)

    def _annotated_statement(self, node: ast.AnnAssign) -> None:
        value = self._annotated(node.annotation)
        if node.value is not None:
            self._assign(node.target, self._value(node.value) | value)
        elif value:
            self._assign(node.target, value)

    def _augmented_statement(self, node: ast.AugAssign) -> None:
        before = self._value(node.target)
        both = before | self._value(node.value)
        if isinstance(node.op, ast.Add | ast.BitOr):
            self._assign(node.target, before | self._sum(node, both))

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign(node.target, self._elements(node.iter))

    def _with_item(self, node: ast.withitem) -> None:
        value = self._value(node.context_expr)
        # Of a function with `contextlib.contextmanager` it is what that yields.
        made = frozenset(each for each in value if _is_of_generator(each))
        if node.optional_vars is not None:
            self._assign(node.optional_vars, (value - made) | self._memory.entries(made))

    def _open(self, node: ast.AST) -> Objects:
        return frozenset({Unknown(self._file.document, node)})

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            self._returns(self._value(node.value))

    def _returns(self, value: Objects) -> None:
        if self._function is not None:
            self._memory.cells.write(("returns", self._function, ""), value)

    def _assign(self, target: ast.expr, value: Objects) -> None:
        """Let what stands on the left of an assignment hold what stands on the right."""
        memory = self._memory
        match target:
            case ast.Name(id=name):
                self._bind(name, value)
            case ast.Starred(value=inner):
                self._assign(inner, value)
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                starred = [isinstance(each, ast.Starred) for each in targets]
                for index, each in enumerate(targets):
                    if not any(starred[: index + 1]):
                        self._assign(each, memory.item(value, index))
                    elif starred[index]:
                        inside = memory.contents(value)
                        self._assign(each, memory.put(Container(each), ANYWHERE, inside))
                    else:
                        self._assign(each, memory.contents(value))
            case ast.Attribute(value=owner, attr=attribute):
                memory.store(self._value(owner), attribute, value)
            case ast.Subscript(value=owner, slice=key):
                entry = memory.entries(value) if isinstance(key, ast.Slice) else value
                self._value(key)
                for holder in self._value(owner):
                    if isinstance(holder, Container):
                        memory.put(holder, key_of(key), entry)

    def _bind(self, name: str, value: Objects) -> None:
        scope = self._scope
        home = scope.home(name) if name in scope.elsewhere else scope
        if home is None:
            return
        node = home.node
        if isinstance(node, ast.ClassDef):
            # What the body of a class assigns is an attribute of its instances.
            self._memory.cells.write(("field", node, name), value)
        if self._instruction.body.keeps(home, name):
            self._memory.cells.write(("assigned", self._instruction.node, name), value)
        else:
            self._memory.bind(node, name, value)

    # Functions and classes

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        memory = self._memory
        owner = self._class if self._scope.is_class else None
        function = Function(self._file.document, node)
        self._decorate(node, function)
        # Decorators return the function, or one that does the same.
        found: Object = function
        decorators = decorators_of(node)
        if owner is not None:
            if decorators & _PROPERTIES:
                found = Property(function)
            if "staticmethod" not in decorators:
                of = "classmethod" in decorators or node.name in ("__new__", "__init_subclass__")
                given: Object = owner if of else Instance(owner)
                for name in function.parameters[:1]:
                    memory.give(node, name, frozenset({given}))
        if not decorators & {"setter", "deleter"}:
            self._bind(node.name, frozenset({found}))
        self._parameters(node)
        if node.returns is not None and (said := self._annotated(node.returns)):
            memory.cells.write(("returns", node, ""), said)
        self._flow.add(Body(self._file, node, owner or self._class))

    def _decorate(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, found: Object
    ) -> None:
        """Give what is defined to the program's own decorators, such as those of a registry."""
        for each in node.decorator_list:
            own = frozenset(filter(self._is_of_program, self._value(each)))
            decorating = self._flow.decorating.setdefault(
                each, ast.copy_location(ast.Call(each, [], []), each)
            )
            call = Call(self._file.document, decorating, self._file.modules)
            made = self._flow.calls.result(call, own, Given([frozenset({found})]))
            for wrapper in made:
                if isinstance(wrapper, Function) and wrapper.node is not node:
                    # Calls are those of what it wraps, of which it does the same. What else it
                    # gives to that is seen by reading it.
                    self._memory.cells.let_wait(wrapper.node)
                    for each_parameter in parameters(wrapper.node.args):
                        self._memory.give(wrapper.node, each_parameter.arg, NOTHING)

    def _is_of_program(self, decorator: Object) -> bool:
        """True if a decorator is a function, class or object of the program, or is made of one."""
        called = {decorator} | self._flow.calls.bound_by(decorator)
        return any(isinstance(each, Function | Class | Instance) for each in called)

    def _parameters(self, node: FunctionNode) -> None:
        """Give to parameters what their annotations and defaults say."""
        memory, arguments = self._memory, node.args
        for each in parameters(arguments):
            if each.annotation is not None and (said := self._annotated(each.annotation)):
                memory.give(node, each.arg, said)
        for each, default in defaults(arguments):
            if value := self._value(default):
                memory.cells.write(("given", node, each.arg), value, counts=False)
        for taker in (arguments.vararg, arguments.kwarg):
            if taker is not None:
                rest = Container(taker, taker is arguments.kwarg)
                memory.give(node, taker.arg, frozenset({rest}))

    def _lambda(self, node: ast.Lambda) -> Objects:
        self._parameters(node)
        self._flow.add(Body(self._file, node, self._class))
        return frozenset({Function(self._file.document, node)})

    def _define_class(self, node: ast.ClassDef) -> None:
        self._all([*node.keywords, *node.bases])
        found = Class(self._file.document, node)
        self._memory.add_class(found)
        bases = (self._held.get(each, NOTHING) for each in bases_of(node))
        # No method of the program is one of `object`.
        inherited = NOTHING.union(*bases) - external("object")
        self._memory.cells.write(("bases", node, ""), inherited)
        self._bind(node.name, frozenset({found}))
        # Who makes objects of it, and calls the methods that it inherits, need not be seen.
        self._memory.inherit(found)
        self._decorate(node, found)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            module = self._file.modules.get(name)
            self._bind(
                alias.asname or name, frozenset({File(module)}) if module else external(name)
            )

    def _import_from(self, node: ast.ImportFrom) -> None:
        origin = "." * node.level + (node.module or "")
        module = self._file.modules.get(origin)
        for alias in node.names:
            if alias.name == "*":
                for name, of in self._file.brought.items():
                    self._memory.bind(self._file.document.tree, name, self._in_star(name, of))
                continue
            submodule = self._file.modules.get(joined(origin, alias.name))
            if submodule is not None:
                found: Objects = frozenset({File(submodule)})
            elif module is not None:
                found = self._memory.variable(module.tree, alias.name)
            elif node.level:
                found = self._open(alias)
            else:
                found = external(f"{origin}.{alias.name}")
            self._bind(alias.asname or alias.name, found)

    def _in_star(self, name: str, of: Document | str) -> Objects:
        if isinstance(of, str):
            return external(of)
        return self._memory.variable(of.tree, name)

    # Expressions

    def _value(self, node: ast.expr) -> Objects:
        """The values that an expression holds; the expressions inside of it are read too."""
        method = self._expressions.get(type(node))
        if method is None:
            self._all(ast.iter_child_nodes(node))
            return NOTHING
        held = method(node)
        if self._makers:
            held = self._as_seen(node, held)
        if held:
            before = self._held.get(node)
            if before is not held:
                self._held[node] = before | held if before else held
        return held

    def _as_seen(self, node: ast.expr, held: Objects) -> Objects:
        """The values of an expression as a run saw them."""
        if node in self._makers and node in self._flow.calls.sites:
            assert isinstance(node, ast.Call)
            held |= {Definition(self._flow.calls.sites[node])}
        exactly = self._flow.exactly.get(node)
        if exactly is not None:
            held = exactly
            if isinstance(node, ast.Attribute):
                self._memory.store(self._held.get(node.value, NOTHING), node.attr, held)
        return held

    def _constant(self, node: ast.Constant) -> Objects:
        if node.value is None:
            return _NONE
        return _ONE if isinstance(node.value, int | float) else NOTHING

    def _name(self, node: ast.Name) -> Objects:
        named = self._named.get(node)
        if named is None:
            named = self._named[node] = self._cell_of(node)
        if isinstance(named, frozenset):
            return named
        return self._memory.held(*named)

    def _cell_of(self, node: ast.Name) -> tuple[Cell, Cell] | Objects:
        """The cell that a name reads, and that of its variable; or what it is of packages."""
        home = self._scope.binder(node.id, (node.lineno, node.col_offset))
        if home is None:
            if node.id not in self._file.brought:
                return external(node.id)
            variable: Cell = "variable", self._file.document.tree, node.id
            return variable, variable
        variable = "variable", home.node, node.id
        if self._instruction.body.keeps(home, node.id):
            return self._instruction.reaching.get(node.id, variable), variable
        return variable, variable

    def _attribute(self, node: ast.Attribute) -> Objects:
        owners = self._value(node.value)
        if node.attr in known_names.HINTING:
            self._flow.asked[node] = self._instruction
            if node in self._flow.taken_at:
                owners = self._held[node.value] = owners | {Optimizer(None)}
        inherited = self._inherited(node)
        return inherited or self._memory.attribute(owners, node.attr, self._file.modules)

    def _inherited(self, node: ast.Attribute) -> Objects:
        """The values of ``super().name`` in a method; none if no base is known to have any."""
        match node.value:
            case ast.Call(func=func) if self._class and self._held.get(func) == external("super"):
                return self._memory.inherited(self._class, node.attr)
        return NOTHING

    def _call(self, node: ast.Call) -> Objects:
        functions = self._value(node.func)
        given = Given(self._positional(node))
        for keyword in node.keywords:
            value = self._value(keyword.value)
            if keyword.arg is None:
                given.rest_named |= value
            else:
                given.named[keyword.arg] = value
        if functions == external("super"):
            return self._open(node)
        call = Call(self._file.document, node, self._file.modules)
        found: Objects = NOTHING
        if isinstance(node.func, ast.Attribute):
            owners = self._held.get(node.func.value, NOTHING)
            for owner in owners:
                found |= self._flow.calls.method(call, owner, node.func.attr, given)
            if not owners and node.func.attr in known_names.RESTORE_METHODS:
                found = given.all  # as of an object of `clu`, which makes no optimizers itself
            if found:
                # Of what has such a method, nothing else by that name is called.
                functions = frozenset(filter(_is_own, functions))
        return found | self._flow.calls.result(call, functions, given)

    def _positional(self, node: ast.Call) -> list[Objects]:
        """The arguments by position; from the first with a star on, as many as there may be."""
        memory, values = self._memory, [self._value(each) for each in node.args]
        first = first_star(node)
        if first == len(values):
            return values
        if first == len(values) - 1:
            slots = [memory.item(values[first], at) for at in range(MOST_SLOTS)]
            return values[:first] + slots
        behind = NOTHING.union(
            *(
                memory.contents(value) if isinstance(each, ast.Starred) else value
                for each, value in zip(node.args[first:], values[first:], strict=True)
            )
        )
        return values[:first] + [behind] * MOST_SLOTS

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Objects:
        made, memory = Container(node), self._memory
        values = [self._value(each) for each in node.elts]
        if isinstance(node, ast.Tuple) and all(map(is_plain, values)):
            return NOTHING  # nothing can be put into it
        return memory.put_all(
            made,
            [
                (ANYWHERE, memory.entries(value))
                if isinstance(each, ast.Starred)
                else (index, value)
                for index, (each, value) in enumerate(zip(node.elts, values, strict=True))
            ],
        )

    def _dict(self, node: ast.Dict) -> Objects:
        made, memory = Container(node, is_dict=True), self._memory
        entries: list[tuple[Hashable, Objects]] = []
        for key, each in zip(node.keys, node.values, strict=True):
            value = self._value(each)
            if key is None:
                entries.append((ANYWHERE, memory.contents(value)))
            else:
                self._value(key)
                entries.append((key_of(key), value))
        return memory.put_all(made, entries)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Objects:
        made, memory = Container(node, isinstance(node, ast.DictComp)), self._memory
        first = self._elements(node.generators[0].iter)
        around, self._scope = self._scope, self._file.scopes.of[node]
        for number, each in enumerate(node.generators):
            self._assign(each.target, self._elements(each.iter) if number else first)
            self._all(each.ifs)
        if isinstance(node, ast.DictComp):
            self._value(node.key)
            element = self._value(node.value)
        else:
            element = self._value(node.elt)
        self._scope = around
        if isinstance(node, ast.GeneratorExp) and is_plain(element):
            return NOTHING
        return memory.put(made, ANYWHERE, element)

    def _subscript(self, node: ast.Subscript) -> Objects:
        owner = self._value(node.value)
        self._value(node.slice)
        if isinstance(node.slice, ast.Slice):
            if not any(isinstance(each, Container) for each in owner):
                return owner
            return self._memory.put(Container(node), ANYWHERE, self._memory.contents(owner))
        found = self._memory.item(owner, key_of(node.slice)) | _plain(owner)
        # Each entry of something unknown is unknown by itself.
        unknown = {each for each in owner & found if isinstance(each, Unknown)}
        return (found - unknown) | self._open(node) if unknown else found

    def _either(self, node: ast.IfExp) -> Objects:
        self._value(node.test)
        return self._value(node.body) | self._value(node.orelse)

    def _any_of(self, node: ast.BoolOp) -> Objects:
        return NOTHING.union(*map(self._value, node.values))

    def _operation(self, node: ast.BinOp) -> Objects:
        both = self._value(node.left) | self._value(node.right)
        if any(isinstance(each, Instance) for each in both):
            return self._open(node)
        if not isinstance(node.op, ast.Add | ast.BitOr | ast.Mult):
            return _plain(both)
        return self._sum(node, both) | _plain(both)

    def _sum(self, node: ast.AST, both: Objects) -> Objects:
        """A container of the entries of both, which stand in other places of it."""
        containers = frozenset(each for each in both if isinstance(each, Container))
        if not containers:
            return NOTHING
        memory = self._memory
        if is_plain(memory.contents(containers)):
            return NOTHING
        made = Container(node, any(each.is_dict for each in containers))
        return memory.put(made, ANYWHERE, memory.contents(containers))

    def _walrus(self, node: ast.NamedExpr) -> Objects:
        value = self._value(node.value)
        self._assign(node.target, value)
        return value

    def _yield(self, node: ast.Yield) -> Objects:
        return self._give(NOTHING if node.value is None else self._value(node.value))

    def _give(self, value: Objects) -> Objects:
        """Let the function around return a container of this."""
        if self._function is not None:
            self._returns(self._memory.put(Container(self._function), ANYWHERE, value))
        return NOTHING

    def _elements(self, iterated: ast.expr) -> Objects:
        """The values that a loop over an expression gives to its variable."""
        return self._memory.entries(self._value(iterated))

    def _annotated(self, annotation: ast.expr) -> Objects:
        """The values that a variable with an annotation can hold; none if that does not tell."""
        match annotation:
            case ast.Constant() if annotation in self._file.document.quoted:
                return self._annotated(self._file.document.quoted[annotation])
            case ast.Name() | ast.Attribute():
                return frozenset(itertools.chain(*map(_of_kind, self._value(annotation))))
            case ast.BinOp(left=first, right=second):
                return self._annotated(first) | self._annotated(second)
            case ast.Tuple(elts=several):
                return NOTHING.union(*map(self._annotated, several))
            case ast.Subscript(value=generic, slice=inner):
                name = last_name(generic)
                self._value(generic)
                inside = self._annotated(inner)
                if name in _TRANSPARENT:
                    return inside
                if name.lower() in _CONTAINERS and inside:
                    made = Container(annotation, name.lower() in ("dict", "mapping"))
                    if name.lower() == "tuple" and isinstance(inner, ast.Tuple):
                        for index, each in enumerate(inner.elts):
                            self._memory.put(made, index, self._annotated(each))
                        return frozenset({made})
                    return self._memory.put(made, ANYWHERE, inside)
        return NOTHING


def _of_kind(of: Object) -> Iterator[Object]:
    """The value of a variable that is annotated with a class, as far as it matters."""
    if isinstance(of, Class):
        yield Instance(of)
    elif isinstance(of, External) and known_names.is_optimizer(of.name):
        yield Optimizer(None)
    elif isinstance(of, External) and known_names.legacy_name(of.name) == known_names.BASE:
        yield Definition(None)


def _is_of_generator(each: Object) -> bool:
    return isinstance(each, Container) and isinstance(each.node, FunctionNode)


def _is_own(each: Object) -> bool:
    return not isinstance(each, External | Unknown)


def _plain(objects: Objects) -> Objects:
    """The arrays and numbers among these, as what is computed with them is one."""
    return frozenset(each for each in objects if isinstance(each, Plain) and each is ONE)
