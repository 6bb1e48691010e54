"""How a definition runs on optax: its chain, and where the chain keeps the legacy state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import optax

from flaxoptim_compat.bridge.masks import Assignment
from flaxoptim_compat.optim import source_text

# {type of optax state: {its field: field of the per-parameter state}}
OptaxFields = Mapping[type, Mapping[str, str]]


class OnOptax:
    """The side of a definition that optax sees."""

    optax_fields: ClassVar[OptaxFields] = {}
    param_state_class: ClassVar[type | None] = None
    # Stands beside an optax_chain that moves each parameter without looking at the others.
    leaf_by_leaf: ClassVar[bool] = False
    hyper_params: Any

    def optax_chain(self, hyper_params: Any) -> optax.GradientTransformation:
        """The optax transformation that does what the definition does, with these values."""
        raise NotImplementedError(f"{type(self).__name__} does not define optax_chain.")

    def chain_text(self, hyper_params: Any) -> str:
        """That transformation as source text, with hyper-parameters that format as theirs."""
        raise NotImplementedError(f"{type(self).__name__} does not define chain_text.")

    def optax_expression(self) -> str | None:
        """The Python expression for what the definition does; None if there is no single one.

        Its names are ``optax``, ``jnp``, the ``transforms`` of this package, ``labels`` in a
        MultiOptimizer, and those of hyper-parameters that are no numbers.
        """
        if not self.has_expression():
            return None
        if not source_text.lacks_rate(self.hyper_params):
            return self.chain_text(source_text.written(self.hyper_params))
        # The rate alone is injected: a decay rate as a float32 array would lose four digits. Where
        # one is missing, apply_gradient(learning_rate=...) gives all of a MultiOptimizer the same.
        text = self.chain_text(source_text.written(self.hyper_params, free={"learning_rate"}))
        return f"optax.inject_hyperparams(lambda learning_rate: {text})(learning_rate=0.0)"

    def has_expression(self) -> bool:
        """Whether there is a text, and no subclass overrides anything since but ``__init__``."""
        order = type(self).__mro__
        home = next(cls for cls in order if "chain_text" in vars(cls))
        overridden = [
            name
            for cls in order[: order.index(home)]
            for name in vars(cls)
            if not name.startswith("__") and hasattr(home, name)
        ]
        return home is not OnOptax and not overridden

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

    def splits(self) -> bool:
        """Whether some of the parameters alone move as they do together with the others."""
        # A subclass that names another chain has to say so again.
        home = next(cls for cls in type(self).__mro__ if "optax_chain" in vars(cls))
        return bool(vars(home).get("leaf_by_leaf", False))

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
        names = [field.name for field in dataclasses.fields(self.param_state_class)]
        for name in names:
            if name not in columns:
                columns[name] = [getattr(state, name) for state in states]
        rows = zip(*(columns[name] for name in names), strict=True)
        return [self.param_state_class(*row) for row in rows]

    def assign(self, hyper_params: Any, params: Any, eligible: Sequence[int]) -> list[Assignment]:
        """Which definition moves which of the eligible leaves: here, this one moves them all."""
        del params
        return [Assignment(self, hyper_params, tuple(eligible))]
