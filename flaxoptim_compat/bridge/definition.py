"""The formula of a definition, and the words of this room for what it handles."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import optax
from jax.typing import ArrayLike

from flaxoptim_compat.formula_text.stages import label_of

if TYPE_CHECKING:
    from flaxoptim_compat.optim.base import OptimizerDef

# What a step does. This room calls its methods, and imports no class of it.
Definition: TypeAlias = "OptimizerDef"
# For the first four jax has no better type. Containers of arrays, whatever they are made of:
PyTree: TypeAlias = Any
# a dataclass of numbers, perhaps with another one inside, or a list of those:
HyperParams: TypeAlias = Any
# a dataclass of arrays, or what a user's definition keeps for one parameter:
ParamState: TypeAlias = Any
# an array, traced or not, a Python number, or the shape and dtype that stand for an array:
Leaf: TypeAlias = Any
# One hyper-parameter.
Number: TypeAlias = ArrayLike
# {type of optax state: {its field: field of the per-parameter state}}
StateFields: TypeAlias = Mapping[type, Mapping[str, str]]
# What the names in a formula stand for.
Values: TypeAlias = Mapping[str, Any]
# What is put around a transformation.
Around: TypeAlias = Callable[[optax.GradientTransformation], optax.GradientTransformation]
# The trees that go into each optax state, by its fields.
StateTrees: TypeAlias = dict[type, dict[str, PyTree]]
# The optax states by type.
Nodes: TypeAlias = Mapping[type, PyTree]
# Makes a tree of one value per parameter,
Place: TypeAlias = Callable[[Sequence[Leaf]], PyTree]
# and takes such a tree to these values.
Pick: TypeAlias = Callable[[PyTree], Sequence[Leaf]]


class Formula(Protocol):
    """The chain of optax that a definition is, as data."""

    @property
    def state_fields(self) -> StateFields:
        """Where optax keeps which field of the legacy state."""

    @property
    def splits(self) -> bool:
        """True if some parameters alone move as they do together with the others."""

    @property
    def takes_schedule(self) -> bool:
        """True if the learning rate may be a function of the step."""

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The transformation, with these hyper-parameters."""

    def expression(self, terms: Values) -> ast.expr:
        """The transformation as a syntax tree, with terms in place of the hyper-parameters."""

    def to_optax(self, states: Sequence[ParamState], place: Place) -> StateTrees:
        """The trees that go into each optax state, out of the per-parameter states."""

    def from_optax(self, nodes: Nodes, old: Sequence[ParamState], pick: Pick) -> list[ParamState]:
        """The per-parameter states, out of the optax states; ``old`` are those before.

        What optax does not keep stays as it was.
        """


class OwnCode(NamedTuple):
    """Where code of a program's own takes part in what a definition does.

    Without any it is false: a step is an optax chain, and a text says which.

    Args:
      step: the code moves the parameters, and no chain does.
      around: an ``apply_gradient`` of its own is called, which may then call that of the class.
      part: the code moves some of the parameters: it is in a part that is called as a whole.
      elsewhere: the code says something else, such as the first state. The step is the same; no
        text says all.
    """

    # Each step asks: a tuple answers in a tenth of the time of an enum.Flag.
    step: bool = False
    around: bool = False
    part: bool = False
    elsewhere: bool = False

    def __bool__(self) -> bool:
        return any(self)

    @property
    def asks(self) -> bool:
        """True if a step must call ``apply_gradient``, rather than go through the chain."""
        return self.step or self.around

    @property
    def moves(self) -> bool:
        """True if it computes parameters, and so is not to be compiled unasked."""
        return self.step or self.part


# Compared by identity: hyper-parameters may be traced, and have no value to compare yet.
@dataclasses.dataclass(frozen=True, eq=False)
class Assignment:
    """One definition, the hyper-parameters of this call, and the leaves that it moves.

    ``label`` is its key in ``optax.partition``.
    """

    definition: Definition
    hyper_params: HyperParams
    leaves: tuple[int, ...]
    label: str = label_of(0)
