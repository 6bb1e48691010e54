"""Files whose imports change."""

from __future__ import annotations

import ast
from collections.abc import Collection
from pathlib import Path

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.names.names import Names
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.run import rewriting
from flaxoptim_compat.migrate.run.analysis import FileFindings


class File:
    """A file, and what rules do with its imports."""

    def __init__(
        self, text: str, module: str = "", is_package: bool = False, needed: Collection[str] = ()
    ) -> None:
        self.document = Document(Path("a.py"), text, ast.parse(text), module, is_package)
        self.names = Names(self.document)
        self.plan = ImportPlan(self.document, self.names, needed)
        self.edits: list[Edit] = []

    def here(self, mark: str = "HERE") -> ast.AST:
        return next(
            node
            for node in ast.walk(self.document.tree)
            if isinstance(node, ast.Name) and node.id == mark
        )

    def name_of(self, wanted: str, name: str = "", mark: str = "HERE") -> str:
        return self.plan.name_of(wanted, self.here(mark), name)

    def use(self, old: str, new: str) -> None:
        """Replace every use of a name by another name."""
        for use in self.names.uses:
            if use.name == old and isinstance(use.node, ast.expr):
                text = self.plan.name_of(new, use.node)
                self.edits.append(Edit(*self.document.span(use.node), (text,)))
                self.plan.release(use.node)

    def redirect(self, old: str, new: str) -> None:
        for use in self.names.uses:
            if use.name == old and isinstance(use.node, ast.alias):
                self.plan.redirect(use.node, new)

    def release(self, *names: str) -> None:
        for use in self.names.uses:
            if use.name in names and not isinstance(use.node, ast.alias):
                self.plan.release(use.node)

    def result(self) -> str:
        edits = [*self.edits, *self.plan.edits()]
        found = FileFindings(self.document, [], [], {"shim": edits})
        return rewriting.rewritten(found, "shim").text
