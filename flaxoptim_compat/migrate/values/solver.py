"""Points-to analysis by inclusion constraints, solved with a worklist, of what matters only.

A variable has a points-to set: the objects that it can hold. A constraint says that one set
includes another, or what follows when a set gets an object. Of each set only what is new goes on,
so every object passes each constraint once.

Most of a program has nothing to do with optimizers, and is not followed. An object *matters* if it
is of flax.optim, or may lead to something that is: a container with an optimizer in it, a function
that returns one. What matters goes wherever it can. Everything else stays where it comes from until
somebody *asks* for all that a variable holds, such as for the functions that a call with an
optimizer can call; then it comes, along the constraints that lead there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable

from flaxoptim_compat.migrate.values.objects import LEGACY, Object

# A set does not get more objects than these that do not matter, or that are followed.
MOST_OBJECTS = 24
MOST_FOLLOWED = 400
# Programs pass on ten objects for each constraint at most. Those that pass their optimizers
# through machinery that everything else goes through too would take a thousand times that, and it
# would tell nothing.
_MOST_PER_CONSTRAINT = 15
_MOST_ANYWAY = 50_000
Watcher = Callable[[Object], object]
Action = Callable[[], object]


class Variable:
    """One points-to set, and the constraints that it is a part of.

    Args:
      origin: the expression, or what else it belongs to.
      needs: whose objects this one's follow from, other than by inclusion.
    """

    __slots__ = (
        "alarms",
        "followed",
        "fresh",
        "held_back",
        "including",
        "is_asked",
        "is_full",
        "matters",
        "needs",
        "objects",
        "origin",
        "others",
        "sources",
        "triggers",
        "watchers",
    )

    def __init__(self, origin: object = None, needs: tuple[Variable, ...] = ()) -> None:
        self.origin = origin
        self.needs = needs
        # Most variables never hold or mean anything, and so have nothing of their own here. Dicts,
        # since they keep the order: the same program always gives the same answer.
        self.objects = _NO_OBJECTS
        # What comes from here, and is not passed on until somebody asks or it matters.
        self.held_back = _NO_OBJECTS
        self.fresh: list[Object] = []
        self.including = _NO_VARIABLES
        self.sources: tuple[Variable, ...] = ()
        self.watchers: tuple[Watcher, ...] = ()
        # What is done once somebody asks, and once something that matters is here.
        self.triggers: tuple[Action, ...] = ()
        self.alarms: tuple[Action, ...] = ()
        self.matters = False
        self.followed = 0
        self.others = 0
        self.is_asked = False
        self.is_full = False


_NO_OBJECTS: dict[Object, None] = {}
_NO_VARIABLES: dict[Variable, None] = {}


class Solver:
    """All constraints, and the worklist of the variables that have something new."""

    def __init__(self) -> None:
        self._waiting: deque[Variable] = deque()
        self._due: deque[Action] = deque()
        self._that_matter: set[Hashable] = set()
        self._followed: set[Hashable] = set()
        # Where objects are that do not matter yet, by what decides whether they do.
        self._places: dict[Hashable, dict[Variable, None]] = {}
        # What matters, and went into a set that had too much already.
        self.lost: dict[Object, Variable] = {}
        # Counted, because counts are the same on every machine.
        self.constraints = 0
        self.propagations = 0
        # Whether there was more to pass on than a program gives reason for.
        self.gave_up = False

    # Constraints

    def state(self, variable: Variable, objects: Iterable[Object]) -> None:
        """State that a variable holds these objects."""
        for each in objects:
            if each in variable.objects or each in variable.held_back:
                continue
            if variable.is_asked or self._is_followed(each):
                self._take(variable, each)
            else:
                _keep(variable, each)
                self._places.setdefault(each.key, {})[variable] = None

    def include(self, source: Variable, target: Variable) -> None:
        """State that what one variable holds the other holds too."""
        if target is source or target in source.including:
            return
        self.constraints += 1
        if source.including is _NO_VARIABLES:
            source.including = {}
        source.including[target] = None
        target.sources += (source,)
        if source.is_full:
            _fill(target)
        if target.is_asked:
            self.ask(source)
        self._pass(target, [*source.objects])

    def watch(self, variable: Variable, watcher: Watcher) -> None:
        """Have something done for each object that a variable gets, now or later."""
        self.constraints += 1
        # Those that wait are passed on to all watchers, this one too.
        waiting = set(variable.fresh)
        variable.watchers += (watcher,)
        for each in [*variable.objects]:
            if each not in waiting:
                watcher(each)

    def once_it_matters(self, variable: Variable, alarm: Action) -> None:
        """Have something done once a variable holds anything that matters."""
        if variable.matters:
            self._due.append(alarm)
        else:
            variable.alarms += (alarm,)

    # What matters, and what is asked for

    def does_matter(self, each: Object) -> bool:
        """Whether an object is of flax.optim, or may lead to something that is."""
        return each.matters or each.key in self._that_matter

    def _is_followed(self, each: Object) -> bool:
        return each.is_followed or each.key in self._followed

    def let_matter(self, key: Hashable) -> bool:
        """Follow the objects of a key from now on, and who holds them; whether that is new."""
        if key in self._that_matter:
            return False
        self._that_matter.add(key)
        for variable in self._places.get(key, {}):
            if any(each.key == key for each in variable.objects):
                self._note(variable)
        self.follow(key)
        return True

    def follow(self, key: Hashable) -> None:
        """Follow the objects of a key from now on, wherever they go."""
        if key in self._followed:
            return
        self._followed.add(key)
        for variable in [*self._places.get(key, {})]:
            for each in [one for one in variable.held_back if one.key == key]:
                del variable.held_back[each]
                self._take(variable, each)
            for each in [one for one in variable.objects if one.key == key]:
                for target in [*variable.including]:
                    self._pass(target, [each])

    def need(self, variable: Variable, source: Variable) -> None:
        """State that who asks for the one variable asks for the other."""
        variable.needs += (source,)
        if variable.is_asked:
            self.ask(source)

    def trigger(self, variable: Variable, action: Action) -> None:
        """Have something done once somebody asks for a variable."""
        if variable.is_asked:
            self._due.append(action)
        else:
            variable.triggers += (action,)

    def ask(self, variable: Variable) -> None:
        """Ask for all that a variable holds, whether it matters or not."""
        if variable.is_asked:
            return
        asked = [variable]
        for each in asked:
            if each.is_asked:
                continue
            each.is_asked = True
            self._due += each.triggers
            held_back, each.held_back = each.held_back, _NO_OBJECTS
            for one in held_back:
                self._take(each, one)
            asked += each.needs
            asked += each.sources
        for each in asked:
            for target in [*each.including]:
                if target.is_asked:
                    self.propagations += len(each.objects)
                    self._pass(target, [*each.objects])

    # The worklist

    def solve(self) -> None:
        """Pass on what is new until nothing is."""
        if not (self._waiting or self._due):
            return
        most = _MOST_PER_CONSTRAINT * self.constraints + _MOST_ANYWAY
        while self._waiting or self._due:
            if self.propagations > most:
                self.gave_up = True
                return
            if self._due:
                self._due.popleft()()
                continue
            variable = self._waiting.popleft()
            fresh, variable.fresh = variable.fresh, []
            self.propagations += len(fresh) * (len(variable.including) + len(variable.watchers))
            for target in [*variable.including]:
                self._pass(target, fresh)
            for watcher in variable.watchers:
                for each in fresh:
                    watcher(each)

    def _pass(self, target: Variable, objects: Iterable[Object]) -> None:
        is_asked, known = target.is_asked, target.objects
        for each in objects:
            if each not in known and (is_asked or self._is_followed(each)):
                self._take(target, each)

    def _take(self, variable: Variable, each: Object) -> None:
        if each in variable.objects:
            return
        if each.key is not each or not each.is_followed:
            self._places.setdefault(each.key, {})[variable] = None
        if self._is_followed(each):
            if variable.followed == MOST_FOLLOWED:
                self.lost[each] = variable
                _fill(variable)
                return
            variable.followed += 1
        elif variable.others == MOST_OBJECTS:
            # If it comes to matter, it still goes on.
            _keep(variable, each)
            _fill(variable)
            return
        else:
            variable.others += 1
        if variable.objects is _NO_OBJECTS:
            variable.objects = {}
        variable.objects[each] = None
        variable.fresh.append(each)
        if len(variable.fresh) == 1:
            self._waiting.append(variable)
        if self.does_matter(each):
            self._note(variable)
        if type(each) in LEGACY:
            # Whatever else it holds is to be told from this.
            self.ask(variable)

    def _note(self, variable: Variable) -> None:
        variable.matters = True
        self._due += variable.alarms
        variable.alarms = ()


def _fill(variable: Variable) -> None:
    """Note that a variable may hold more than it has, and so may those that include it."""
    filled = [variable]
    for each in filled:
        if not each.is_full:
            each.is_full = True
            filled += each.including


def _keep(variable: Variable, each: Object) -> None:
    if variable.held_back is _NO_OBJECTS:
        variable.held_back = {}
    variable.held_back[each] = None
