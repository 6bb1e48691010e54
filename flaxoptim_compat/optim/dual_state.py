"""A TrainState that also answers as an Optimizer, for programs that change over line by line."""

from __future__ import annotations

import copy
import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar, overload

import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization
from flax.training.train_state import TrainState
from jax.sharding import PartitionSpec
from jax.tree_util import GetAttrKey

from flaxoptim_compat import deprecation
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge import injected
from flaxoptim_compat.bridge.definition import Definition, HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.equality import same
from flaxoptim_compat.bridge.strictness import is_strict, let_pass
from flaxoptim_compat.bridge.train_state import kind_for
from flaxoptim_compat.bridge.trees import number_kind, step_count
from flaxoptim_compat.optim.by_value import StaticDefinition, held_by
from flaxoptim_compat.optim.optimizer import Optimizer, optax_fields, shown_step, shown_tree
from flaxoptim_compat.optim.state import OptimizerState

if TYPE_CHECKING:
    from typing import Self

    from flaxoptim_compat.optim.base import OptimizerDef

Definitions = TypeVar("Definitions", bound="OptimizerDef")

# The fields of an Optimizer.
OLD_FIELDS = frozenset({"optimizer_def", "state", "target"})
# Among the attributes of a definition: its optimizers are DualTrainStates, with a learning rate in
# their ``opt_state`` or without.
_DUAL = "_dual_injects"


@overload
def dual(given: Optimizer, inject: bool = True) -> DualTrainState: ...
@overload
def dual(given: Definitions, inject: bool = True) -> Definitions: ...
def dual(given: Any, inject: bool = True) -> Any:
    """A definition whose optimizers are DualTrainStates; or an optimizer as a DualTrainState.

    ``dual(optim.Adam(1e-3)).create(params)`` is a flax TrainState, on optax, that also answers to
    the names of ``flax.optim``. A definition with a dual one inside is dual too.

    Args:
      given: a definition, which stays as it is, or an optimizer.
      inject: whether ``opt_state`` holds the learning rate, as for ``to_train_state``.

    Raises:
      TypeError: the argument is neither, or an optimizer with a state of the program's own.
    """
    if isinstance(given, DualTrainState):
        return given
    if isinstance(given, Optimizer):
        return DualTrainState.of(given.optimizer_def, given.state, given.target, inject)
    if not hasattr(given, "to_opt_state"):
        raise TypeError(
            "`dual` takes a definition, such as `optim.Adam(learning_rate=0.1)`, or an optimizer,"
            f" not {given!r:.80}."
        )
    copied = copy.copy(given)
    vars(copied)[_DUAL] = inject
    return copied


def is_dual(definition: Any) -> bool:
    """True if the optimizers of a definition are DualTrainStates."""
    return any(True for _ in _choices(definition))


def _choices(definition: Any) -> Iterator[bool]:
    """For each dual definition in one, or the one itself, whether it injects."""
    if _DUAL in vars(definition):
        yield vars(definition)[_DUAL]
    for _, held in held_by(definition):
        for inner in held:
            yield from _choices(inner)


class _OldName:
    """A name of ``Optimizer`` in DualTrainState, which warns where a program reads the name.

    Args:
      name: the name.
      read: the value, for a state.
      instead: what to write.
    """

    def __init__(self, name: str, read: Callable[[Any], Any], instead: str) -> None:
        self._name, self.read, self._instead = name, read, instead

    def __get__(self, state: Any, cls: Any = None) -> Any:
        if state is None:
            return getattr(Optimizer, self._name, self)
        _tell(self._name, self._instead)
        return self.read(state)


