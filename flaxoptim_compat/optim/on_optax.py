"""How a definition runs on optax: its chain, and where the chain keeps the legacy state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import optax

from flaxoptim_compat.bridge.masks import Assignment

# {type of optax state: {its field: field of the per-parameter state}}
OptaxFields = Mapping[type, Mapping[str, str]]


class OnOptax:
    """The side of a definition that optax sees."""

    optax_fields: ClassVar[OptaxFields] = {}
    param_state_class: ClassVar[type | None] = None

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The optax transformation that does what the definition does, with these values."""
        raise NotImplementedError(f"{type(self).__name__} does not define optax_chain.")

    def names_chain(self) -> bool:
        """Whether this class, or one that it inherits from, names a chain."""
        return type(self).optax_chain is not OnOptax.optax_chain

    def has_chain(self) -> bool:
        """Whether there is a chain, and no subclass overrides the per-parameter code since."""
        return self._chain_is_newer_than("apply_param_gradient")

    def on_optax(self) -> bool:
        """Whether a step may go through the chain without asking ``apply_gradient``."""
        return self.has_chain() and self._chain_is_newer_than("apply_gradient")

    def _chain_is_newer_than(self, method: str) -> bool:
        order = type(self).__mro__
        chain = next(cls for cls in order if "optax_chain" in vars(cls))
        other = next(cls for cls in order if method in vars(cls))
        return self.names_chain() and order.index(chain) <= order.index(other)

    def compiles(self) -> bool:
        """Whether no code of the user's runs in a step, so that it can be compiled unasked."""
        return self.has_chain()

    def to_optax_fields(
        self, states: Sequence[Any], place: Callable[[Sequence[Any]], Any]
    ) -> dict[type, dict[str, Any]]:
        """The trees that go into each optax state, out of the per-parameter states.

        Args:
          states: one per parameter.
          place: makes a tree of one value per parameter.
        """
        return {
            kind: {
                field: place([getattr(state, legacy) for state in states])
                for field, legacy in names.items()
            }
            for kind, names in self.optax_fields.items()
        }

    def from_optax_fields(
        self,
        nodes: Mapping[type, Any],
        states: Sequence[Any],
        pick: Callable[[Any], Sequence[Any]],
    ) -> list[Any]:
        """The per-parameter states, out of the optax states.

        Args:
          nodes: the optax states by type.
          states: the states before, for what optax does not keep.
          pick: takes a tree to one value per parameter, the inverse of ``place``.
        """
        columns = {
            legacy: pick(getattr(nodes[kind], field))
            for kind, names in self.optax_fields.items()
            if kind in nodes
            for field, legacy in names.items()
        }
        if self.param_state_class is None:
            return list(states)
        return [
            self._with_fields(state, {name: column[row] for name, column in columns.items()})
            for row, state in enumerate(states)
        ]

    def _with_fields(self, state: Any, values: Mapping[str, Any]) -> Any:
        assert self.param_state_class is not None
        names = [field.name for field in dataclasses.fields(self.param_state_class)]
        return self.param_state_class(
            **{name: values.get(name, getattr(state, name)) for name in names}
        )

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """Which definition moves which of the eligible leaves: here, this one moves them all."""
        del params
        return [Assignment(self, hyper_params, tuple(eligible))]
