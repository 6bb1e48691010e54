"""The recipe of an optimizer of flax.optim: stages and values, which a mistake changes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import optax

from flaxoptim_compat.bridge.definition import Values
from flaxoptim_compat.optim.formula import DESCENT_STAGE, RATE_STAGE, Stage, stage

if TYPE_CHECKING:
    from typing import Self


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The stages of a chain in their order, and the values that the names in them stand for.

    Args:
      kind: the class of the definition.
      stages: the stages that a gradient goes through, first to last. The learning rate is a stage
        of its own, ``rate``, and so is the change of sign, ``descent``.
      settings: the hyper-parameters.
      dtypes: the dtypes of fields of the per-parameter state that are not kept in their own.
      starts: the numbers to add to fields of the per-parameter state before the first step.
    """

    kind: type
    stages: Mapping[str, Stage]
    settings: Values
    dtypes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    starts: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def with_settings(self, **settings: Any) -> Self:
        """The recipe with other hyper-parameters."""
        return dataclasses.replace(self, settings={**self.settings, **settings})

    def with_dtypes(self, **dtypes: Any) -> Self:
        """The recipe with fields of the state kept in other dtypes."""
        return dataclasses.replace(self, dtypes={**self.dtypes, **dtypes})

    def with_starts(self, **starts: float) -> Self:
        """The recipe with fields of the state that start higher."""
        return dataclasses.replace(self, starts={**self.starts, **starts})

    def with_stages(self, **stages: Stage) -> Self:
        """The recipe with these stages only."""
        return dataclasses.replace(self, stages=stages)

    def replaced(self, name: str, **changes: Any) -> Self:
        """The recipe with one stage changed, as by ``dataclasses.replace``."""
        changed = dataclasses.replace(self.stages[name], **changes)
        return self.with_stages(**{**self.stages, name: changed})

    def with_arguments(self, name: str, **arguments: Any) -> Self:
        """The recipe with other arguments of one stage."""
        return self.with_stages(
            **{**self.stages, name: self.stages[name].with_arguments(**arguments)}
        )

    def without(self, name: str) -> Self:
        """The recipe without a stage."""
        return self.with_stages(**{key: each for key, each in self.stages.items() if key != name})

    def moved(self, name: str, after: str | None) -> Self:
        """The recipe with one stage right after another one; None puts it first."""
        order = [key for key in self.stages if key != name]
        order.insert(0 if after is None else order.index(after) + 1, name)
        return self.with_stages(**{key: self.stages[key] for key in order})

    def chain(self) -> optax.GradientTransformation:
        """The optax transformation."""
        return optax.chain(*(each.transformation(self.settings) for each in self.stages.values()))


def recipe_of(definition: Any, values: Values | None = None) -> Recipe:
    """The recipe of a definition as it is, or with the values of a step."""
    settings = definition.values(definition.hyper_params) if values is None else values
    return Recipe(
        type(definition), dict(_taken_apart(definition.formula.present(settings))), settings
    )


def _taken_apart(stages: Mapping[str, Stage]) -> Iterator[tuple[str, Stage]]:
    """The stages, with stages of their own for the learning rate and the change of sign."""
    rate = stage(optax.scale, "learning_rate")
    for name, each in stages.items():
        if each is RATE_STAGE:
            yield "rate", rate
            yield "descent", DESCENT_STAGE
        elif "learning_rate" in each.positional and name != "rate":
            yield name, dataclasses.replace(each, positional=(1.0, *each.positional[1:]))
            yield "rate", rate
        else:
            yield name, each
