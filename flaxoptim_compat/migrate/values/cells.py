"""The variables, fields, entries and results of a program, and what each can hold."""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator
from typing import Generic, TypeVar

from flaxoptim_compat.migrate.values.objects import (
    NOTHING,
    Create,
    Definition,
    Object,
    Objects,
    Optimizer,
    StateDict,
    Unknown,
)

# A variable, a field, an entry or a result: its kind, the node that it belongs to, and its name.
Cell = tuple[str, Hashable, Hashable]
# A piece of the program that reads cells.
Reader = TypeVar("Reader", bound=Hashable)
# So often a piece is read, on average, before too much is going on in the program.
_MOST_READINGS = 60
# As many objects are told apart in one variable.
_MOST_OBJECTS = 25


@dataclasses.dataclass(eq=False, slots=True)
class _State(Generic[Reader]):
    """The values of one cell by now.

    Args:
      held: these.
      readers: who read them.
      flows: the cells that hold them, too.
      is_written: whether something was written to it, even if it was no value that matters.
      is_wide: whether objects are no longer told apart in it.
    """

    held: Objects = NOTHING
    readers: dict[Reader, None] = dataclasses.field(default_factory=dict)
    flows: list[_State[Reader]] = dataclasses.field(default_factory=list)
    is_written: bool = False
    is_wide: bool = False


class Cells(Generic[Reader]):
    """The values of each cell, and who is to read them again when these grow."""

    def __init__(self) -> None:
        self._states = collections.defaultdict[Cell, _State[Reader]](_State)
        self._waiting = collections.OrderedDict[Reader, None]()
        # How often somebody read, all together, and who did.
        self.readings = 0
        self._were_read: set[Reader] = set()
        # Who is reading, and what makes that which is not told apart there.
        self.reader: Reader | None = None
        self.beyond: Callable[[], Unknown]

    def read(self, cell: Cell) -> Objects:
        """The values that a cell holds by now; whoever reads them reads again when they grow."""
        state = self._states[cell]
        if self.reader is not None:
            state.readers[self.reader] = None
        return state.held

    def flow(self, origin: Cell, cell: Cell) -> None:
        """Let a cell hold all that another one holds or will hold, too."""
        state = self._states[origin]
        state.flows.append(self._states[cell])
        self.write(cell, state.held, counts=state.is_written)

    def write(self, cell: Cell, objects: Collection[Object], *, counts: bool = True) -> None:
        """Add values to a cell; of those that are unknown, the first in the files stands for all.

        Args:
          cell: which.
          objects: what it can hold.
          counts: whether it may hold nothing else; not so for the default of a parameter.
        """
        state = self._states[cell]
        if state.is_written and state.held.issuperset(objects):
            return
        waiting: list[tuple[_State[Reader], Collection[Object]]] = [(state, objects)]
        for each, more in waiting:
            is_new = counts and not each.is_written
            each.is_written |= counts
            held = each.held
            both = held if held.issuperset(more) else self._both(each, more)
            if both != held:
                each.held = both
                self.let_wait_again(each.readers)
            elif not is_new:
                continue
            waiting += [(other, both) for other in each.flows]

    def _both(self, state: _State[Reader], more: Collection[Object]) -> Objects:
        both = state.held.union(more)
        if state.is_wide or len(both) > _MOST_OBJECTS:
            # So many that they are not told apart: what matters, and something unknown.
            state.is_wide = True
            both = frozenset([*filter(_matters, both), self.beyond()])
        unknown = [each for each in both if type(each) is Unknown]
        if len(unknown) > 1:
            # Of two at one place the one that is there, so that this comes to an end. What an
            # optimizer that was pickled meets is never sure to be none.
            first = min(
                unknown,
                key=lambda each: (not each.is_unpickled, order_of(each), each not in state.held),
            )
            several = dataclasses.replace(first, is_several=True)
            both = both.difference(unknown) | {several}
        return both

    def let_wait(self, *readers: Reader) -> None:
        """Have somebody read who did not."""
        self.let_wait_again(each for each in readers if each not in self._were_read)

    def let_wait_again(self, readers: Iterable[Reader]) -> None:
        """Have somebody read once more."""
        for each in readers:
            self._waiting.setdefault(each)

    def waiting(self) -> Iterator[Reader]:
        """Those who are to read, one by one, until nothing changes any more."""
        while self._waiting and not self.gave_up:
            reader, _ = self._waiting.popitem(last=False)
            self.reader = reader
            self.readings += 1
            self._were_read.add(reader)
            yield reader
        self.reader = None

    def open(self) -> list[Cell]:
        """The cells that are read, and that nothing in the program writes."""
        return [
            cell for cell, state in self._states.items() if state.readers and not state.is_written
        ]

    def of(self, kind: str) -> list[tuple[Cell, Objects]]:
        """All cells of a kind that hold something, with that."""
        return [
            (cell, state.held)
            for cell, state in self._states.items()
            if cell[0] == kind and state.held
        ]

    @property
    def gave_up(self) -> bool:
        """True if pieces were read too often, so that the reading stopped before its end."""
        return self.readings > _MOST_READINGS * (len(self._were_read) + 20)


def _matters(each: Object) -> bool:
    """True if a value is told apart from others in a cell, however many there are."""
    kinds = Definition | Optimizer | Create | StateDict | Unknown
    return isinstance(each, kinds)


def order_of(unknown: Unknown) -> tuple[str, int, int]:
    """The file and place where something unknown comes from."""
    node = unknown.node
    line, column = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
    return str(unknown.document.path), line, column
