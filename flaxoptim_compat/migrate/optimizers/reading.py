"""The input of the rules: a file, its names, and the facts about the program's optimizers."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.optimizers.decisions import decide, shared_traversals
from flaxoptim_compat.migrate.optimizers.escapes import is_certain, not_understood
from flaxoptim_compat.migrate.optimizers.recognition import Recognisers, uses
from flaxoptim_compat.migrate.optimizers.units import Unit, units
from flaxoptim_compat.migrate.optimizers.use import Use, shown
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.noqa import NOTHING_IGNORED, Ignored
from flaxoptim_compat.migrate.program.releases import NEWEST, Releases
from flaxoptim_compat.migrate.values.evidence import Evidence
from flaxoptim_compat.migrate.values.objects import Site
from flaxoptim_compat.migrate.values.points_to import PointsTo

Found = TypeVar("Found")


class Facts:
    """The optimizers of a program, what is done with them, and what becomes of them.

    Args:
      documents: the files of the program that have to do with optimizers.
      imported: for each file the files that it imports, by the names in its imports.
      ignored: the codes that are not wanted, by file.
      recognisers: what the rules recognise.
      evidence: what a run showed.
      moves_elsewhere: whether optimizers of other files become TrainStates.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        imported: Mapping[Document, Mapping[str, Document]],
        ignored: Mapping[Path, Ignored],
        recognisers: Recognisers,
        evidence: Evidence | None = None,
        moves_elsewhere: bool = False,
    ) -> None:
        self.points_to = PointsTo(documents, imported, evidence)
        self._not_understood = {
            document: not_understood(self.points_to, document) for document in documents
        }
        found = list(_wanted(uses(self.points_to, recognisers), ignored))
        self.units = units(self.points_to, found)
        for unit in self.units:
            decide(self.points_to, unit)
            unit.is_dual &= not any(_stays(each, ignored) for each in unit.sites)
        self.moves_some = moves_elsewhere or any(unit.moves or unit.is_dual for unit in self.units)
        # The calls that make definitions.
        self.making = {site.node for unit in self.units for site in unit.sites}
        self._traversals = shared_traversals(self.points_to, self.units)
        self._converting = {
            use.document for unit in self.units if unit.converts for use in unit.uses
        }
        unit_of = {id(use): unit for unit in self.units for use in unit.uses}
        self._uses: dict[tuple[str, Document], list[tuple[Use, Unit]]] = {}
        for use in found:
            same = self._uses.setdefault((use.code, use.document), [])
            same.append((use, unit_of[id(use)]))

    def of(self, code: str, document: Document) -> Iterator[tuple[Use, Unit]]:
        """The uses in a file that fall under a rule, each with its unit."""
        yield from self._uses.get((code, document), ())

    def starting_in(self, document: Document) -> list[Unit]:
        """The units of which a file has the first use."""
        return [unit for unit in self.units if unit.uses and unit.uses[0].document is document]

    def definitions(self, document: Document) -> Iterator[tuple[Site, Unit]]:
        """The definitions that a file makes, each with its unit."""
        for unit in self.units:
            for site in unit.sites:
                if site.document is document:
                    yield site, unit

    def traversals(self, document: Document) -> Iterator[tuple[ast.Call, bool]]:
        """The traversals whose function alone is left, and whether another text has it already."""
        for traversal, inline in self._traversals.items():
            if traversal.document is document:
                yield traversal.node, inline

    def unknown(self, document: Document) -> list[tuple[ast.expr, str]]:
        """Places that look like uses of an optimizer, and are not understood."""
        why = "the run did not come here" if self.points_to.evidence.makers else ""
        # Where optimizers become TrainStates, what is left to say `.target` to one would fail.
        converts = document in self._converting
        return [
            (node, why or f"the text does not show whether `{shown(node.value)}` is an optimizer")
            for node in self._not_understood[document]
            if converts or is_certain(self.points_to, node)
        ]


def _wanted(found: Iterable[Use], ignored: Mapping[Path, Ignored]) -> Iterator[Use]:
    """The uses as the program's own marks want them."""
    for use in found:
        if not ignored.get(use.document.path, NOTHING_IGNORED).has(use.code, use.node.lineno):
            yield use
        elif use.code not in ("FOC215", "FOC218"):  # that this is not so is all they can say
            problem = "A comment says that it is to stay."
            yield dataclasses.replace(use, problem=problem, bridge="")


def _stays(site: Site, ignored: Mapping[Path, Ignored]) -> bool:
    """True if the program's own marks want a definition as it is."""
    marks = ignored.get(site.document.path, NOTHING_IGNORED)
    return marks.has(code_of(site), site.node.lineno)


def code_of(site: Site) -> str:
    """The rule about a definition."""
    return "FOC208" if site.name == "MultiOptimizer" else "FOC201"


@dataclasses.dataclass(eq=False)
class Reading:
    """The input of a rule's ``find``.

    Args:
      document: the file.
      names: what the names in it refer to.
      ignored: the codes that are not wanted.
      facts: which expressions are optimizers; None if the program has none.
      writes: whether texts in optax are wanted; else only findings are, and edits may be empty.
      accept_changes: whether definitions may become their nearest in plain optax.
      releases: the versions that the result is for.
    """

    document: Document
    names: Names
    ignored: Ignored = NOTHING_IGNORED
    facts: Facts | None = None
    writes: bool = True
    accept_changes: bool = False
    releases: Releases = NEWEST
    _found: dict[object, Any] = dataclasses.field(default_factory=dict, init=False, repr=False)

    def once(self, find: Callable[[Reading], Found]) -> Found:
        """The result of ``find(reading)``, which several rules ask for.

        The reading keeps the result, so that nothing keeps the program after its last file.
        """
        if find not in self._found:
            self._found[find] = find(self)
        found: Found = self._found[find]
        return found

    def allows(self, code: str, node: ast.expr | ast.stmt | ast.alias) -> bool:
        """True if a finding of this code is wanted at this place.

        Args:
          code: the rule.
          node: what would be reported.
        """
        return self.allows_on(node.lineno, code)

    def allows_on(self, line: int, code: str) -> bool:
        """True if a finding of this code is wanted on this line."""
        return not self.ignored.has(code, line)
