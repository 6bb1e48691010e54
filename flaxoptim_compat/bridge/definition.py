"""The type names of this room: a definition, its formula, and what a step reads and returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import optax
from jax.typing import ArrayLike

from flaxoptim_compat.formula_text.stages import label_of

if TYPE_CHECKING:
    from flaxoptim_compat.optim.base import OptimizerDef
    from flaxoptim_compat.optim.formula import Chain
    from flaxoptim_compat.optim.legacy_loop import LegacyLoop
    from flaxoptim_compat.optim.weight_norm import Normed

# A definition says what a step does; its formula is the chain of optax that does the same, as data.
# This room calls their methods without importing their classes, which are on a higher floor.
Definition: TypeAlias = "OptimizerDef"
Formula: TypeAlias = "Chain | LegacyLoop | Normed"
# For the next four names jax has no narrower type than Any.
# A container of arrays: a dict, a list, a dataclass, a single array.
PyTree: TypeAlias = Any
# The hyper-parameters of a definition: a dataclass of numbers, perhaps with the dataclass of a
# wrapped definition inside, or a list of such dataclasses.
HyperParams: TypeAlias = Any
# The state of one parameter: a dataclass of arrays, or whatever a user's definition keeps.
ParamState: TypeAlias = Any
# A leaf: an array, traced or not, a Python number, or a shape and dtype in place of an array.
Leaf: TypeAlias = Any
# The value of one hyper-parameter.
Number: TypeAlias = ArrayLike
# {type of optax state: {its field: field of the per-parameter state}}
StateFields: TypeAlias = Mapping[type, Mapping[str, str]]
# The values of the names in a formula.
Values: TypeAlias = Mapping[str, Any]
# A function that wraps a transformation.
Around: TypeAlias = Callable[[optax.GradientTransformation], optax.GradientTransformation]
# {type of optax state: {its field: the tree that goes into the field}}
StateTrees: TypeAlias = dict[type, dict[str, PyTree]]
# The optax states by type.
Nodes: TypeAlias = Mapping[type, PyTree]
# A function that returns older states of parameters, which are not always needed.
OldStates: TypeAlias = Callable[[], Sequence[ParamState]]
# A function that makes a tree out of one value for each parameter.
PlaceInTree: TypeAlias = Callable[[Sequence[Leaf]], PyTree]
# A function that reads one value for each parameter out of a tree.
PickFromTree: TypeAlias = Callable[[PyTree], Sequence[Leaf]]


class OwnCode(NamedTuple):
    """Where code of a program's own takes part in what a definition does.

    All flags are false, and so is the tuple, if the program has no code in the definition: a step
    is an optax chain, and the chain has a text.

    Args:
      step: the program's code moves the parameters instead of a chain.
      around: the program overrides ``apply_gradient``; that method may call the one of the class.
      part: the program's code moves some of the parameters: those of one part, which is called as a
        whole.
      elsewhere: the program overrides something else, such as the first state. The step is the same
        chain, but no text says everything that the definition does.
    """

    # Each step reads these flags: a tuple answers in a tenth of the time of an enum.Flag.
    step: bool = False
    around: bool = False
    part: bool = False
    elsewhere: bool = False

    def __bool__(self) -> bool:
        return any(self)

    @property
    def must_be_called(self) -> bool:
        """True if a step must call the definition's ``apply_gradient`` instead of the chain."""
        return self.step or self.around

    @property
    def moves(self) -> bool:
        """True if the program's code computes parameters: no step compiles such code unasked."""
        return self.step or self.part


# Compared by identity: hyper-parameters may be traced, and have no value to compare yet.
@dataclasses.dataclass(frozen=True, eq=False)
class Assignment:
    """A definition, its hyper-parameters in this call, and the indices of the leaves that it moves.

    ``label`` is the key of the definition in ``optax.partition``.
    """

    definition: Definition
    hyper_params: HyperParams
    leaves: tuple[int, ...]
    label: str = label_of(0)

    def pick(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values for these leaves, out of one value for each leaf of the target."""
        # A generator would be entered once for each leaf.
        return tuple(map(values.__getitem__, self.leaves))

    def put(self, picked: Iterable[Any], values: list[Any]) -> None:
        """Put values for these leaves into a list with one value for each leaf of the target."""
        for index, value in zip(self.leaves, picked, strict=True):
            values[index] = value
