"""What the rules about optimizers need to know of a program."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.document import Document
from flaxoptim_compat.migrate.flow.evaluation import Evaluation
from flaxoptim_compat.migrate.flow.values import Optimizer, Site, fields_of
from flaxoptim_compat.migrate.optimizers.bindings import is_inline
from flaxoptim_compat.migrate.optimizers.decisions import decide, shared_traversals
from flaxoptim_compat.migrate.optimizers.units import Unit, units
from flaxoptim_compat.migrate.optimizers.use import Use, is_bridged
from flaxoptim_compat.migrate.optimizers.uses import uses

# Methods and fields that only optimizers have.
_TELLING = frozenset({"apply_gradient", "optimizer_def"})
# Fields that others have too: what the variable is called decides.
_AMBIGUOUS = frozenset({"target", "state"})
_CALLED_OPTIMIZER = re.compile(r"(^|_)(opt|optimizer)$")


class Facts:
    """The optimizers of a program, what is done with them, and what becomes of them.

    Args:
      documents: the files of the program that have to do with optimizers.
      imported: for each file the files that it imports, by the names in its imports.
      ignored: for each file and line the codes that are not wanted; "" stands for all.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        imported: Mapping[Document, Mapping[str, Document]],
        ignored: Mapping[Path, Mapping[int, frozenset[str]]],
    ) -> None:
        self.evaluation = Evaluation(documents, imported)
        self.evaluation.run()
        while self._take_hints():
            self.evaluation.run()
        found = list(_wanted(uses(self.evaluation), ignored))
        self.units = units(self.evaluation, found)
        for unit in self.units:
            decide(self.evaluation, unit)
        self._creates = {
            use.node.func.value: use.node
            for use in found
            if use.code == "FOC202"
            and isinstance(use.node, ast.Call)
            and isinstance(use.node.func, ast.Attribute)
        }
        self._traversals = shared_traversals(self.evaluation, self.units)
        self._units = {id(use): unit for unit in self.units for use in unit.uses}
        self._by_document: dict[Document, list[Use]] = {each: [] for each in documents}
        for use in found:
            self._by_document[use.document].append(use)

    def of(self, code: str, document: Document) -> Iterator[tuple[Use, Unit]]:
        """The uses in a file that fall under a rule, each with its unit."""
        for use in self._by_document[document]:
            if use.code == code and id(use) in self._units:
                yield use, self._units[id(use)]

    def definitions(self, document: Document) -> Iterator[tuple[Site, Unit]]:
        """The definitions that a file makes, each with its unit."""
        for unit in self.units:
            for site in unit.sites:
                if site.document is document:
                    yield site, unit

    def created_here(self, definition: ast.expr) -> Site | None:
        """The constructor call that ``create`` is called on at once.

        With a focus it stays out of a MultiOptimizer, which cannot be a part of a partition.
        """
        call = self._creates.get(definition)
        site = None if call is None else is_inline(self.evaluation, definition)
        if call is None or site is None:
            return None
        has_focus = any(each.arg == "focus" for each in call.keywords)
        return None if has_focus and site.name == "MultiOptimizer" else site

    def traversals(self, document: Document) -> Iterator[tuple[ast.Call, bool]]:
        """The traversals whose function alone is left, and whether another text has it already."""
        for call, inline in self._traversals.items():
            if self.evaluation.document_of(call) is document:
                yield call, inline

    def unknown(self, document: Document) -> list[tuple[ast.expr, str]]:
        """Places that look like uses of an optimizer, and are not understood."""
        # Where optimizers become TrainStates, what is left to say `.target` to one would fail.
        converts = any(
            unit.converts and use.document is document for unit in self.units for use in unit.uses
        )
        nodes = [each for each in ast.walk(document.tree) if isinstance(each, ast.Attribute)]
        own = {each.attr for each in nodes if isinstance(each.ctx, ast.Store)}
        return [
            (node, f"what has `.{node.attr}` here is not known")
            for node in nodes
            if (node.attr in _TELLING or (converts and node.attr in {"target"} - own))
            and not self.evaluation.values(node.value)
            and not _is_super(node.value)
            and not is_bridged(node)
        ]

    def _take_hints(self) -> bool:
        """Take variables for optimizers that are used like one; whether there were any."""
        before = sum(map(len, self.evaluation.cells.values()))
        evaluation = self.evaluation
        for document in evaluation.documents:
            for node in ast.walk(document.tree):
                if isinstance(node, ast.Attribute):
                    if not evaluation.values(node.value) and not is_bridged(node):
                        self._take_hint(document, node)
                elif isinstance(node, ast.ClassDef):
                    for name in fields_of(node):
                        held = evaluation.cells["field", node, name]
                        evaluation.add(evaluation.hint(node, name), filter(_is_optimizer, held))
        return sum(map(len, evaluation.cells.values())) > before

    def _take_hint(self, document: Document, node: ast.Attribute) -> None:
        owner = node.value
        name = owner.id if isinstance(owner, ast.Name) else getattr(owner, "attr", "")
        called_so = _CALLED_OPTIMIZER.search(name) is not None
        if node.attr not in _TELLING and not (node.attr in _AMBIGUOUS and called_so):
            return
        evaluation = self.evaluation
        if isinstance(owner, ast.Name):
            scope = evaluation.scopes[document].binder(owner, name)
            if scope is not None:
                evaluation.add(("variable", scope, name), {Optimizer(None)})
        elif isinstance(owner, ast.Attribute):
            evaluation.add(evaluation.hint(node, name), {Optimizer(None)})


def _wanted(
    found: Iterable[Use], ignored: Mapping[Path, Mapping[int, frozenset[str]]]
) -> Iterator[Use]:
    """The uses as the program's own marks want them."""
    for use in found:
        codes = ignored.get(use.document.path, {}).get(use.node.lineno, frozenset())
        if not codes & {use.code, ""}:
            yield use
        elif use.code != "FOC218":  # that it may be given away is all that this mark can say
            problem = "A comment says that it is to stay."
            yield dataclasses.replace(use, problem=problem, bridge="")


def _is_optimizer(value: object) -> bool:
    return isinstance(value, Optimizer)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"
