"""An optimizer, stated once: its chain of optax as data, off which everything else is read.

The transformation that runs, its text and its syntax tree, where optax keeps the fields of the
legacy state, and the variants that parity tries: all are the same stages, looked at in other ways.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import optax

from flaxoptim_compat import transforms
from flaxoptim_compat.bridge.definition import (
    Around,
    Nodes,
    ParamState,
    Pick,
    Place,
    PyTree,
    StateFields,
    StateTrees,
    Values,
)
from flaxoptim_compat.bridge.trees import zeros_like
from flaxoptim_compat.catalogue import REQUIRED
from flaxoptim_compat.formula_text.stages import (
    StageText,
    chosen,
    expression,
    resolved,
    shorthand_of,
)

if TYPE_CHECKING:
    from typing import Self

# A function that makes a transformation of optax.
Factory = Callable[..., optax.GradientTransformation]


@dataclasses.dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a chain.

    Args:
      function: makes the transformation.
      positional: its arguments that are given without a name: a string is the name of a
        hyper-parameter, anything else is a constant.
      named: those that are given by name.
      keeps: which field of its state holds which field of the legacy state.
      when: the hyper-parameter without which, as None or False, there is no such stage.
      otherwise: the stage that there is then, if any.
      idle_without: the one that makes it do nothing where it is 0; then no text has it.
      within: what is put around the transformation, from the inside out.
      says: the function that a text names in place of ``function``. It does the same with the
        same arguments, if these are plain numbers.
      across: whether it looks at several parameters to move one.
    """

    function: Factory
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    keeps: StateFields = dataclasses.field(default_factory=dict)
    when: str = ""
    otherwise: Stage | None = None
    idle_without: str = ""
    within: tuple[Around, ...] = ()
    says: Factory | None = None
    across: bool = False

    @property
    def named_function(self) -> Factory:
        """The function that a text names."""
        return self.says or self.function

    @functools.cached_property
    def arguments(self) -> dict[str, Any]:
        """All arguments, by the names that the function in the text has for them."""
        names = _parameters(self.named_function)
        return {**dict(zip(names, self.positional, strict=False)), **self.named}

    @functools.cached_property
    def text(self) -> StageText:
        """The stage as a text names it."""
        return StageText(
            _text_name(self.named_function),
            self.positional,
            self.named,
            self.when,
            None if self.otherwise is None else self.otherwise.text,
            self.idle_without,
            tuple(map(_text_name, self.within)),
        )

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The transformation of optax with these hyper-parameters."""
        args = [resolved(each, values) for each in self.positional]
        named = {name: resolved(each, values) for name, each in self.named.items()}
        made = self.function(*args, **named)
        for around in self.within:
            made = around(made)
        return made

    def with_arguments(self, **arguments: Any) -> Self:
        """The stage with other arguments, which it takes by name."""
        return dataclasses.replace(self, named={**self.named, **arguments})


def stage(function: Factory, *positional: Any, **named: Any) -> Stage:
    """A ``Stage``, written as the call that makes its transformation, among the other arguments."""
    own = {each.name for each in dataclasses.fields(Stage)} & named.keys()
    return Stage(function, positional, **{name: named.pop(name) for name in own}, named=named)


# Decoupled or not, by where it stands: it adds the decayed parameter to the update.
DECAY = stage(optax.add_decayed_weights, "weight_decay", idle_without="weight_decay")
RATE = stage(optax.scale_by_learning_rate, "learning_rate")
# After a stage that has multiplied by the rate already.
DESCENT = stage(optax.scale, -1.0)


class Chain:
    """Stages in their order, each under a name that parity calls it by.

    Args:
      state: the dataclass that the legacy state of a parameter is; None if there is no state.
      **stages: what is done to a gradient, first to last.
    """

    def __init__(self, state: Any = None, /, **stages: Stage) -> None:
        self.state = state
        self.stages = stages
        every = stages.values()
        # Where optax keeps which field of the legacy state.
        self.state_fields: StateFields = {
            kind: names for each in every for kind, names in each.keeps.items()
        }
        # Whether some parameters alone move as they do together with the others.
        self.splits = not any(each.across for each in every)
        # Whether the learning rate may be a function of the step.
        self.takes_schedule = any(each.function is RATE.function for each in every)

    @property
    def texts(self) -> list[StageText]:
        """The stages as a text names them."""
        return [each.text for each in self.stages.values()]

    def first_state(self, param: PyTree) -> ParamState:
        """Every field at zero."""
        if self.state is None:
            return ()
        return self.state(*(zeros_like(param) for _ in dataclasses.fields(self.state)))

    def present(self, values: Values) -> dict[str, Stage]:
        """The stages that there are with these hyper-parameters."""
        found = {name: chosen(each, values) for name, each in self.stages.items()}
        return {name: each for name, each in found.items() if each is not None}

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The chain of optax; its state has the structure that the text's has."""
        stages = [each for each in self.present(values).values() if not each.text.is_idle(values)]
        made = [each.transformation(values) for each in stages]
        start, short = shorthand_of([each.text.function for each in stages])
        if short is not None:
            rate, parts = _parts_of(short.function)
            before = [optax.identity()] * (rate + 1 - len(made[start:]))
            after = [optax.identity()] * (parts - 1 - rate)
            made[start:] = [optax.chain(*before, *made[start:], *after)]
        return made[0] if len(made) == 1 else optax.chain(*made)

    def expression(self, terms: Values) -> ast.expr:
        """The chain as a syntax tree, with optax's shorthand where there is one."""
        return expression(self.texts, terms, parameters_of)

    def to_optax(self, states: Sequence[ParamState], place: Place) -> StateTrees:
        """The trees that go into each optax state, out of the per-parameter states."""
        return {
            kind: {
                field: place([getattr(state, legacy) for state in states])
                for field, legacy in names.items()
            }
            for kind, names in self.state_fields.items()
        }

    def from_optax(self, nodes: Nodes, old: Sequence[ParamState], pick: Pick) -> list[ParamState]:
        """The per-parameter states, out of the optax states."""
        if self.state is None:
            return list(old)
        columns = {
            legacy: pick(getattr(nodes[kind], field))
            for kind, names in self.state_fields.items()
            if kind in nodes
            for field, legacy in names.items()
        }
        names = [field.name for field in dataclasses.fields(self.state)]
        for name in names:
            if name not in columns:
                columns[name] = [getattr(state, name) for state in old]
        rows = zip(*(columns[name] for name in names), strict=True)
        return [self.state(*row) for row in rows]


@functools.cache
def _parts_of(shorthand: str) -> tuple[int, int]:
    """Which part of a shorthand's chain has the rate, and how many there are; some may be idle."""
    function = getattr(optax, shorthand.removeprefix("optax."))
    # With a function for the rate, the state tells.
    states = function(lambda step: 0.0).init(())
    kinds = list(map(type, states))
    return kinds.index(optax.ScaleByScheduleState), len(states)


@functools.cache
def _parameters(function: Factory) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


# What a text can name functions of.
_HOMES: Final = {"optax": optax, "transforms": transforms}


def parameters_of(function: str) -> dict[str, Any]:
    """The parameters of a function, by the name that texts have for it, with their defaults."""
    home, _, name = function.partition(".")
    return {
        name: REQUIRED if each.default is each.empty else each.default
        for name, each in _parameters(getattr(_HOMES[home], name)).items()
    }


def _text_name(function: Callable[..., Any]) -> str:
    """The name of a function in a text: those of this package are all in ``transforms``."""
    home = "optax" if function.__module__.startswith("optax.") else "transforms"
    return f"{home}.{function.__name__}"
