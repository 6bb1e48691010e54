"""The variables, fields, entries and results of a program, and what each can hold."""

from __future__ import annotations

import ast
from collections.abc import Collection, Hashable, Iterator

from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Create,
    Definition,
    HyperParams,
    Object,
    Objects,
    Optimizer,
    State,
    StateDict,
    Unknown,
)

# A variable, a field, an entry or a result: its kind, the node that it belongs to, and its name.
Cell = tuple[str, Hashable, Hashable]
# So often a function is read, on average, before too much is going on in the program.
_MOST_READINGS = 60
# As many objects are told apart in one variable.
_MOST_OBJECTS = 25


class Cells:
    """The values of each cell, and the functions that are to be read again when these grow."""

    def __init__(self) -> None:
        self._held: dict[Cell, Objects] = {}
        self._readers: dict[Cell, dict[ast.AST, None]] = {}
        self._written: set[Cell] = set()
        # The cells in which objects are no longer told apart.
        self._wide: set[Cell] = set()
        self._waiting: dict[ast.AST, None] = {}
        # How often functions were read, all together, and which.
        self.readings = 0
        self._were_read: dict[ast.AST, None] = {}
        # The function that is being read, and what is not told apart in it.
        self.reader: ast.AST | None = None
        self.beyond: Unknown

    def get(self, cell: Cell) -> Objects:
        """The values that a cell holds by now."""
        return self._held.get(cell, NOTHING)

    def read(self, cell: Cell) -> Objects:
        """The values that a cell holds by now; whoever reads them is read again when they grow."""
        if self.reader is not None:
            self._readers.setdefault(cell, {})[self.reader] = None
        return self._held.get(cell, NOTHING)

    def write(self, cell: Cell, objects: Collection[Object], *, counts: bool = True) -> None:
        """Add values to a cell; of those that are unknown, the first in the files stands for all.

        Args:
          cell: which.
          objects: what it can hold.
          counts: whether it may hold nothing else; not so for the default of a parameter.
        """
        if counts:
            self._written.add(cell)
        held = self._held.get(cell, NOTHING)
        if not objects or held.issuperset(objects):
            return
        both = held.union(objects)
        if cell in self._wide or len(both) > _MOST_OBJECTS:
            # So many that they are not told apart: what matters, and something unknown.
            self._wide.add(cell)
            both = frozenset([*filter(_matters, both), self.beyond])
        unknown = [each for each in both if isinstance(each, Unknown)]
        if len(unknown) > 1:
            # Of two at one place the one that is there, so that this comes to an end.
            first = min(unknown, key=lambda each: (order_of(each), each not in held))
            both = frozenset(
                each for each in both if not isinstance(each, Unknown) or each is first
            )
        if both != held:
            self._held[cell] = both
            self._waiting.update(self._readers.get(cell, {}))

    def let_wait(self, function: ast.AST) -> None:
        """Have a function read, if it was not."""
        if function not in self._were_read:
            self._waiting[function] = None

    def let_all_wait(self) -> None:
        """Have all functions that were read read once more."""
        self._waiting.update(dict.fromkeys(self._were_read))

    def waiting(self) -> Iterator[ast.AST]:
        """The functions to read, one by one, until nothing changes any more."""
        while self._waiting and not self.gave_up:
            function = next(iter(self._waiting))
            del self._waiting[function]
            self.readings += 1
            self._were_read[function] = None
            self.reader = function
            yield function
        self.reader = None

    def is_written(self, cell: Cell) -> bool:
        """True if something was written to a cell, even if it was no value that matters."""
        return cell in self._written

    def open(self) -> list[Cell]:
        """The cells that are read, and that nothing in the program writes."""
        return [each for each in self._readers if each not in self._written]

    def of(self, kind: str) -> Iterator[tuple[Cell, Objects]]:
        """All cells of a kind, with what they hold."""
        return ((cell, held) for cell, held in self._held.items() if cell[0] == kind)

    @property
    def gave_up(self) -> bool:
        """True if functions were read too often, so that the reading stopped before its end."""
        return self.readings > _MOST_READINGS * (len(self._were_read) + 20)


def _matters(each: Object) -> bool:
    """True if a value is told apart from others in a cell, however many there are."""
    kinds = Definition | Optimizer | Create | State | HyperParams | StateDict | Unknown
    return isinstance(each, kinds)


def order_of(unknown: Unknown) -> tuple[str, int, int]:
    """The file and place where something unknown comes from."""
    node = unknown.node
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return str(unknown.document.path), line, column
