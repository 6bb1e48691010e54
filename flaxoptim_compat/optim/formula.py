"""The formula of an optimizer: its chain of optax as data, stated once.

Everything else comes from these stages: the transformation that runs, its text and its syntax tree,
the fields of the optax state that hold the legacy state, and the variants that parity tries.
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
    Leaf,
    Nodes,
    OldStates,
    ParamState,
    PickFromTree,
    PlaceInTree,
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

# A function that makes an optax transformation.
Factory = Callable[..., optax.GradientTransformation]


@dataclasses.dataclass(frozen=True, eq=False)
class Stage:
    """One stage of a chain.

    Args:
      function: makes the transformation.
      positional: the arguments that are given without a name. A string is the name of a
        hyper-parameter; anything else is a constant.
      named: the arguments that are given by name.
      keeps: for each type of optax state, its fields and the fields of the legacy state in them.
      when: the name of a hyper-parameter. If its value is None or False, the stage is left out.
      otherwise: the stage that takes the place of the left-out stage, if there is one.
      idle_without: the name of a hyper-parameter. If its value is 0, the stage does nothing, and no
        text names the stage.
      within: functions that wrap the transformation, from the inside out.
      says: the function that a text names in place of ``function``. Both do the same with the same
        arguments, if these are plain numbers.
      across: whether the stage looks at several parameters to move one.
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
        """All arguments, by the parameter names of the function that a text names."""
        names = _parameters(self.named_function)
        return {**dict(zip(names, self.positional, strict=False)), **self.named}

    @functools.cached_property
    def text(self) -> StageText:
        """The same stage with names in place of functions."""
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
        args = [resolved(argument, values) for argument in self.positional]
        named = {name: resolved(argument, values) for name, argument in self.named.items()}
        tx = self.function(*args, **named)
        for around in self.within:
            tx = around(tx)
        return tx

    def with_arguments(self, **arguments: Any) -> Self:
        """The stage with other values for some of its named arguments."""
        return dataclasses.replace(self, named={**self.named, **arguments})


def stage(function: Factory, *positional: Any, **named: Any) -> Stage:
    """A ``Stage``, written like the call of its function; other keywords are its own fields."""
    own = {field.name for field in dataclasses.fields(Stage)} & named.keys()
    return Stage(function, positional, **{name: named.pop(name) for name in own}, named=named)


# Adds the decayed parameter to the update. Behind the moments, the decay is decoupled from them.
DECAY_STAGE = stage(optax.add_decayed_weights, "weight_decay", idle_without="weight_decay")
RATE_STAGE = stage(optax.scale_by_learning_rate, "learning_rate")
# For a chain in which another stage has multiplied by the rate already.
DESCENT_STAGE = stage(optax.scale, -1.0)


class Chain:
    """Stages in their order, each with the name that parity reports.

    Args:
      state: the dataclass of the legacy state of a parameter; None if there is no state.
      **stages: the stages that a gradient goes through, first to last.
    """

    def __init__(self, state: Any = None, /, **stages: Stage) -> None:
        self.state = state
        self.stages = stages
        every_stage = stages.values()
        # For each type of optax state, its fields and the fields of the legacy state in them.
        self.state_fields: StateFields = {
            kind: names for each in every_stage for kind, names in each.keeps.items()
        }
        # True if a parameter moves in the same way whichever other parameters are in the tree.
        self.splits = not any(each.across for each in every_stage)
        # True if the learning rate may be a function of the step.
        self.takes_schedule = any(each.function is RATE_STAGE.function for each in every_stage)

    @property
    def texts(self) -> list[StageText]:
        """The stages with names in place of functions."""
        return [each.text for each in self.stages.values()]

    def first_state(self, param: PyTree) -> ParamState:
        """The state of one parameter before the first step: every field at zero."""
        if self.state is None:
            return ()
        return self.state(*(zeros_like(param) for _ in dataclasses.fields(self.state)))

    def present(self, values: Values) -> dict[str, Stage]:
        """The stages that these hyper-parameters do not leave out, by their names."""
        stages = {name: chosen(each, values) for name, each in self.stages.items()}
        return {name: each for name, each in stages.items() if each is not None}

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The optax transformation; its state has the same structure as that of the text."""
        stages = [each for each in self.present(values).values() if not each.text.is_idle(values)]
        txs = [each.transformation(values) for each in stages]
        start, short = shorthand_of([each.text.function for each in stages])
        if short is not None:
            rate, parts = _parts_of(short.function)
            before = [optax.identity()] * (rate + 1 - len(txs[start:]))
            after = [optax.identity()] * (parts - 1 - rate)
            txs[start:] = [optax.chain(*before, *txs[start:], *after)]
        return txs[0] if len(txs) == 1 else optax.chain(*txs)

    def expression(self, terms: Values) -> ast.expr:
        """The chain as a syntax tree, with optax's shorthand where there is one."""
        return expression(self.texts, terms, parameters_of)

    def to_optax(self, states: Sequence[ParamState], place: PlaceInTree) -> StateTrees:
        """The trees for the fields of each optax state, made from the per-parameter states."""
        return {
            kind: {
                field: place([getattr(state, legacy) for state in states])
                for field, legacy in names.items()
            }
            for kind, names in self.state_fields.items()
        }

    def from_optax(self, nodes: Nodes, old: OldStates, pick: PickFromTree) -> list[ParamState]:
        """The per-parameter states, read from the optax states.

        A field that optax does not keep has the value of the old state.
        """
        if self.state is None:
            return list(old())
        kept = {
            legacy: pick(getattr(nodes[kind], field))
            for kind, names in self.state_fields.items()
            for field, legacy in (names.items() if kind in nodes else ())
        }
        columns: list[Sequence[Leaf]] = [
            kept[field.name]
            if field.name in kept
            else [getattr(state, field.name) for state in old()]
            for field in dataclasses.fields(self.state)
        ]
        return [self.state(*row) for row in zip(*columns, strict=True)]


@functools.cache
def _parts_of(shorthand: str) -> tuple[int, int]:
    """The position of the rate in the chain of a shorthand, and the length of the chain."""
    function = getattr(optax, shorthand.removeprefix("optax."))
    # With a schedule for the rate, the part of the rate has a state of its own type.
    states = function(lambda step: 0.0).init(())
    kinds = list(map(type, states))
    return kinds.index(optax.ScaleByScheduleState), len(states)


@functools.cache
def _parameters(function: Factory) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


# The modules whose functions a text can name.
_HOMES: Final = {"optax": optax, "transforms": transforms}


def parameters_of(function: str) -> dict[str, Any]:
    """The parameters of a function with their defaults, by its name in a text: ``optax.adam``."""
    home, _, name = function.partition(".")
    return {
        name: REQUIRED if each.default is each.empty else each.default
        for name, each in _parameters(getattr(_HOMES[home], name)).items()
    }


def _text_name(function: Callable[..., Any]) -> str:
    """The name of a function in a text; all functions of this package are in ``transforms``."""
    home = "optax" if function.__module__.startswith("optax.") else "transforms"
    return f"{home}.{function.__name__}"
