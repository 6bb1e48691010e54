"""What the expressions of a program can hold: every assignment and call is followed, none is run.

The order of statements counts for nothing: a variable holds whatever is assigned to it anywhere.
That goes round until nothing new is found.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.flow import legacy_names
from flaxoptim_compat.migrate.flow.calls import ANYWHERE, returned
from flaxoptim_compat.migrate.flow.scopes import Scopes
from flaxoptim_compat.migrate.flow.statements import follow
from flaxoptim_compat.migrate.flow.values import (
    NOTHING,
    Class,
    Container,
    Definition,
    External,
    File,
    Function,
    HyperParams,
    Instance,
    Optimizer,
    Site,
    State,
    Stored,
    Value,
    Values,
    key_of,
)
from flaxoptim_compat.migrate.program.modules import connected_files

# Annotations that say nothing of how a value is wrapped, and those of containers.
_TRANSPARENT = frozenset({"Annotated", "ClassVar", "Final", "Optional", "Union"})
_CONTAINERS = frozenset(
    {"collection", "deque", "dict", "iterable", "iterator", "list", "mapping", "sequence", "tuple"}
)

# What holds the settings of a program: their names say nothing of objects.
_SETTINGS = frozenset(
    {"args", "cfg", "conf", "config", "flags", "hparams", "options", "opts", "params", "settings"}
)


class Evaluation:
    """What is known of a program so far, and how more becomes known.

    Args:
      documents: its files.
      modules: for each file, the files that it imports, by the names it imports them by.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        modules: Mapping[Document, Mapping[str, Document]],
    ) -> None:
        self.documents = documents
        self.scopes = {document: Scopes(document) for document in documents}
        self.modules = modules
        self.connected = connected_files(modules)
        # What variables, fields of objects, places in containers and functions hold or return.
        self.cells: defaultdict[Hashable, set[Value]] = defaultdict(set)
        self._document_of = {
            node: document for document in documents for node in ast.walk(document.tree)
        }
        self._items: defaultdict[ast.AST, set[Hashable]] = defaultdict(set)
        self._seen: dict[ast.AST, Values] = {}
        self._in_progress: set[ast.AST] = set()
        # The functions with bound arguments that are being called: one may seem to call itself.
        self.being_called: set[ast.AST] = set()
        self._changed = True

    def run(self) -> None:
        """Go round until nothing new is found."""
        self._changed = True
        while self._changed:
            self._changed = False
            self._seen = {}
            for node in self._document_of:
                follow(self, node)

    def add(self, cell: Hashable, values: Iterable[Value]) -> None:
        """Let a cell hold these values too."""
        values = frozenset(values)
        if not values:
            return
        if isinstance(cell, tuple) and cell[0] == "item":
            self._items[cell[1]].add(cell)
        known = self.cells[cell]
        before = len(known)
        known.update(values)
        self._changed |= len(known) > before

    def values(self, node: ast.AST) -> Values:
        """What an expression can hold."""
        found = self._seen.get(node)
        if found is None:
            if node in self._in_progress:
                return NOTHING
            self._in_progress.add(node)
            found = self._evaluated(node)
            self._in_progress.discard(node)
            self._seen[node] = found
        return found

    def definitions(self) -> list[Site]:
        """Where the program makes definitions, in the order of its files."""
        found = {
            value.site: None
            for node in self._document_of
            if isinstance(node, ast.Call)
            for value in self.values(node)
            if isinstance(value, Definition) and value.site.node is node
        }
        return list(found)

    def document_of(self, node: ast.AST) -> Document:
        """The file that a node is a part of."""
        return self._document_of[node]

    # Expressions

    def annotated(self, annotation: ast.expr) -> Values:
        """What a variable with an annotation can hold."""
        match annotation:
            case ast.Name() | ast.Attribute():
                return frozenset(self._instances(self.values(annotation)))
            case ast.BinOp(left=first, right=second):
                return self.annotated(first) | self.annotated(second)
            case ast.Tuple(elts=several):
                return frozenset().union(*map(self.annotated, several))
            case ast.Subscript(value=generic, slice=inner):
                name = generic.attr if isinstance(generic, ast.Attribute) else ""
                name = generic.id if isinstance(generic, ast.Name) else name
                if name in _TRANSPARENT:
                    return self.annotated(inner)
                if name.lower() in _CONTAINERS:
                    self.add(("item", annotation, ANYWHERE), self.annotated(inner))
                    return frozenset({Container(annotation)})
        return NOTHING

    def _instances(self, classes: Values) -> Iterator[Value]:
        for value in classes:
            if isinstance(value, External) and legacy_names.is_optimizer(value.name):
                yield Optimizer(None)
            elif isinstance(value, Class):
                yield Instance(value)

    def _evaluated(self, node: ast.AST) -> Values:
        match node:
            case ast.Name(id=name):
                scope = self.scopes[self.document_of(node)].binder(node, name)
                if scope is None:
                    return frozenset({External(name)})
                return frozenset(self.cells[("variable", scope, name)])
            case ast.Attribute(value=owner, attr=attribute):
                found = self.attributes(self.values(owner), attribute)
                return self._as_files(node, found) or self._hinted(node)
            case ast.Call():
                return returned(self, node)
            case ast.Tuple(elts=elements) | ast.List(elts=elements) | ast.Set(elts=elements):
                for index, each in enumerate(elements):
                    if isinstance(each, ast.Starred):
                        self.add(("item", node, ANYWHERE), self.elements(each.value))
                    else:
                        self.add(("item", node, index), self.values(each))
                return frozenset({Container(node)})
            case ast.Dict(keys=keys, values=values):
                for key, each in zip(keys, values, strict=True):
                    if key is None:
                        self.add(("item", node, ANYWHERE), self.contents(self.values(each)))
                    else:
                        self.add(("item", node, key_of(key)), self.values(each))
                return frozenset({Container(node)})
            case (
                ast.ListComp(elt=element)
                | ast.SetComp(elt=element)
                | ast.GeneratorExp(elt=element)
                | ast.DictComp(value=element)
            ):
                self.add(("item", node, ANYWHERE), self.values(element))
                return frozenset({Container(node)})
            case ast.Subscript(value=owner, slice=key):
                return self.item(self.values(owner), key_of(key))
            case ast.IfExp(body=first, orelse=second):
                return self.values(first) | self.values(second)
            case ast.BoolOp(values=several):
                return frozenset().union(*map(self.values, several))
            case ast.NamedExpr(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                return self.values(value)
            case ast.Lambda():
                return frozenset({Function(self.document_of(node), node)})
        return NOTHING

    def attributes(self, owners: Values, attribute: str) -> Values:
        """What an attribute of these can hold."""
        found: set[Value] = set()
        for owner in owners:
            match owner:
                case External(name=name):
                    found.add(External(f"{name}.{attribute}"))
                case File(document=document):
                    found |= self.cells[("variable", document.tree, attribute)]
                case Instance(of=of):
                    found |= self._of_class(of, attribute)
                case Class():
                    found |= self._of_class(owner, attribute)
                case Optimizer(site=site) if attribute == "state":
                    found.add(State(site))
                case Optimizer(site=site) if attribute == "optimizer_def" and site is not None:
                    found.add(Definition(site))
                case Definition(site=site) if attribute == "hyper_params":
                    found.add(HyperParams(site))
        return frozenset(found)

    def _of_class(self, of: Class, attribute: str) -> set[Value]:
        found: set[Value] = set()
        for each in self.lineage(of):
            found |= self.cells["field", each.node, attribute]
        return found

    def lineage(self, of: Class) -> list[Class]:
        """A class of the program, and those of the program that it inherits from."""
        found = [of]
        # A class may seem to inherit from itself, where a name is that of several.
        for each in found:
            for base in each.node.bases:
                for value in self.values(base):
                    if isinstance(value, Class) and value not in found:
                        found.append(value)
        return found

    def _as_files(self, node: ast.AST, values: Values) -> Values:
        """Names that are those of files of the program become these files."""
        modules = self.modules[self.document_of(node)]
        return frozenset(
            File(modules[each.name])
            if isinstance(each, External) and each.name in modules
            else each
            for each in values
        )

    def _hinted(self, node: ast.Attribute) -> Values:
        """An attribute of an unknown object: what is known of all attributes of that name."""
        owner = node.value
        name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
        known = any(not isinstance(each, Container) for each in self.values(owner))
        if known or name.lower() in _SETTINGS:
            return NOTHING
        return frozenset(self.cells[self.hint(node, node.attr)])

    def hint(self, node: ast.AST, name: str) -> Hashable:
        """The cell of what attributes of a name hold, in the files that imports connect."""
        return ("hint", self.connected[self.document_of(node)], name)

    def contents(self, values: Values) -> Values:
        """Whatever is in these containers."""
        found: set[Value] = set()
        for value in values:
            if isinstance(value, Container):
                for cell in self._items[value.node]:
                    found |= self.cells[cell]
        return frozenset(found)

    def holds_optimizer(self, values: Values) -> bool:
        """Whether there is an optimizer among these values, or in fields or places of them."""
        seen: set[Value] = set()
        waiting = list(values)
        while waiting:
            value = waiting.pop()
            if isinstance(value, Optimizer):
                return True
            if value not in seen:
                seen.add(value)
                waiting += self.contents(frozenset({value}))
                if isinstance(value, Instance):
                    fields = [cell for cell in self.cells if _is_field(cell, value.of)]
                    waiting += [inner for cell in fields for inner in self.cells[cell]]
        return False

    def spread(self, values: Values) -> list[Values]:
        """What ``*`` before an expression makes of it: its elements in order."""
        places = [
            cell[2]
            for value in values
            if isinstance(value, Container)
            for cell in self._items[value.node]
            if isinstance(cell, tuple) and isinstance(cell[2], int)
        ]
        if not places:
            return [self.contents(values)]
        return [self.item(values, index) for index in range(max(places) + 1)]

    def item(self, values: Values, key: Hashable) -> Values:
        """What is in these containers at a place; None: at a place that is not known."""
        found: set[Value] = set()
        for value in values:
            match value:
                case Container(node=node) if key is None:
                    found |= self.contents(frozenset({value}))
                case Container(node=node):
                    found |= self.cells[("item", node, key)] | self.cells[("item", node, ANYWHERE)]
                case Stored():
                    found.add(value)
                case HyperParams(site=site, part=None) if isinstance(key, int):
                    found.add(HyperParams(site, key))
        return frozenset(found)

    def elements(self, iterated: ast.expr) -> Values:
        """What a loop over an expression gives to its variable."""
        match iterated:
            case ast.Call(func=ast.Attribute(value=owner, attr="values"), args=[]):
                return self.contents(self.values(owner))
            case ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[]):
                self.add(("item", iterated, 1), self.contents(self.values(owner)))
                return frozenset({Container(iterated)})
            case ast.Call(func=ast.Name(id="enumerate"), args=[inner, *_]):
                self.add(("item", iterated, 1), self.elements(inner))
                return frozenset({Container(iterated)})
            case ast.Call(func=ast.Name(id="zip"), args=several):
                for index, each in enumerate(several):
                    self.add(("item", iterated, index), self.elements(each))
                return frozenset({Container(iterated)})
        return self.contents(self.values(iterated))


def _is_field(cell: Hashable, of: Class) -> bool:
    return isinstance(cell, tuple) and cell[:2] == ("field", of.node)
