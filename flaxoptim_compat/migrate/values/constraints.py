"""One pass over a file that writes down what its statements and expressions say of each other.

The order of statements counts for nothing: a variable holds whatever is assigned to it anywhere.
The only exception are the variables of ``versions``.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from flaxoptim_compat.migrate.names.dotted import last_name, whose_fields
from flaxoptim_compat.migrate.names.scopes import Scope
from flaxoptim_compat.migrate.names.walk import Walk, parameters
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.imported_files import joined
from flaxoptim_compat.migrate.values import known_names
from flaxoptim_compat.migrate.values.arguments import (
    Argument,
    Call,
    Given,
    fixture_params,
    kept_by,
    parametrized,
)
from flaxoptim_compat.migrate.values.calls import Calls
from flaxoptim_compat.migrate.values.containers import captured
from flaxoptim_compat.migrate.values.memory import INIT_SUBCLASS, Asked, Memory, Method
from flaxoptim_compat.migrate.values.objects import (
    ANYWHERE,
    KEYS,
    NOTHING,
    SENT,
    Class,
    Container,
    Context,
    External,
    File,
    Function,
    FunctionNode,
    Instance,
    Object,
    Objects,
    Partial,
    Super,
    bases_of,
    external,
    key_of,
)
from flaxoptim_compat.migrate.values.solver import Variable
from flaxoptim_compat.migrate.values.stars import Stars
from flaxoptim_compat.migrate.values.variables import Held
from flaxoptim_compat.migrate.values.versions import Versions, all_versions

# Annotations that say nothing of how a value is wrapped, and those of containers.
_TRANSPARENT = frozenset({"Annotated", "ClassVar", "Final", "Optional", "Union"})
_DICTS = frozenset({"dict", "mapping"})
_CONTAINERS = _DICTS | {
    "collection",
    "deque",
    "iterable",
    "iterator",
    "list",
    "sequence",
    "tuple",
}


class Constraints:
    """The pass over one file.

    Args:
      document: the file.
      walk: its scopes.
      modules: the files that it imports, by the names it imports them by.
      stars: the names that each file gives to ``import *``, and gets by it.
      memory: the variables.
      calls: what is to be done with calls.
      shown: the expressions of which a run showed what they hold.
    """

    def __init__(
        self,
        document: Document,
        walk: Walk,
        modules: Mapping[str, Document],
        stars: Stars,
        memory: Memory,
        calls: Calls,
        shown: Collection[ast.AST] = (),
    ) -> None:
        self._document = document
        self._shown = shown
        self._modules = modules
        self._stars = stars
        self._memory = memory
        self._calls = calls
        self._scopes = walk.scopes
        self._scope = walk.scopes[document.tree]
        self._class: Class | None = None
        # Of functions and lambdas around, the innermost; None: the top of the file or a class.
        self._function: FunctionNode | None = None
        # The call that this pass over a function is for, and the scopes that are its own then.
        self._context: Context = None
        self._own: set[ast.AST] = set()
        self._put_off: set[ast.AST] = set()
        # What names hold in scopes that are no classes, where only the scope decides.
        self._read: dict[tuple[Scope, str], Held] = {}
        self._versions = Versions(document, walk.scopes)
        self._packages = self._names_of_packages(walk)
        self._expressions: dict[type[ast.AST], Callable[[Any], Held]] = {
            ast.Name: self._name,
            ast.Attribute: self._attribute,
            ast.Call: self._call,
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
            ast.BinOp: self._operation,
            ast.BoolOp: self._any_of,
            ast.NamedExpr: self._walrus,
            ast.Starred: self._inner,
            ast.Await: self._inner,
            ast.Lambda: self._lambda,
            ast.Yield: self._yield,
            ast.YieldFrom: self._yield_from,
            ast.Constant: lambda _: NOTHING,
        }
        self._statements: dict[type[ast.AST], Callable[[Any], None]] = {
            ast.Assign: self._assign_statement,
            ast.AnnAssign: self._annotated_statement,
            ast.AugAssign: self._augmented_statement,
            ast.If: self._if,
            ast.For: self._for,
            ast.AsyncFor: self._for,
            ast.withitem: self._with_item,
            ast.Match: self._match,
            ast.Return: self._return,
            ast.FunctionDef: self._define,
            ast.AsyncFunctionDef: self._define,
            ast.ClassDef: self._define_class,
            ast.Import: self._import,
            ast.ImportFrom: self._import,
        }

    def _names_of_packages(self, walk: Walk) -> dict[tuple[Scope, str], Objects]:
        """The names that nothing but one import of a package binds: they are no variables."""
        found: dict[tuple[Scope, str], Objects] = {}
        for node, scope in walk.imports:
            for alias, value in self._imported(node):
                name = alias.asname or alias.name.partition(".")[0]
                if isinstance(value, External) and len(scope.bindings.get(name, ())) == 1:
                    found[scope, name] = frozenset({value})
        return found

    def _imported(self, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[ast.alias, Object]]:
        """The names that an import binds to packages and to files."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                shown = alias.name if alias.asname else alias.name.partition(".")[0]
                found = self._modules.get(shown)
                yield alias, File(found) if found else external(shown)
            return
        origin = "." * node.level + (node.module or "")
        for alias in node.names:
            module = self._modules.get(joined(origin, alias.name))
            if module is not None:
                yield alias, File(module)
            elif origin not in self._modules and not node.level:
                yield alias, external(f"{origin}.{alias.name}")

    def file(self, put_off: set[ast.AST]) -> None:
        """Write down all that the file says.

        Args:
          put_off: functions that are kept apart by their calls; ``body`` is for each of those.
        """
        self._put_off = put_off
        self._versions.enter(self._scope)
        self._all(self._document.tree.body)

    def body(self, node: ast.FunctionDef | ast.AsyncFunctionDef, context: Context) -> None:
        """Write down what the body of a function says when one call calls it."""
        scope = self._scopes[node]
        around = self._scope, self._class, self._function, self._context, self._own
        self._scope, self._function, self._context, self._own = scope, node, context, {node}
        self._class = self._class_around(scope)
        self._enter_versions()
        self._parameters(node, scope.parent)
        self._all(node.body)
        self._scope, self._class, self._function, self._context, self._own = around

    def _class_around(self, scope: Scope) -> Class | None:
        parent = scope.parent
        if parent is not None and isinstance(parent.node, ast.ClassDef):
            return Class(self._document, parent.node)
        return None

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
            self._inside(node)
        else:
            method(node)

    def _inside(self, node: ast.AST) -> None:
        self._all(ast.iter_child_nodes(node))

    def _assign_statement(self, node: ast.Assign) -> None:
        value = self._value(node.value)
        if self._class is not None and self._scope.is_class:
            value = self._as_attribute(self._class, node, value)
        self._versions.replace(node)
        for target in node.targets:
            self._assign(target, value)

    def _as_attribute(self, of: Class, node: ast.Assign, value: Held) -> Held:
        """What the body of a class assigns, as its objects have it: a function is a method."""
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Name(id="property"), args=[getter, *setter]) as call,
            ):
                memory, calls = self._memory, self._calls
                by_python = Call(self._document, call, self._context)
                methods = [memory.bound(memory.of(each)) for each in (getter, *setter)]
                for each in methods:
                    memory.ask(each)
                    memory.each(each, lambda method: memory.receive(method, Instance(of)))
                    memory.flow(each, memory.own_methods(of.node))
                for each in methods[1:2]:
                    calls.called(by_python, each, memory.field(of.node, name))
                return calls.called(by_python, methods[0])
        return self._memory.bound(value)

    def _annotated_statement(self, node: ast.AnnAssign) -> None:
        self._assign(node.target, self._annotated(node.annotation))
        if node.value is not None:
            self._assign(node.target, self._value(node.value))

    def _augmented_statement(self, node: ast.AugAssign) -> None:
        both = self._value(node.target), self._value(node.value)
        if isinstance(node.op, ast.BitOr):
            self._assign(node.target, both[1])
        elif isinstance(node.op, ast.Add) and (
            _is_list(node.value) or isinstance(node.value, ast.Name | ast.Attribute | ast.Call)
        ):
            self._assign(node.target, self._sum(node, both))

    def _if(self, node: ast.If) -> None:
        self._value(node.test)
        versions = self._versions
        before = versions.state()
        self._all(node.body)
        after = versions.state()
        versions.go_back(before)
        self._all(node.orelse)
        versions.join(after)

    def _for(self, node: ast.For | ast.AsyncFor) -> None:
        self._assign(node.target, self._elements(node.iter))
        self._all(node.body)
        self._all(node.orelse)

    def _with_item(self, node: ast.withitem) -> None:
        value = self._value(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, self._memory.entered(value))

    def _match(self, node: ast.Match) -> None:
        subject = self._value(node.subject)
        for case in node.cases:
            for each in ast.walk(case.pattern):
                if isinstance(each, ast.expr):
                    self._value(each)
            for name, value in captured(self._memory, case.pattern, subject, self._modules):
                self._bind(name, value)
            self._all([each for each in (case.guard, *case.body) if each is not None])

    def _return(self, node: ast.Return) -> None:
        if node.value is not None:
            value = self._value(node.value)
            if self._function is not None:
                self._memory.flow(value, self._memory.returns(self._function, self._context_here()))

    def _context_here(self) -> Context:
        return self._context if self._function in self._own else None

    def _assign(self, target: ast.expr, value: Held) -> None:
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
                        rest = Container(each, self._context)
                        memory.put(rest, ANYWHERE, memory.contents(value))
                        self._assign(each, memory.made(rest))
                    else:
                        self._assign(each, memory.contents(value))
            case ast.Attribute(value=owner, attr=attribute):
                held = self._value(owner)
                if value is not NOTHING:
                    memory.store_field(held, attribute, value)
            case ast.Subscript(value=owner, slice=key):
                held = self._value(owner)
                memory.store_key(held, self._value(key))
                fields = self._whose_fields(target)
                if fields is not NOTHING and value is not NOTHING:
                    memory.store_field(fields, str(key_of(key)), value)
                elif value is not NOTHING:
                    several = isinstance(key, ast.Slice)
                    memory.store_item(
                        held, key_of(key), memory.entries(value) if several else value
                    )

    def _bind(self, name: str, value: Held) -> None:
        if value is NOTHING:
            return
        scope = self._home(name)
        if scope is None:
            return
        if isinstance(scope.node, ast.ClassDef):
            # What the body of a class assigns is an attribute of its instances.
            self._memory.flow(value, self._memory.field(scope.node, name))
        for version in self._versions.bound(scope, self._scope, name):
            self._memory.flow(value, self._variable(scope, version))

    def _home(self, name: str) -> Scope | None:
        """The scope whose variable of this name a statement here binds."""
        scope = self._scope
        if name in scope.elsewhere:
            return scope.home(name)
        return scope

    def _variable(self, scope: Scope, name: str) -> Variable:
        context = self._context if scope.node in self._own else None
        return self._memory.variable(scope.node, name, context)

    def _enter(self, node: ast.AST) -> Scope:
        around = self._scope
        self._scope = self._scopes[node]
        if self._context is not None:
            self._own.add(node)
        return around

    def _enter_versions(self) -> None:
        scope = self._scope
        for name in self._versions.enter(scope):
            given = self._variable(scope, name)
            self._memory.flow(given, self._variable(scope, all_versions(name)))

    def _define(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        wrapping = [(each, self._value(each)) for each in node.decorator_list]
        called = [each.func if isinstance(each, ast.Call) else each for each in node.decorator_list]
        decorators = {last_name(each) for each in called}
        owner = self._class if self._scope.is_class else None
        every = parameters(node.args)
        # Without a parameter it can be called on nothing but the class.
        is_method = owner is not None and "staticmethod" not in decorators and bool(every)
        function = Function(self._document, node, is_method, self._context)
        memory = self._memory
        if owner is not None and decorators & _LOOKED_UP:
            # A property is what it returns.
            result = memory.returns(node, None)
            memory.flow(result, memory.field(owner.node, node.name))
        elif owner is not None and decorators & _ACCESSORS:
            # What is assigned to the property is given to the function that sets it.
            for each in parameters(node.args)[1:]:
                memory.flow(
                    memory.field(owner.node, node.name), memory.variable(node, each.arg, None)
                )
        else:
            # Decorators return the function, or one that does the same.
            self._bind(node.name, frozenset({function}))
            if owner is None:
                self._decorate(wrapping, function)
        if decorators & _CONTEXT_MANAGERS:
            memory.context_managers.add(node)
        if is_method and owner is not None:
            memory.solver.state(memory.own_methods(owner.node), [function])
            of = "classmethod" in decorators or node.name == INIT_SUBCLASS
            given: Object = owner if of else Instance(owner)
            memory.methods[node] = Method(every[0].arg, of)
            memory.flow(frozenset({given}), memory.variable(node, every[0].arg, None))
        for decorator in node.decorator_list:
            match decorator:
                case ast.Call(func=ast.Attribute(attr="register"), args=[kind]):
                    self._dispatch(kind, frozenset({function}))
        for decorator in node.decorator_list:
            for name, value in parametrized(decorator, [each.arg for each in every[is_method:]]):
                memory.flow(memory.of(value), memory.variable(node, name, None))
        is_fixture = "fixture" in decorators
        if is_fixture or node.name.startswith("test"):
            self._fixtures(node, is_fixture)
        if node in self._put_off:
            self._all(node.args.defaults)
            self._all(each for each in node.args.kw_defaults if each is not None)
            self._calls.bodies[node] = functools.partial(self.body, node)
            return
        around = self._scope, self._class, self._function
        self._enter(node)
        self._function = node
        self._enter_versions()
        self._parameters(node, around[0])
        self._class = owner
        self._all(node.body)
        self._scope, self._class, self._function = around

    def _fixtures(self, node: ast.FunctionDef | ast.AsyncFunctionDef, is_fixture: bool) -> None:
        """What pytest gives by the names of parameters: what fixtures of these names return."""
        memory, path = self._memory, self._document.path
        if is_fixture:
            seen_in = path.parent if path.name == "conftest.py" else path
            name = next(filter(None, map(_fixture_name, node.decorator_list)), node.name)
            memory.flow(memory.returns(node, None), memory.fixture(seen_in, name))
            for decorator in node.decorator_list:
                if isinstance(decorator, ast.Call) and (given := fixture_params(decorator)):
                    param = memory.joined([memory.of(each) for each in given])
                    call = Call(self._document, decorator, self._context)
                    request = self._calls.packages.namespace(call, Given([], [("param", param)]))
                    memory.flow(frozenset({request}), memory.variable(node, "request", None))
        for each in parameters(node.args):
            for place in (path, *path.parents):
                found = memory.fixture(place, each.arg)
                memory.flow(found, memory.variable(node, each.arg, None))

    def _parameters(self, node: FunctionNode, outside: Scope | None) -> None:
        """Give to parameters what their annotations and defaults say."""
        inside, self._scope = self._scope, outside or self._scope
        memory, arguments = self._memory, node.args
        own = self._context if node in self._own else None
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            memory.flow(self._annotated(node.returns), memory.returns(node, own))
        first = memory.methods[node].receiver if node in memory.methods else ""
        follow = functools.partial(memory.solver.follow, node)
        for each in parameters(arguments):
            if each.arg != first:
                variable = memory.variable(node, each.arg, own)
                # Who asks for a parameter asks for the calls.
                memory.solver.trigger(variable, follow)
            if each.annotation is not None:
                value = self._annotated(each.annotation)
                memory.flow(value, memory.variable(node, each.arg, own))
        positional = [*arguments.posonlyargs, *arguments.args]
        last = positional[len(positional) - len(arguments.defaults) :]
        pairs = [*zip(last, arguments.defaults, strict=True)]
        pairs += [
            (each, default)
            for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
            if default is not None
        ]
        for each, default in pairs:
            memory.flow(self._value(default), memory.variable(node, each.arg, own))
        self._scope = inside

    def _decorate(self, wrapping: Iterable[tuple[ast.expr, Held]], decorated: Object) -> None:
        """Give a function or class to those of its decorators that may put it into a registry."""
        memory = self._memory
        come: set[Object] = set()

        def give(decorator: Object) -> None:
            if isinstance(decorator, Function) and (name := kept_by(decorator)):
                taken = memory.variable(decorator.node, name, decorator.context)
                memory.flow(frozenset({decorated}), taken)
            elif isinstance(decorator, Partial) and decorator not in come:
                come.add(decorator)  # one may seem to be made of itself
                memory.ask(self._calls.called_by(decorator))
                memory.each(self._calls.called_by(decorator), give)

        for node, held in wrapping:
            maker = node.func if isinstance(node, ast.Call) else node
            # Those of packages have no registry of the program.
            if held is not NOTHING and isinstance(memory.of(maker), Variable):
                memory.ask(held)
                memory.each(held, give)

    def _define_class(self, node: ast.ClassDef) -> None:
        wrapping = [(each, self._value(each)) for each in node.decorator_list]
        self._all(node.keywords)
        found = Class(self._document, node)
        self._all(node.bases)
        for each in bases_of(node):
            self._memory.inherit(found, self._memory.of(each))
        self._memory.classes.append((self._document, node))
        self._bind(node.name, frozenset({found}))
        self._decorate(wrapping, found)
        around = self._scope, self._class
        self._enter(node)
        self._class = found
        self._all(node.body)
        self._scope, self._class = around

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        known = dict(self._imported(node))
        for alias, value in known.items():
            name = alias.asname or alias.name
            if isinstance(node, ast.Import):
                name = alias.asname or alias.name.partition(".")[0]
            self._bind(name, frozenset({value}))
        if isinstance(node, ast.Import):
            return
        module = self._modules.get("." * node.level + (node.module or ""))
        if module is None:
            return
        for alias in node.names:
            if alias in known:
                continue
            names = self._stars.given(module) if alias.name == "*" else [alias.name]
            for each in names:
                shown = each if alias.name == "*" else alias.asname or alias.name
                self._bind(shown, self._memory.variable(module.tree, each, None))

    # Expressions

    def _value(self, node: ast.expr) -> Held:
        """What an expression holds; what stands inside of it is written down too."""
        method = self._expressions.get(type(node))
        if method is None:
            self._inside(node)
            return NOTHING
        held = method(node)
        if node in self._shown and not isinstance(held, Variable):
            known, held = held, Variable(node)
            self._memory.flow(known, held)
        if held is not NOTHING:
            self._memory.note(node, held)
        return held

    def _name(self, node: ast.Name) -> Held:
        scope = self._scope
        if scope.is_class or self._context is not None or self._versions.has(node.id):
            return self._held_by(scope.binder(node.id, (node.lineno, node.col_offset)), node.id)
        key = (scope, node.id)
        held = self._read.get(key)
        if held is None:
            held = self._read[key] = self._held_by(scope.binder(node.id, (0, 0)), node.id)
        return held

    def _held_by(self, home: Scope | None, name: str) -> Held:
        if home is None:
            if name not in self._stars.brought(self._document):
                full_name = self._stars.of_flax_optim(self._document).get(name, name)
                return frozenset({external(full_name)})
            home = self._scopes[self._document.tree]
        if (home, name) in self._packages:
            return self._packages[home, name]
        version = self._versions.now(home, self._scope, name)
        held = self._variable(home, version)
        if version == name or home.parent is not None:
            return held
        return self._memory.joined([held, self._memory.set_elsewhere(self._document.tree, name)])

    def _attribute(self, node: ast.Attribute) -> Held:
        owner = self._value(node.value)
        if owner is NOTHING and known_names.tells_optimizer(node):
            owner = Variable(node.value)
            self._memory.note(node.value, owner)
        held = self._memory.attribute(owner, node.attr, self._modules)
        if held is NOTHING:
            # It may still turn out to be known by its name alone.
            held = Variable(node)
        if known_names.hints_at_optimizer(node.attr, last_name(node.value)):
            self._memory.ask(owner)
        if isinstance(held, Variable):
            self._memory.asked.append(Asked(self._document, node, owner, held))
        return held

    def _call(self, node: ast.Call) -> Held:
        function = self._value(node.func)
        owner: Held = NOTHING
        method = ""
        if isinstance(node.func, ast.Attribute):
            owner, method = self._memory.of(node.func.value), node.func.attr
        arguments: list[Argument] = []
        for each in node.args:
            starred = isinstance(each, ast.Starred)
            arguments.append(Argument(None, self._value(each), starred))
        for keyword in node.keywords:
            value = self._value(keyword.value)
            arguments.append(Argument(keyword.arg, value, keyword.arg is None, True))
        if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.args:
            return frozenset({Super(self._class)}) if self._class is not None else NOTHING
        match node:
            case (
                ast.Call(func=ast.Call(func=ast.Attribute(attr="register"), args=[kind]), args=[to])
                | ast.Call(func=ast.Attribute(attr="register"), args=[kind, to])
            ):
                self._dispatch(kind, self._memory.of(to))
        call = Call(self._document, node, self._context)
        return self._calls.result(call, function, owner, method, arguments)

    def _dispatch(self, kind: ast.expr, to: Held) -> None:
        """As of ``functools.singledispatch``: a function is called with what is of this kind."""
        memory = self._memory

        def give(each: Object) -> None:
            if isinstance(each, Function):
                for first in parameters(each.node.args)[each.is_bound :][:1]:
                    taken = memory.variable(each.node, first.arg, each.context)
                    memory.flow(memory.instances(memory.of(kind)), taken)

        memory.ask(to)
        memory.each(to, give)

    def _display(self, node: ast.Tuple | ast.List | ast.Set) -> Held:
        made = Container(node, self._context)
        for index, each in enumerate(node.elts):
            value = self._value(each)
            if isinstance(each, ast.Starred):
                self._memory.put(made, ANYWHERE, self._memory.entries(value))
            else:
                self._memory.put(made, index, value)
        return self._memory.made(made)

    def _dict(self, node: ast.Dict) -> Held:
        made = Container(node, self._context, is_dict=True)
        for key, each in zip(node.keys, node.values, strict=True):
            value = self._value(each)
            if key is None:
                self._memory.put(made, ANYWHERE, self._memory.contents(value))
            else:
                self._memory.put(made, KEYS, self._value(key))
                self._memory.put(made, key_of(key), value)
        return self._memory.made(made)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp
    ) -> Held:
        made = Container(node, self._context, isinstance(node, ast.DictComp))
        first = self._elements(node.generators[0].iter)
        around = self._enter(node)
        for number, each in enumerate(node.generators):
            value = first if number == 0 else self._elements(each.iter)
            self._assign(each.target, value)
            self._all(each.ifs)
        if isinstance(node, ast.DictComp):
            self._memory.put(made, KEYS, self._value(node.key))
            element = self._value(node.value)
        else:
            element = self._value(node.elt)
        self._scope = around
        self._memory.put(made, ANYWHERE, element)
        return self._memory.made(made)

    def _whose_fields(self, node: ast.Subscript) -> Held:
        """The object or file of which brackets take a field by its name, as ``vars(x)["name"]``."""
        match node:
            case ast.Subscript(value=ast.Call(func=ast.Name(id="globals"))):
                owner: Held = frozenset({File(self._document)})
            case _:
                of = whose_fields(node.value)
                owner = NOTHING if of is node.value else self._memory.of(of)
        return owner if isinstance(node.slice, ast.Constant) else NOTHING

    def _subscript(self, node: ast.Subscript) -> Held:
        owner = self._value(node.value)
        self._value(node.slice)
        fields = self._whose_fields(node)
        if fields is not NOTHING:
            return self._memory.attribute(fields, str(key_of(node.slice)), self._modules)
        if _is_own_file(owner, node.slice):
            return frozenset({File(self._document)})
        if isinstance(node.slice, ast.Slice):
            made = Container(node, self._context)
            self._memory.put(made, ANYWHERE, self._memory.contents(owner))
            return self._memory.made(made) if owner is not NOTHING else NOTHING
        return self._memory.item(owner, key_of(node.slice))

    def _either(self, node: ast.IfExp) -> Held:
        self._value(node.test)
        return self._memory.joined([self._value(node.body), self._value(node.orelse)])

    def _operation(self, node: ast.BinOp) -> Held:
        both = self._value(node.left), self._value(node.right)
        # Most operations are of numbers. One of these tells a list that becomes longer.
        if _is_list(node.left) or _is_list(node.right):
            return self._sum(node, both)
        if isinstance(node.op, ast.BitOr) and ast.Dict in (type(node.left), type(node.right)):
            return self._memory.joined(both)
        return NOTHING

    def _sum(self, node: ast.AST, both: Sequence[Held]) -> Held:
        """A container of the entries of both, which stand in other places of it."""
        made = Container(node, self._context)
        for each in both:
            self._memory.put(made, ANYWHERE, self._memory.entries(each))
        return self._memory.made(made)

    def _any_of(self, node: ast.BoolOp) -> Held:
        return self._memory.joined([self._value(each) for each in node.values])

    def _walrus(self, node: ast.NamedExpr) -> Held:
        value = self._value(node.value)
        inside = self._scope
        while self._scope.is_comprehension and self._scope.parent is not None:
            self._scope = self._scope.parent
        self._assign(node.target, value)
        self._scope = inside
        return value

    def _inner(self, node: ast.Starred | ast.Await) -> Held:
        return self._value(node.value)

    def _lambda(self, node: ast.Lambda) -> Held:
        around = self._scope, self._function
        self._enter(node)
        self._function = node
        self._parameters(node, around[0])
        held = self._value(node.body)
        self._memory.flow(held, self._memory.returns(node, self._context))
        self._scope, self._function = around
        return self._memory.made(Function(self._document, node, context=self._context))

    def _yield(self, node: ast.Yield) -> Held:
        if node.value is not None:
            self._give(self._value(node.value))
        if self._function is None:
            return NOTHING
        made = Container(self._function, self._context_here())
        return self._memory.slot(made, SENT)

    def _yield_from(self, node: ast.YieldFrom) -> Held:
        self._give(self._elements(node.value))
        memory = self._memory

        def follow(each: Object, result: Variable) -> None:
            if isinstance(each, Container) and isinstance(each.node, ast.FunctionDef):
                memory.flow(memory.returns(each.node, each.context), result)

        return memory.derived("returned", memory.of(node.value), follow)

    def _give(self, value: Held) -> None:
        """Let the function around return a container of this, or this itself to a ``with``."""
        if self._function is None:
            return
        memory, context = self._memory, self._context_here()
        result = memory.returns(self._function, context)
        if self._function in memory.context_managers:
            memory.flow(value, result)
        else:
            made = Container(self._function, context)
            memory.put(made, ANYWHERE, value)
            memory.flow(frozenset({made}), result)

    def _elements(self, iterated: ast.expr) -> Held:
        """What a loop over an expression gives to its variable."""
        return self._memory.entries(self._value(iterated))

    def _annotated(self, annotation: ast.expr) -> Held:
        """What a variable with an annotation can hold."""
        match annotation:
            case ast.Constant() if annotation in self._document.quoted:
                return self._annotated(self._document.quoted[annotation])
            case ast.Name() | ast.Attribute():
                return self._memory.instances(self._value(annotation))
            case ast.BinOp(left=first, right=second):
                return self._memory.joined([self._annotated(first), self._annotated(second)])
            case ast.Tuple(elts=several):
                return self._memory.joined([self._annotated(each) for each in several])
            case ast.Subscript(value=generic, slice=inner):
                name = last_name(generic)
                self._value(generic)
                if name in _TRANSPARENT:
                    return self._annotated(inner)
                kind = name.lower()
                if kind in _CONTAINERS:
                    made = Container(annotation, self._context, kind in _DICTS)
                    places: list[tuple[Hashable, ast.expr]]
                    match inner:
                        case ast.Tuple(elts=[*entries, ast.Constant(value=last)]) if (
                            kind == "tuple" and last is ...
                        ):
                            places = [(ANYWHERE, each) for each in entries]
                        case ast.Tuple(elts=entries) if kind == "tuple":
                            places = [*enumerate(entries)]
                        case _:
                            places = [(ANYWHERE, inner)]
                    for place, entry in places:
                        self._memory.put(made, place, self._annotated(entry))
                    return self._memory.made(made)
                self._value(inner)
                return self._memory.instances(self._memory.of(generic))
        return NOTHING


def _fixture_name(decorator: ast.expr) -> str:
    """The name that ``pytest.fixture(name="...")`` gives to a fixture; "" if it gives none."""
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        match keyword:
            case ast.keyword(arg="name", value=ast.Constant(value=str(name))):
                return name
    return ""


def _is_own_file(modules: Held, key: ast.expr) -> bool:
    """Whether it is ``sys.modules[__name__]``."""
    is_own = isinstance(key, ast.Name) and key.id == "__name__"
    return is_own and modules == frozenset({external("sys.modules")})


def _is_list(node: ast.expr) -> bool:
    """Whether an expression is evidently a list or a tuple."""
    match node:
        case ast.Subscript(slice=ast.Slice()) | ast.Call(func=ast.Name(id="list" | "tuple")):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_list(left) or _is_list(right)
    return isinstance(node, ast.List | ast.ListComp | ast.Tuple)


_LOOKED_UP = frozenset({"property", "cached_property"})
_ACCESSORS = frozenset({"setter", "deleter"})
_CONTEXT_MANAGERS = frozenset({"contextmanager", "asynccontextmanager", "fixture"})
