"""An optax transformation as the definition of flax.optim that does the same, if there is one.

optax keeps the settings of a transformation in the closures of its functions, where they can be
read. So each definition is made once with marked hyper-parameters, and where the marks turn up in
its closures the hyper-parameters of another transformation are read. Nothing is run for that, and
nothing is taken for granted: whoever uses the definition compares it with the transformation first.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import optax

from flaxoptim_compat.catalogue import DTYPE
from flaxoptim_compat.optim.kinds import KINDS

Settings = Mapping[str, Any]

# Of no hyper-parameter that anybody would choose, and exact with either sign.
_MARKS = [0.5 + number / 2.0**20 for number in range(1, 21)]


class _Stage(NamedTuple):
    """One transformation of a chain: what made it, and with which settings."""

    maker: str
    settings: Settings

    @property
    def does_nothing(self) -> bool:
        """True if it changes nothing, as the weight decay of optax.adadelta where there is none."""
        decay = self.settings.get("weight_decay") if self.maker == "add_decayed_weights" else None
        return self.maker == "identity" or (isinstance(decay, int | float) and decay == 0)


@dataclasses.dataclass(frozen=True)
class _Pattern:
    """A definition as it looks in optax.

    Args:
      kind: its class.
      flags: the hyper-parameters that decide about the stages, or are switched on or off.
      marks: the name of each hyper-parameter that is a number, by its mark.
      stages: the transformations, with marks for numbers.
    """

    kind: Any
    flags: Settings
    marks: Mapping[float, str]
    stages: Sequence[_Stage]

    def hyper_params(self, stages: Sequence[_Stage]) -> dict[str, Any] | None:
        """The hyper-parameters of a chain of these stages; None if the pattern does not fit it."""
        if [each.maker for each in stages] != [each.maker for each in self.stages]:
            return None
        values = dict(self.flags)
        for mine, theirs in zip(self.stages, stages, strict=True):
            for name, value in mine.settings.items():
                other: Any = theirs.settings.get(name)
                if isinstance(value, float) and abs(value) in self.marks:
                    called = self.marks[abs(value)]
                    other = other if value > 0 else -other
                    if values.setdefault(called, other) != other:
                        return None
                elif not callable(value) and not _is_same(value, other):
                    return None
        return values


def definition_of(tx: optax.GradientTransformation) -> Any:
    """The definition of flax.optim that a transformation could be; None if it is none."""
    stages = _stages(tx)
    for pattern in _patterns():
        hyper_params = pattern.hyper_params(stages)
        if hyper_params is not None and isinstance(hyper_params["learning_rate"], int | float):
            return pattern.kind(**hyper_params)
    return None


@functools.cache
def _patterns() -> list[_Pattern]:
    """All of them, for each flag and with weight decay or without."""
    patterns = []
    for kind in KINDS:
        parameters = dict(inspect.signature(kind).parameters)
        parameters.pop(DTYPE, None)  # which is no number
        choices: dict[str, tuple[Any, ...]] = {
            name: (False, True)
            for name, each in parameters.items()
            if isinstance(each.default, bool)
        }
        if "weight_decay" in parameters:
            choices["weight_decay"] = (0, None)  # none, or a mark
        marks = dict(zip(_MARKS, parameters, strict=False))
        for chosen in itertools.product(*choices.values()):
            pairs = zip(choices, chosen, strict=True)
            flags = {name: value for name, value in pairs if value is not None}
            mine = {mark: name for mark, name in marks.items() if name not in flags}
            values = {name: mark for mark, name in mine.items()} | flags
            definition = kind(**values)
            stages = _stages(definition.optax_chain(definition.hyper_params))
            patterns.append(_Pattern(kind, flags, mine, stages))
    # One with a stage of this package is none of optax alone.
    return [each for each in patterns if all(stage.maker for stage in each.stages)]


def _stages(tx: optax.GradientTransformation) -> list[_Stage]:
    return [each for each in _all_stages(tx.init, tx.update) if not each.does_nothing]


def _all_stages(init: Any, update: Any) -> Iterator[_Stage]:
    maker = getattr(update, "__qualname__", "").partition(".<locals>")[0]
    inside = {**_closure(init), **_closure(update)}
    if not getattr(update, "__module__", "").startswith("optax."):
        yield _Stage("", {})
    elif maker == "chain":
        for each in zip(inside["init_fns"], inside["update_fns"], strict=True):
            yield from _all_stages(*each)
    elif maker == "with_extra_args_support":
        yield from _all_stages(inside["tx"].init, inside["tx"].update)
    else:
        yield _Stage(maker, inside)


def _closure(function: Any) -> Settings:
    return inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}


def _is_same(value: Any, other: Any) -> bool:
    if value is None or other is None:
        return value is other
    return isinstance(other, bool | int | float) and bool(value == other)
