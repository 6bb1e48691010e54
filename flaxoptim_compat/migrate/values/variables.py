"""The variables of a program, and what is stated of them: who holds what another holds."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Sequence
from pathlib import Path

from flaxoptim_compat.migrate.values.objects import NOTHING, Context, Object, Objects
from flaxoptim_compat.migrate.values.solver import Action, Solver, Variable

# What an expression holds: objects that are known at once, or a variable.
Held = Objects | Variable


class Variables:
    """All variables by what they are of, and what each expression holds.

    Args:
      solver: what holds the constraints.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self._variables: dict[Hashable, Variable] = {}
        self._notes: dict[ast.AST, Held] = {}
        # Of expressions in functions that are kept apart, what they held for other calls.
        self._other_notes: dict[ast.AST, list[Held]] = {}

    # Expressions

    def note(self, node: ast.AST, held: Held) -> None:
        """Keep what an expression holds; one in a function that is kept apart has several."""
        known = self._notes.get(node)
        if known is not None and known is not held:
            self._other_notes.setdefault(node, []).append(known)
        self._notes[node] = held

    def of(self, node: ast.AST) -> Held:
        """What an expression held when it was written down last."""
        return self._notes.get(node, NOTHING)

    def objects(self, node: ast.AST) -> Objects:
        """All objects that an expression can hold, as far as is known now."""
        found = objects_of(self._notes.get(node, NOTHING))
        if node in self._other_notes:
            found = found.union(*map(objects_of, self._other_notes[node]))
        return found

    def ask_for(self, node: ast.AST) -> None:
        """Ask for all that an expression can hold."""
        for each in (self.of(node), *self._other_notes.get(node, ())):
            self.ask(each)

    def is_full(self, node: ast.AST) -> bool:
        """Whether an expression may hold more than is followed."""
        known = (self.of(node), *self._other_notes.get(node, ()))
        variables = [each for each in known if isinstance(each, Variable)]
        return any(
            each.is_full or any(needed.is_full for needed in each.needs) for each in variables
        )

    # Variables

    def variable(self, scope: ast.AST, name: str, context: Context) -> Variable:
        """A variable of a scope."""
        return self._variable(("variable", scope, name, context))

    def set_elsewhere(self, file: ast.Module, name: str) -> Variable:
        """What other files assign to a variable of one, which may be at any time."""
        return self._variable(("set elsewhere", file, name))

    def fixture(self, place: Path, name: str) -> Variable:
        """What a fixture of pytest gives, in a file or in what a folder has."""
        return self._variable(("fixture", place, name))

    def returns(self, function: ast.AST, context: Context) -> Variable:
        """What a function returns."""

        def prepare(result: Variable) -> None:
            self.solver.once_it_matters(result, lambda: self.solver.let_matter(function))

        return self.once(("returns", function, context), prepare)

    def _variable(self, key: Hashable) -> Variable:
        found = self._variables.get(key)
        if found is None:
            found = self._variables[key] = Variable(key)
        return found

    def once(self, key: Hashable, prepare: Callable[[Variable], None]) -> Variable:
        """The variable of a key; it is prepared when it is asked for the first time.

        Args:
          key: what it is.
          prepare: says what it holds; it may come back to the same variable.
        """
        found = self._variables.get(key)
        if found is None:
            found = self._variable(key)
            prepare(found)
        return found

    def made(self, each: Object) -> Variable:
        """A variable for what an expression makes."""
        result = Variable(each)
        self.solver.state(result, [each])
        return result

    # Constraints

    def flow(self, source: Held, target: Variable) -> None:
        """State that one holds what the other does."""
        if isinstance(source, Variable):
            self.solver.include(source, target)
        elif source:
            self.solver.state(target, source)

    def each(self, held: Held, watcher: Callable[[Object], None]) -> None:
        """Have something done for each object that is held."""
        if isinstance(held, Variable):
            self.solver.watch(held, watcher)
        else:
            for each in held:
                watcher(each)

    def joined(self, several: Sequence[Held]) -> Held:
        """What any of several holds."""
        several = [each for each in several if each is not NOTHING]
        if len(several) < 2:
            return several[0] if several else NOTHING
        result = Variable()
        for each in several:
            self.flow(each, result)
        return result

    def derived(
        self, what: Hashable, held: Held, follow: Callable[[Object, Variable], None]
    ) -> Held:
        """The variable for what is derived from each object that is held.

        Args:
          what: names what is derived; of one variable it is derived once.
          held: the objects.
          follow: says for one object what that is.
        """
        if held is NOTHING:
            return NOTHING

        def prepare(result: Variable) -> None:
            result.needs = (held,) if isinstance(held, Variable) else ()
            self.each(held, lambda each: follow(each, result))

        return self.once((what, held), prepare)

    def once_it_matters(self, held: Held, alarm: Action) -> None:
        """Have something done once anything that matters is held."""
        if isinstance(held, Variable):
            self.solver.once_it_matters(held, alarm)
        elif any(map(self.solver.does_matter, held)):
            alarm()

    def ask(self, held: Held) -> None:
        """Ask for all that is held."""
        if isinstance(held, Variable):
            self.solver.ask(held)


def objects_of(held: Held) -> Objects:
    """The objects that are held, as far as is known now."""
    if isinstance(held, frozenset):
        return held
    return frozenset(held.objects) if held.objects else NOTHING
