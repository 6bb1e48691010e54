"""Points-to analysis by inclusion constraints, solved with a worklist.

A variable has a points-to set: the objects that it can hold. A constraint says that one set
includes another, or what follows when a set gets an object. Of each set only what is new goes on,
so every object passes each constraint once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from flaxoptim_compat.migrate.values.objects import LEGACY, Object

# A set that would have more objects than these, legacy ones aside, is not followed further.
MOST_OBJECTS = 40
Watcher = Callable[[Object], None]


class Variable:
    """One points-to set, and the constraints that start from it.

    Args:
      origin: the expression, or what else it belongs to; for messages.
    """

    __slots__ = ("_others", "fresh", "including", "is_full", "objects", "origin", "watchers")

    def __init__(self, origin: object = None) -> None:
        self.origin = origin
        # Dicts, since they keep the order: the same program always gives the same answer.
        self.objects: dict[Object, None] = {}
        self.fresh: list[Object] = []
        self.including: dict[Variable, None] = {}
        self.watchers: list[Watcher] = []
        self.is_full = False
        self._others = 0

    def take(self, given: Iterable[Object]) -> bool:
        """Add objects; whether any of them begin to wait for being passed on."""
        was_waiting = bool(self.fresh)
        for each in given:
            if each in self.objects:
                continue
            if type(each) not in LEGACY:
                if self._others == MOST_OBJECTS:
                    self.is_full = True
                    continue
                self._others += 1
            self.objects[each] = None
            self.fresh.append(each)
        return bool(self.fresh) and not was_waiting


class Solver:
    """All constraints, and the worklist of the variables that have something new."""

    def __init__(self) -> None:
        self._waiting: deque[Variable] = deque()
        # Counted, because counts are the same on every machine.
        self.constraints = 0
        self.propagations = 0

    def add(self, variable: Variable, objects: Iterable[Object]) -> None:
        """State that a variable holds these objects."""
        if variable.take(objects):
            self._waiting.append(variable)

    def include(self, source: Variable, target: Variable) -> None:
        """State that what one variable holds the other holds too."""
        if target is source or target in source.including:
            return
        self.constraints += 1
        source.including[target] = None
        self.add(target, source.objects)

    def watch(self, variable: Variable, watcher: Watcher) -> None:
        """Have something done for each object that a variable holds, now or later."""
        self.constraints += 1
        # Those that wait are passed on to all watchers, this one too.
        waiting = set(variable.fresh)
        variable.watchers.append(watcher)
        for each in [*variable.objects]:
            if each not in waiting:
                watcher(each)

    def solve(self) -> None:
        """Pass on what is new until nothing is."""
        while self._waiting:
            variable = self._waiting.popleft()
            fresh, variable.fresh = variable.fresh, []
            self.propagations += len(fresh)
            for target in [*variable.including]:
                self.add(target, fresh)
            for watcher in [*variable.watchers]:
                for each in fresh:
                    watcher(each)
