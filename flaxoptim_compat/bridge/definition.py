"""The formula of a definition, and the words of this room for what it handles."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import optax
from jax.typing import ArrayLike

from flaxoptim_compat.formula_text.stages import label_of

if TYPE_CHECKING:
    from flaxoptim_compat.optim.base import OptimizerDef
    from flaxoptim_compat.optim.formula import Chain
    from flaxoptim_compat.optim.legacy_loop import LegacyLoop
    from flaxoptim_compat.optim.weight_norm import Normed

# What a step does, and the chain of optax that it is, as data. This room calls their methods, and
# imports no class of them.
Definition: TypeAlias = "OptimizerDef"
Formula: TypeAlias = "Chain | LegacyLoop | Normed"
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