def _tell(name: str, instead: str) -> None:
    """Warn of an old name at the line that uses it, unless this package does; see ``strict``."""
    frame: Any = sys._getframe(2)
    module = str(frame.f_globals.get("__name__"))
    if module == "flaxoptim_compat.observation.uses":
        frame = frame.f_back
        module = str(frame.f_globals.get("__name__"))
    if module.partition(".")[0] == "flaxoptim_compat":
        return
    message = f"A DualTrainState is asked for `{name}`, a name of flax.optim. Write `{instead}`."
    if is_strict():
        raise AttributeError(message)
    deprecation.warn_at(frame, message)


class DualTrainState(TrainState, Optimizer):
    """A flax TrainState, on optax, that also answers to each name of an ``Optimizer``.

    Its leaves and its state dict are those of the TrainState that ``to_train_state`` makes. A
    program in which no old name is left can make that one instead: no checkpoint changes. ``dual``
    makes such states. The definition is that of ``tx``.
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError(
            "A DualTrainState has the fields of a TrainState, and no others. Derive the class from"
            " `flax.training.train_state.TrainState`."
        )

    @classmethod
    def of(
        cls,
        definition: Definition,
        state: OptimizerState,
        target: PyTree,
        inject: bool | None = None,
        like: PyTree = None,
    ) -> Self:
        """The state with the fields of an ``Optimizer``.

        Args:
          definition: the definition. Without a learning rate, that in the optax state is 0.
          state: the state.
          target: the parameters.
          inject: whether hyper-parameters that are numbers can be set in the optax state; None: as
            the definition was made dual.
          like: anything with the structure, shapes and dtypes of the parameters.

        Raises:
          TypeError: a definition of the program's own keeps a state that is no OptimizerState.
        """
        step = state.step
        inject = all(_choices(definition)) if inject is None else inject
        definition = definition if is_dual(definition) else dual(definition, inject)
        like = _of_one_copy(target, step) if like is None else like
        fields = optax_fields(definition, _values(definition), target, state, inject, like)
        opt_state = fields["opt_state"]
        # With copies, hyper-parameters that were in the transformation's state have their axis.
        one = jax.eval_shape(fields["tx"].init, like) if getattr(step, "ndim", 0) else opt_state
        fields["opt_state"] = injected.with_each(
            opt_state, one, lambda value, of_one: _beside(step, value, np.ndim(of_one))
        )
        fields["apply_fn"] = None
        return cls(**fields)

    @classmethod
    def from_train_state(
        cls, train_state: TrainState, definition: OptimizerDef | None = None
    ) -> Self:
        """The same TrainState in both dialects; the definition as for ``Optimizer``."""
        optimizer = Optimizer.from_train_state(train_state, definition)
        inject = getattr(train_state.tx, "inject", True)
        made = cls.of(optimizer.optimizer_def, optimizer.state, optimizer.target, inject)
        fields = ("step", "apply_fn", "params", "opt_state")
        return made.replace(**{name: getattr(train_state, name) for name in fields})

    def apply_gradients(self, *, grads: PyTree, **kwargs: Any) -> Self:
        """Do one step of a TrainState, with the hyper-parameters in ``opt_state``.

        Where the program has assigned ``hyper_params`` of the definition, ``opt_state`` gets these.
        """
        definition, state = getattr(self.tx, "definition", None), self
        if definition is not None and not self._is_current():
            state = self._with(definition, self.state, self.params)
        extra_args = definition is not None and not definition.has_param_states
        kind: Any = kind_for(self.params, extra_args)
        return kind.apply_gradients(state, grads=grads, **kwargs)  # type: ignore[no-any-return]

    def replace(self, **updates: PyTree) -> Self:
        """A copy with some of its fields replaced, by their names in either dialect."""
        old = OLD_FIELDS & updates.keys()
        if not old:
            return dataclasses.replace(self, **updates)
        _tell("replace", "state.replace(params=..., step=..., opt_state=...)")
        if old == {"target"}:
            return dataclasses.replace(self, params=updates.pop("target"), **updates)
        fields = [
            updates.pop(name) if name in old else getattr(self, name)
            for name in ("optimizer_def", "state", "target")
        ]
        return dataclasses.replace(self._with(*fields), **updates)

    def _with(self, definition: Definition, state: OptimizerState, target: PyTree) -> Self:
        """The state with the fields of an ``Optimizer``; as much as possible stays."""
        stays = definition is self.optimizer_def and self._is_current()
        shaped = all(map(_has_shape, jax.tree.leaves(target)))
        like = None if shaped else _of_one_copy(self.params, self.step)
        made = type(self).of(definition, state, target, getattr(self.tx, "inject", True), like)
        kept: dict[str, Any] = {"apply_fn": self.apply_fn}
        if stays and _is_number(state.step) and _is_number(self.step):
            kept["opt_state"] = injected.with_values_of(made.opt_state, self.opt_state)
        return dataclasses.replace(made, **kept, **({"tx": self.tx} if stays else {}))

    def _is_current(self) -> bool:
        """True unless the program has assigned ``hyper_params`` since ``tx`` was made."""
        return same(_values(self.optimizer_def), self.tx.hyper_params)

    def _restored(self, entries: PyTree) -> Self:
        """The state with the values of a state dict, of a TrainState or of an ``Optimizer``."""
        if not isinstance(entries, Mapping) or "opt_state" in entries:
            like = {name: getattr(self, name) for name in _DATA}
            if unknown := set(entries) - set(like):
                raise ValueError(f"Cannot restore a TrainState: unknown entries {sorted(unknown)}.")
            return self.replace(**serialization.from_state_dict(like, dict(entries)))
        return super().restore_state(entries)

    def __repr__(self) -> str:
        definition = getattr(self.tx, "definition", self.tx)
        shown = f"step={shown_step(self.step)}, params={shown_tree(self.params)}"
        return f"{type(self).__name__}({definition!r}, {shown})"

    def __reduce__(self) -> Any:
        # No function of optax can be pickled. A definition makes them anew.
        kept = {"apply_fn": self.apply_fn, "opt_state": self.opt_state}
        made_of = (self.optimizer_def, self.state, self.params, self.tx.inject)
        return _unpickled, (made_of, kept)


def _unpickled(made_of: tuple[Any, ...], kept: Mapping[str, Any]) -> DualTrainState:
    return DualTrainState.of(*made_of).replace(**kept)


def _values(definition: Definition) -> HyperParams:
    """The hyper-parameters that a TrainState begins with."""
    return hp.with_some_rate(definition.update_hyper_params())


def _is_number(leaf: Leaf) -> bool:
    return bool(number_kind(leaf)) and not isinstance(leaf, jax.ShapeDtypeStruct)


def _has_shape(leaf: Leaf) -> bool:
    return hasattr(leaf, "shape") or bool(number_kind(leaf))


def _of_one_copy(params: PyTree, step: Leaf) -> PyTree:
    """The shapes of parameters, without the axes that copies on devices have, as the step has.

    A program may have put something else in place of each array, such as its axes.
    """
    copies = getattr(step, "ndim", 0)

    def of_one(leaf: Leaf) -> Leaf:
        if not _has_shape(leaf):
            rank = len(leaf) if isinstance(leaf, PartitionSpec) else 0
            return jax.ShapeDtypeStruct((2,) * rank, jnp.float32)
        return jax.ShapeDtypeStruct(leaf.shape[copies:], leaf.dtype) if copies else leaf

    return jax.tree.map(of_one, params)


def _beside(step: Leaf, value: Leaf, rank: int) -> Leaf:
    """A hyper-parameter for a state with this step: for each copy, or what is in its place."""
    if not _has_shape(step):
        return step
    shape = (*getattr(step, "shape", ()), *np.shape(value)[np.ndim(value) - rank :])
    if isinstance(step, jax.ShapeDtypeStruct):
        return jax.ShapeDtypeStruct(shape, value.dtype)
    return jnp.broadcast_to(value, shape) if shape != value.shape else value


def _definition(state: DualTrainState) -> Definition:
    if not hasattr(state.tx, "definition"):
        raise AttributeError(
            "The `tx` of this DualTrainState does not come from a definition, so the state has no"
            " old names. Make the state with `dual(definition).create(params)`."
        )
    definition: Definition = state.tx.definition
    return definition


def _old_state(state: DualTrainState) -> OptimizerState:
    like = _of_one_copy(state.params, state.step)
    copies = np.zeros(getattr(state.step, "shape", ()), np.int32)
    made = _definition(state).from_opt_state(like, copies, state.opt_state)
    return OptimizerState(step_count(state.step), made.param_states)


def _method(name: str) -> Callable[[Any], Any]:
    return lambda state: getattr(super(DualTrainState, state), name)


# {old name: its value, and what to write}
OLD_NAMES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "optimizer_def": (_definition, "state.tx"),
    "state": (_old_state, "state.step` or `state.opt_state"),
    "target": (lambda state: state.params, "state.params"),
    "apply_gradient": (_method("apply_gradient"), "state.apply_gradients(grads=grads)"),
    "restore_state": (
        lambda state: state._restored,
        "flax.serialization.from_state_dict(state, state_dict)",
    ),
    "state_dict": (_method("state_dict"), "flax.serialization.to_state_dict(state)"),
    "replicate": (_method("replicate"), "flax.jax_utils.replicate(state)"),
    "unreplicate": (_method("unreplicate"), "flax.jax_utils.unreplicate(state)"),
    "optimize": (
        _method("optimize"),
        "jax.value_and_grad(loss_fn)(state.params)` and `state.apply_gradients(grads=grads)",
    ),
    **dict.fromkeys(
        ("compute_gradient", "compute_gradients"),
        (_method("compute_gradient"), "jax.value_and_grad(loss_fn)(state.params)"),
    ),
}
for _name, _old in OLD_NAMES.items():
    setattr(DualTrainState, _name, _OldName(_name, *_old))

# The fields with arrays, in the order of a TrainState.
_DATA = ("step", "params", "opt_state")


def _flatten(state: DualTrainState) -> tuple[tuple[PyTree, ...], tuple[Any, ...]]:
    # As in an Optimizer, hyper-parameters may be assigned between two calls of a jitted function.
    definition = StaticDefinition(getattr(state.tx, "definition", None))
    return (state.step, state.params, state.opt_state), (state.apply_fn, state.tx, definition)


def _unflatten(aux: tuple[Any, ...], children: Iterable[PyTree]) -> DualTrainState:
    apply_fn, tx, static = aux
    definition = static.restored()
    if definition is not getattr(tx, "definition", None):
        tx = tx.with_definition(definition)
    values: dict[str, Any] = dict(zip(_DATA, children, strict=True))
    return DualTrainState(**values, apply_fn=apply_fn, tx=tx)


def _flatten_with_keys(state: DualTrainState) -> tuple[Any, tuple[Any, ...]]:
    children, aux = _flatten(state)
    return tuple(zip(map(GetAttrKey, _DATA), children, strict=True)), aux


def _to_state_dict(state: DualTrainState) -> dict[str, PyTree]:
    return {name: serialization.to_state_dict(getattr(state, name)) for name in _DATA}


def _from_state_dict(state: DualTrainState, entries: PyTree) -> DualTrainState:
    if isinstance(entries, Mapping) and {"state", "target"} <= set(entries):
        message = "The checkpoint is one of an Optimizer, and is restored into a DualTrainState."
        if is_strict():
            raise ValueError(f"{message} Convert it: `flaxoptim-compat checkpoint convert`.")
        let_pass(f"{message} The next checkpoint will be one of a TrainState.")
    return state._restored(entries)


jax.tree_util.register_pytree_with_keys(DualTrainState, _flatten_with_keys, _unflatten, _flatten)
serialization.register_serialization_state(DualTrainState, _to_state_dict, _from_state_dict)
