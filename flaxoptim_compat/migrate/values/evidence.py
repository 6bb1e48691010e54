"""The observations of a run, at the expressions of the program's text."""

from __future__ import annotations

import ast
import functools
import os
from collections.abc import Collection, Iterable, Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Site
from flaxoptim_compat.observation.places import Position, Seen, Uses


class Shown(NamedTuple):
    """An expression that a run saw to be an optimizer, or a definition.

    Args:
      node: the expression.
      of: ``optimizer`` or ``definition``.
      made: the calls that made the definitions of what it was, each with the axis over which the
        optimizer averages its gradients, or "".
    """

    node: ast.expr
    of: str
    made: list[tuple[ast.Call, str]]


class Evidence:
    """The places of a run in the files of a program.

    Args:
      uses: what a run saw.
      documents: the files of the program that have not changed since.
      changed: the full paths of those that have.
      moved: the calls that make definitions which the text alone moves: where a run did not reach
        them, they are still followed.
    """

    def __init__(
        self,
        uses: Uses | None = None,
        documents: Iterable[Document] = (),
        changed: Collection[str] = (),
        moved: Collection[ast.Call] = (),
    ) -> None:
        self.is_of_a_run = uses is not None
        self.changed = changed
        self._moved = moved
        self._documents = {os.path.abspath(each.path): each for each in documents}
        self._ends: dict[Document, _Ends] = {}
        # The classes of the definitions that were made at each place.
        self._classes: dict[Position, set[str]] = {}
        for each in uses.seen if uses is not None else ():
            if each.of == "made":
                self._classes.setdefault(each.position, set()).add(each.name)
        self.shown: dict[tuple[ast.AST, str], Shown] = {}
        # The calls that make definitions.
        self.makers: dict[ast.Call, Document] = {}
        # Of each of them what was seen of it in files that are not these, or have changed since,
        # and what was seen in these where something else stands than an attribute.
        self.elsewhere: dict[ast.Call, list[Seen]] = {}
        self.not_understood: dict[ast.Call, list[Seen]] = {}
        self._kinds: dict[ast.Call, set[str]] = {}
        for each in sorted(uses.seen, key=str) if uses is not None else ():
            document, made = self._maker(each.made)
            if document is None or made is None:
                continue
            self.makers[made] = document
            if each.of == "created":
                self._kinds.setdefault(made, set()).add(each.name)
            if each.of in ("created", "made"):
                continue
            owners = [*self._asked_at(each)]
            for node in owners:
                shown = self.shown.setdefault((node, each.of), Shown(node, each.of, []))
                shown.made.append((made, each.axis))
            if not owners:
                is_read = each.position.file in self._documents
                others = self.not_understood if is_read else self.elsewhere
                others.setdefault(made, []).append(each)

    @functools.cached_property
    def documents(self) -> frozenset[Document]:
        """The files in which a run used an optimizer, as far as they have not changed since."""
        return frozenset(self._ends)

    @functools.cached_property
    def nodes(self) -> frozenset[ast.AST]:
        """The expressions of which a run showed what they hold, and those that make definitions."""
        return frozenset([*(node for node, _ in self.shown), *self.makers])

    def shows(self, node: ast.AST) -> bool:
        """True if a run saw what this expression makes, or the object whose attribute it reads."""
        asked = node.func if isinstance(node, ast.Call) and node not in self.makers else node
        while isinstance(asked, ast.Attribute) and asked.value not in self.nodes:
            asked = asked.value  # as in `optimizer.state.step`
        return asked in self.makers or getattr(asked, "value", None) in self.nodes

    def has_reached(self, site: Site | None) -> bool:
        """True if a run made a definition at this site, or used one from it."""
        return site is not None and site.node in self.makers

    def is_followed(self, site: Site | None) -> bool:
        """True if a run did not reach a definition, and the text alone moves it."""
        return site is not None and site.node in self._moved and site.node not in self.makers

    def kinds(self, sites: Iterable[Site | None]) -> AbstractSet[str] | None:
        """The kinds of parameters that optimizers were created for; None: a run did not come there.

        Args:
          sites: where their definitions were made.
        """
        nodes = [each.node if each is not None else None for each in sites]
        if not all(each in self.makers for each in nodes):
            return None
        return frozenset[str]().union(*(self._kinds.get(each, ()) for each in nodes if each))

    def _maker(self, position: Position | None) -> tuple[Document | None, ast.Call | None]:
        """The call that made a definition, if it is in one of the files."""
        document = self._documents.get(position.file) if position is not None else None
        if position is None or document is None:
            return None, None
        calls = [each for each in self._at(document, position) if isinstance(each, ast.Call)]
        if len(calls) > 1:  # all on one line
            names = self._classes.get(position, set())
            calls = [each for each in calls if last_name(each.func) in names]
        return document, calls[0] if calls else None

    def _asked_at(self, seen: Seen) -> Iterator[ast.expr]:
        """The objects that are asked for an attribute, by a dot, ``getattr`` or ``hasattr``."""
        document = self._documents.get(seen.position.file)
        if document is None:
            return
        for node in self._at(document, seen.position):
            match node:
                case ast.Attribute(value=owner, attr=seen.name):
                    yield owner
                case ast.Call(
                    func=ast.Name(id="getattr" | "hasattr"),
                    args=[owner, ast.Constant(value=name), *_],
                ) if name == seen.name:
                    yield owner

    def _at(self, document: Document, position: Position) -> list[ast.expr]:
        """The calls and attributes at a place; no two of a kind end where another one does.

        Where Python tells no more than lines, it is all that begin on one.
        """
        ends = self._ends.get(document)
        if ends is None:
            ends = self._ends[document] = {}
            for node in (*document.of_kind(ast.Call), *document.of_kind(ast.Attribute)):
                ends.setdefault((node.end_lineno, node.end_col_offset), []).append(node)
                ends.setdefault((node.lineno, None), []).append(node)
        if position.end_line:
            return ends.get((position.end_line, position.end_column), [])
        return ends.get((position.line, None), [])


# Calls and attributes by where they end, or by the line on which they begin.
_Ends = dict[tuple[int | None, int | None], list[ast.expr]]
