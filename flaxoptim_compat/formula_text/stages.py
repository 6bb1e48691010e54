"""A chain of optax as a syntax tree, with optax's shorthand where there is one."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from flaxoptim_compat import syntax
from flaxoptim_compat.formula_text.term import Term

if TYPE_CHECKING:
    from typing import Self

# What the names of hyper-parameters stand for: terms, values, or trees.
Terms = Mapping[str, Any]
# The parameters of a function and their defaults, by the name that a text has for the function:
# ``optax.adam``, or ``transforms.weight_norm``.
ParametersOf = Callable[[str], Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class StageText:
    """One stage of a chain as program text: a function, and its arguments.

    Args:
      function: makes the transformation.
      positional: its arguments that are given without a name: a string is the name of a
        hyper-parameter, anything else is a constant.
      named: those that are given by name.
      when: the hyper-parameter without which, as None or False, there is no such stage.
      otherwise: the stage that there is then, if any.
      idle_without: the one that makes it do nothing where it is 0; then no text has it.
      within: what is put around the transformation, from the inside out.
    """

    function: str
    positional: tuple[Any, ...] = ()
    named: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    when: str = ""
    otherwise: StageText | None = None
    idle_without: str = ""
    within: tuple[str, ...] = ()

    def is_idle(self, terms: Terms) -> bool:
        """True if the stage does nothing with these terms; False for an array, which may change."""
        if not self.idle_without:
            return False
        value = _value(terms[self.idle_without])
        return isinstance(value, int | float) and value == 0


class Conditional(Protocol):
    """A stage that may be left out, or that another stage may stand in for."""

    @property
    def when(self) -> str:
        """The hyper-parameter without which, as None or False, there is no such stage."""

    @property
    def otherwise(self) -> Self | None:
        """The stage that there is then, if any."""


AnyStage = TypeVar("AnyStage", bound=Conditional)


def chosen(stage: AnyStage, values: Terms) -> AnyStage | None:
    """This stage, or what there is in its place with these hyper-parameters."""
    if not stage.when:
        return stage
    value = _value(values[stage.when])
    # A number that is 0 is one that is given.
    return stage.otherwise if value is None or value is False else stage


@dataclasses.dataclass(frozen=True)
class Shorthand:
    """One function of optax for several stages.

    Args:
      function: takes the learning rate first, and the arguments of the stages by name.
      renamed: what it calls those arguments that have another name in the stages.
    """

    function: str
    renamed: Mapping[str, str] = dataclasses.field(default_factory=dict)


# By the functions of the stages; the last one, alone, is for a chain of nothing else.
SHORTHANDS: Final[Mapping[tuple[str, ...], Shorthand]] = {
    (
        "optax.scale_by_adam",
        "optax.add_decayed_weights",
        "optax.scale_by_learning_rate",
    ): Shorthand("optax.adamw"),
    ("optax.scale_by_adam", "optax.scale_by_learning_rate"): Shorthand("optax.adam"),
    ("optax.scale_by_belief", "optax.scale_by_learning_rate"): Shorthand("optax.adabelief"),
    ("transforms.scale_by_rms", "optax.scale_by_learning_rate"): Shorthand("optax.rmsprop"),
    ("optax.trace", "optax.scale_by_learning_rate"): Shorthand("optax.sgd", {"decay": "momentum"}),
    ("optax.scale_by_learning_rate",): Shorthand("optax.sgd"),
}


# The label of the parameters that nothing moves.
FROZEN: Final = "frozen"


def label_of(part: int) -> str:
    """The label of the parameters that a part of a MultiOptimizer moves.

    A number alone would not do: NNX takes it for a position in a tuple when it restores.
    """
    return f"part_{part}"


def partition(parts: Mapping[str, ast.expr], labels: ast.expr) -> ast.Call:
    """An ``optax.partition`` with these parts by their labels; it holds the rest as it is."""
    every = {**parts, FROZEN: syntax.called("transforms.hold")}
    by_label = ast.Dict([ast.Constant(label) for label in every], list(every.values()))
    return syntax.called("optax.partition", by_label, labels)


def expression(stages: Sequence[StageText], terms: Terms, parameters_of: ParametersOf) -> ast.expr:
    """The chain of these stages.

    Args:
      stages: those of a formula, first to last.
      terms: its hyper-parameters as they stand in the text.
      parameters_of: the parameters of a function.
    """
    present = [each for each in (chosen(stage, terms) for stage in stages) if each is not None]
    moving = [each for each in present if not each.is_idle(terms)]
    links = list(_links(moving, terms, parameters_of))
    return links[0] if len(links) == 1 else syntax.called("optax.chain", *links)


def shorthand_of(functions: Sequence[str]) -> tuple[int, Shorthand | None]:
    """The function of optax for the last stages of a chain, and where in the chain these begin.

    Args:
      functions: those of all stages.
    """
    for index in range(len(functions)):
        short = SHORTHANDS.get(tuple(functions[index:]))
        if short is not None and (index == 0 or len(functions) - index > 1):
            return index, short
    return len(functions), None


def _links(
    stages: Sequence[StageText], terms: Terms, parameters_of: ParametersOf
) -> Iterator[ast.expr]:
    """The calls that a chain is written as; a shorthand stands for the last of its stages."""
    start, short = shorthand_of([each.function for each in stages])
    for index, stage in enumerate(stages):
        if short is not None and index == start:
            arguments = {
                short.renamed.get(name, name): argument
                for each in stages[index:]
                for name, argument in _arguments(each, parameters_of).items()
            }
            rate = resolved(arguments.pop("learning_rate"), terms)
            yield written(short.function, [rate], arguments, terms, parameters_of)
            return
        yield _link(stage, terms, parameters_of)


def _arguments(stage: StageText, parameters_of: ParametersOf) -> dict[str, Any]:
    """All arguments, by the names that the function has for them."""
    names = parameters_of(stage.function)
    return {**dict(zip(names, stage.positional, strict=False)), **stage.named}


def _link(stage: StageText, terms: Terms, parameters_of: ParametersOf) -> ast.expr:
    args = [resolved(argument, terms) for argument in stage.positional]
    node: ast.expr = written(stage.function, args, stage.named, terms, parameters_of)
    for around in stage.within:
        node = syntax.called(around, node)
    return node


def written(
    function: str,
    args: Sequence[Any],
    named: Mapping[str, Any],
    terms: Terms,
    parameters_of: ParametersOf,
) -> ast.Call:
    """The call of a function of optax or of ``transforms``.

    Args:
      function: the function.
      args: what it is given first: trees or values.
      named: what it is given by name: values, or names of hyper-parameters.
      terms: what the names stand for.
      parameters_of: the parameters of a function.
    """
    defaults = parameters_of(function)
    given = {}
    for name, argument in named.items():
        term = Term.of(resolved(argument, terms))
        # What flax.optim had no word for, or has switched off, is said only if optax differs.
        said = isinstance(argument, str | Term) and not term.assumed
        unsaid = not said or term.value is None or term.value is False
        if not (unsaid and _is_same(term.value, defaults[name])):
            given[name] = term.node
    first = [each if isinstance(each, ast.expr) else Term.of(each).node for each in args]
    return syntax.called(function, *first, **given)


def resolved(argument: Any, terms: Terms) -> Any:
    """The value of an argument of a stage: a constant, or what a name stands for."""
    return terms[argument] if isinstance(argument, str) else argument


def _value(value: Any) -> Any:
    return value.value if isinstance(value, Term) else value


def _is_same(value: Any, default: Any) -> bool:
    numbers = isinstance(default, int | float) and isinstance(value, int | float)
    return value is default or (numbers and value == default)
