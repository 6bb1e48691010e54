"""An optimizer, stated once: its chain of optax as data, off which everything else is read.

The transformation that runs, its text and its syntax tree, where optax keeps the fields of the
legacy state, and the variants that parity tries: all are the same stages, looked at in other ways.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import jax.numpy as jnp
import optax

from flaxoptim_compat import syntax
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
from flaxoptim_compat.optim.terms import Term
from flaxoptim_compat.transforms import scale_by_rms, weight_decay

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

    def chosen(self, values: Values) -> Stage | None:
        """This stage, or what there is in its place with these hyper-parameters."""
        return self.otherwise if self.when and _is_absent(values[self.when]) else self

    def is_idle(self, values: Values) -> bool:
        """Whether it does nothing with these."""
        return bool(self.idle_without) and not _value(values[self.idle_without])

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """What it does with these."""
        args = [_resolved(each, values) for each in self.positional]
        named = {name: _resolved(each, values) for name, each in self.named.items()}
        made = self.function(*args, **named)
        for around in self.within:
            made = around(made)
        return made

    def with_arguments(self, **arguments: Any) -> Self:
        """The same with other arguments, which it takes by name."""
        return dataclasses.replace(self, named={**self.named, **arguments})


def stage(function: Factory, *positional: Any, **named: Any) -> Stage:
    """A ``Stage``, written as the call that makes its transformation, among the other arguments."""
    own = {each.name for each in dataclasses.fields(Stage)} & named.keys()
    return Stage(function, positional, **{name: named.pop(name) for name in own}, named=named)


# Decoupled or not, by where it stands: it adds the decayed parameter to the update.
DECAY = stage(
    weight_decay, "weight_decay", says=optax.add_decayed_weights, idle_without="weight_decay"
)
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

    @property
    def state_fields(self) -> StateFields:
        """Where optax keeps which field of the legacy state."""
        return {kind: names for each in self.stages.values() for kind, names in each.keeps.items()}

    @property
    def splits(self) -> bool:
        """Whether some of the parameters alone move as they do together with the others."""
        return not any(each.across for each in self.stages.values())

    def first_state(self, param: PyTree) -> ParamState:
        """Every field at zero."""
        if self.state is None:
            return ()
        return self.state(*(jnp.zeros_like(param) for _ in dataclasses.fields(self.state)))

    def present(self, values: Values) -> dict[str, Stage]:
        """The stages that there are with these hyper-parameters."""
        chosen = {name: each.chosen(values) for name, each in self.stages.items()}
        return {name: each for name, each in chosen.items() if each is not None}

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The chain of optax."""
        made = [each.transformation(values) for each in self.present(values).values()]
        return made[0] if len(made) == 1 else optax.chain(*made)

    def expression(self, terms: Values) -> ast.expr:
        """The chain as a syntax tree, with optax's shorthand where there is one."""
        stages = [each for each in self.present(terms).values() if not each.is_idle(terms)]
        links = list(_links(stages, terms))
        return links[0] if len(links) == 1 else syntax.called("optax.chain", *links)

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


def _resolved(argument: Any, values: Values) -> Any:
    return values[argument] if isinstance(argument, str) else argument


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Term) else value


def _is_absent(value: Any) -> bool:
    return _value(value) is None or _value(value) is False


@functools.cache
def _parameters(function: Factory) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(function).parameters)


@dataclasses.dataclass(frozen=True)
class _Shorthand:
    """One function of optax for several stages.

    Args:
      function: takes the learning rate first, and the arguments of the stages by name.
      renamed: what it calls those arguments that have another name in the stages.
    """

    function: Factory
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)


# By the functions of the stages; the last one, alone, is for a chain of nothing else.
_SHORTHANDS: Mapping[tuple[Factory, ...], _Shorthand] = {
    (
        optax.scale_by_adam,
        optax.add_decayed_weights,
        optax.scale_by_learning_rate,
    ): _Shorthand(optax.adamw),
    (optax.scale_by_adam, optax.scale_by_learning_rate): _Shorthand(optax.adam),
    (optax.scale_by_belief, optax.scale_by_learning_rate): _Shorthand(optax.adabelief),
    (scale_by_rms, optax.scale_by_learning_rate): _Shorthand(optax.rmsprop),
    (optax.trace, optax.scale_by_learning_rate): _Shorthand(optax.sgd, {"decay": "momentum"}),
    (optax.scale_by_learning_rate,): _Shorthand(optax.sgd),
}


def _links(stages: Sequence[Stage], terms: Values) -> Iterator[ast.expr]:
    """The calls that a chain is written as; a shorthand stands for the last of its stages."""
    functions = tuple(each.named_function for each in stages)
    for index in range(len(stages)):
        short = _SHORTHANDS.get(functions[index:])
        if short is not None and (index == 0 or len(stages) - index > 1):
            arguments = {
                short.renamed.get(name, name): argument
                for each in stages[index:]
                for name, argument in each.arguments.items()
            }
            rate = _resolved(arguments.pop("learning_rate"), terms)
            yield written(short.function, [rate], arguments, terms)
            return
        yield _link(stages[index], terms)


def _link(each: Stage, terms: Values) -> ast.expr:
    args = [_resolved(argument, terms) for argument in each.positional]
    node: ast.expr = written(each.named_function, args, each.named, terms)
    for around in each.within:
        node = syntax.called(_home_and_name(around), node)
    return node


def written(
    function: Factory, args: Sequence[Any], named: Mapping[str, Any], terms: Values
) -> ast.Call:
    """The call of a function of optax or of ``transforms``.

    Args:
      function: the function.
      args: what it is given first: trees, values, or names of hyper-parameters.
      named: what it is given by name.
      terms: what the names stand for.
    """
    parameters = _parameters(function)
    given = {}
    for name, argument in named.items():
        term = Term.of(_resolved(argument, terms))
        # What flax.optim had no word for, or has switched off, is said only if optax differs.
        said = isinstance(argument, str | Term) and not term.assumed
        unsaid = not said or term.value is None or term.value is False
        if not (unsaid and _is_same(term.value, parameters[name].default)):
            given[name] = term.node
    first = [each if isinstance(each, ast.expr) else Term.of(each).node for each in args]
    return syntax.called(_home_and_name(function), *first, **given)


def _is_same(value: Any, default: Any) -> bool:
    numbers = isinstance(default, int | float) and isinstance(value, int | float)
    return value is default or (numbers and value == default)


def _home_and_name(function: Callable[..., Any]) -> str:
    """What a text calls a function: those of this package are all in ``transforms``."""
    home = "optax" if function.__module__.startswith("optax.") else "transforms"
    return f"{home}.{function.__name__}"
