"""Where something is used as only optimizers are, and nothing else is known of it."""

from __future__ import annotations

import ast
import functools

from flaxoptim_compat.migrate.names.dotted import last_name
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.program.linking import Processes
from flaxoptim_compat.migrate.values.known_names import (
    hints_at_definition,
    hints_at_optimizer,
    is_bridged,
    tells_optimizer,
)
from flaxoptim_compat.migrate.values.memory import Asked, Memory
from flaxoptim_compat.migrate.values.objects import (
    Container,
    Definition,
    Object,
    Optimizer,
    fields_of,
)
from flaxoptim_compat.migrate.values.solver import Solver, Variable
from flaxoptim_compat.migrate.values.variables import objects_of

# What holds the settings of a program: their names say nothing of objects.
_SETTINGS = frozenset(
    {"args", "cfg", "conf", "config", "flags", "hparams", "options", "opts", "params", "settings"}
)
_FOREIGN = Optimizer(None)


class Hints:
    """What names and attributes tell of things that nothing is known of otherwise.

    Args:
      memory: the variables.
      solver: what holds their constraints.
      processes: which files can be given what others make.
    """

    def __init__(self, memory: Memory, solver: Solver, processes: Processes) -> None:
        self._memory = memory
        self._solver = solver
        self._processes = processes
        # What attributes of a name hold, as one file tells, and as all that run with it do.
        self._told: dict[str, dict[Document, Variable]] = {}
        self._heard: dict[str, dict[Document, Variable]] = {}

    def by_fields(self) -> None:
        """What fields of classes of the program hold tells of fields of that name elsewhere."""
        for document, node in self._memory.classes:
            for name in fields_of(node):
                add = functools.partial(self._tell, document, name)
                self._solver.watch(self._memory.field(node, name), add)

    def take(self) -> bool:
        """Take variables for optimizers that are used like one; whether anything is new then."""
        before = self._solver.constraints, self._solver.propagations
        new = 0
        for asked in [*self._memory.asked]:
            held = objects_of(asked.owner)
            if not held and not is_bridged(asked.node):
                new += self._take(asked)
            if all(isinstance(each, Container) for each in held):
                self._look_up(asked)
        return bool(new) or before != (self._solver.constraints, self._solver.propagations)

    def _take(self, asked: Asked) -> int:
        owner, attribute = asked.node.value, asked.node.attr
        name = last_name(owner)
        found: Object = _FOREIGN
        if hints_at_definition(attribute, name):
            found = Definition(None)
        elif not hints_at_optimizer(attribute, name, is_own=attribute in self._memory.method_names):
            return 0
        by_itself = isinstance(owner, ast.Name) or tells_optimizer(asked.node)
        if by_itself and isinstance(asked.owner, Variable):
            self._solver.state(asked.owner, [found])
            return 1
        return int(isinstance(owner, ast.Attribute) and self._tell(asked.document, name, found))

    def _tell(self, document: Document, name: str, each: Object) -> bool:
        """Note that attributes of a name may hold an optimizer; whether that is new."""
        if not isinstance(each, Optimizer):
            return False
        told = self._told.setdefault(name, {})
        if document not in told:
            told[document] = Variable((document, name))
            together = self._processes.together_with(document)
            for other, heard in self._heard.get(name, {}).items():
                if other in together:
                    self._solver.include(told[document], heard)
        new = each not in told[document].objects
        self._solver.state(told[document], [each])
        return new

    def _hear(self, document: Document, name: str) -> Variable:
        heard = self._heard.setdefault(name, {})
        if document not in heard:
            heard[document] = Variable((document, name))
            together = self._processes.together_with(document)
            for other, told in self._told[name].items():
                if other in together:
                    self._solver.include(told, heard[document])
        return heard[document]

    def _look_up(self, asked: Asked) -> None:
        """An attribute of an unknown object: what is known of all attributes of that name."""
        name = asked.node.attr
        if name not in self._told or last_name(asked.node.value).lower() in _SETTINGS:
            return
        hint = self._hear(asked.document, name)
        if not hint.objects:
            return
        if isinstance(asked.owner, Variable) and not asked.owner.is_asked:
            self._solver.ask(asked.owner)
            self._solver.solve()
        if all(isinstance(each, Container) for each in objects_of(asked.owner)):
            self._solver.include(hint, asked.result)
