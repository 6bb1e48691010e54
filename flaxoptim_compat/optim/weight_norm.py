"""Weight normalisation around any optimizer: ``flaxoptim_compat.transforms.weight_norm``."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

import jax
import jax.numpy as jnp
import optax
from flax import struct
from jax.tree_util import PyTreeDef

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import (
    Formula,
    HyperParams,
    Leaf,
    Nodes,
    Number,
    OldStates,
    OwnCode,
    ParamState,
    PickFromTree,
    PlaceInTree,
    PyTree,
    StateFields,
    StateTrees,
    Values,
)
from flaxoptim_compat.bridge.sharding import of_state
from flaxoptim_compat.bridge.trees import gradient_leaves, leaves_like
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.formula import Chain, stage
from flaxoptim_compat.optim.multi_optimizer import MultiOptimizer, refuse_as_part
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.transforms.weight_norm import (
    WeightNormState,
    is_normalised,
    merge,
    split,
    split_gradient,
    squared_norms,
    weight_norm,
)

if TYPE_CHECKING:
    from typing import Self

# The chain around the transformation of the wrapped definition, which the name "inner" stands for.
WEIGHT_NORM_CHAIN: Final = Chain(normed=stage(weight_norm, "inner", decay="wn_decay", eps="wn_eps"))

# The two factors of a parameter. The wrapped definition moves both.
_FACTORS = ("direction", "scale")


@struct.dataclass
class _WeightNormHyperParams:
    inner: HyperParams
    wn_decay: Number
    wn_eps: Number


@struct.dataclass
class _WeightNormParamState:
    direction_state: ParamState
    scale_state: ParamState
    direction: Leaf
    scale: Leaf

    @property
    def mult(self) -> Leaf:
        """``scale / ‖direction‖``, which Flax before 0.4.0 kept in place of the two factors."""
        if isinstance(self.scale, tuple):
            return ()
        return self.scale * jax.lax.rsqrt(squared_norms(self.direction, 0.0))


class Normed:
    """The formula ``inner``, applied to the direction and the scale of each parameter."""

    def __init__(self, inner: Formula) -> None:
        self._inner = inner
        # The fields of the two factors, and those that the wrapped definition has for them.
        own_fields: StateFields = {WeightNormState: {name: name for name in _FACTORS}}
        self.state_fields: StateFields = {**own_fields, **inner.state_fields}
        self.takes_schedule: bool = inner.takes_schedule
        self.splits: bool = inner.splits

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The chain of the wrapped definition, on directions and scales."""
        inner = self._inner.transformation(values["inner"])
        return WEIGHT_NORM_CHAIN.transformation({**values, "inner": inner})

    def expression(self, terms: Values) -> ast.expr:
        """The chain of the wrapped definition, on directions and scales, as a syntax tree."""
        inner = self._inner.expression(terms["inner"])
        return WEIGHT_NORM_CHAIN.expression({**terms, "inner": inner})

    def to_optax(self, states: Sequence[ParamState], place: PlaceInTree) -> StateTrees:
        """The trees of the factors, and the trees of the wrapped definition's states for them."""
        scaled, inner = _of_wrapped(states)

        def place_both(values: Sequence[Leaf]) -> PyTree:
            scales: list[Leaf] = [()] * len(states)
            for row, value in zip(scaled, values[len(states) :], strict=True):
                scales[row] = value
            return {"direction": place(values[: len(states)]), "scale": place(scales)}

        factors = {name: place([getattr(state, name) for state in states]) for name in _FACTORS}
        return {WeightNormState: factors, **self._inner.to_optax(inner, place_both)}

    def from_optax(self, nodes: Nodes, old: OldStates, pick: PickFromTree) -> list[ParamState]:
        """One state for each parameter, out of the factors and the wrapped definition's states."""
        states = old()
        scaled, inner = _of_wrapped(states)

        def pick_both(tree: PyTree) -> list[Leaf]:
            scales = pick(tree["scale"])
            return [*pick(tree["direction"]), *(scales[row] for row in scaled)]

        moved = self._inner.from_optax(nodes, lambda: inner, pick_both)
        scale_states = [state.scale_state for state in states]
        for row, state in zip(scaled, moved[len(states) :], strict=True):
            scale_states[row] = state
        node = nodes[WeightNormState]
        columns = (moved[: len(states)], scale_states, pick(node.direction), pick(node.scale))
        return [_WeightNormParamState(*fields) for fields in zip(*columns, strict=True)]


def _of_wrapped(states: Sequence[ParamState]) -> tuple[list[int], list[ParamState]]:
    """The numbers of the parameters with a scale, and the states of the wrapped definition.

    The states of all directions come first, then those of the scales. A bias has the empty tuple in
    place of a scale.
    """
    # With jax before 0.5, axes in place of a scale are a tuple too.
    scaled = [row for row, state in enumerate(states) if type(state.scale) is not tuple]
    directions = [state.direction_state for state in states]
    return scaled, directions + [states[row].scale_state for row in scaled]


class WeightNorm(OptimizerDef):
    """Weight normalisation (Salimans and Kingma, 2016, https://arxiv.org/abs/1602.07868).

    ``w = scale · direction / √(Σdirection² + wn_eps)``, summed over all axes but the last, which is
    taken as the output axis. Biases and scalars go to the wrapped optimizer unchanged.

    Args:
      wrapped_optimizer: the definition that moves directions and scales.
      wn_decay: L2 regularisation, this part of the direction added to its gradient; 0 is none.
      wn_eps: added to the squared norm.
    """

    broadcasts: ClassVar[bool] = False
    _holder: ClassVar[str] = "_own"

    def __init__(
        self, wrapped_optimizer: OptimizerDef, wn_decay: Number = 0, wn_eps: Number = 1e-8
    ) -> None:
        inside = "Normalise in optax: `from_optax(transforms.weight_norm(tx))`."
        refuse_as_part(wrapped_optimizer, "WeightNorm", inside)
        self.wrapped_optimizer = wrapped_optimizer
        super().__init__(_WeightNormHyperParams(wrapped_optimizer.hyper_params, wn_decay, wn_eps))

    # The wrapped definition owns its hyper-parameters; a copy here could only go stale.
    @property
    def hyper_params(self) -> HyperParams:
        """The hyper-parameters of this definition, with those of the wrapped one as ``inner``."""
        return _WeightNormHyperParams(self.wrapped_optimizer.hyper_params, *self._own)

    @hyper_params.setter
    def hyper_params(self, hyper_params: HyperParams) -> None:
        self._own = (hyper_params.wn_decay, hyper_params.wn_eps)
        self.wrapped_optimizer.hyper_params = hyper_params.inner

    def __copy__(self) -> Self:
        # With a copy of the wrapped definition, an assignment to the copy never changes the
        # original.
        made = object.__new__(type(self))
        vars(made).update(vars(self), wrapped_optimizer=copy.copy(self.wrapped_optimizer))
        return made

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        """The formula of the wrapped definition, applied to directions and scales."""
        inner = self.wrapped_optimizer.formula
        return None if inner is None else Normed(inner)

    def shown(self, hyper_params: HyperParams) -> str:
        """The class, with the wrapped definition in place of ``inner``."""
        inner = self.wrapped_optimizer.shown(hyper_params.inner)
        own = f"wn_decay={hyper_params.wn_decay!r}, wn_eps={hyper_params.wn_eps!r}"
        return f"{type(self).__name__}({inner}, {own})"

    def values(self, hyper_params: HyperParams) -> Values:
        """The values for the formula, with those of the wrapped definition as ``inner``."""
        inner = self.wrapped_optimizer.values(hyper_params.inner)
        return {**super().values(hyper_params), "inner": inner}

    def overridden_hyper_params(
        self, hyper_params: HyperParams, overrides: Mapping[str, Any]
    ) -> HyperParams:
        """These hyper-parameters with overrides: all but ``wn_…`` are the wrapped definition's."""
        wrapped = self.wrapped_optimizer
        if not isinstance(hyper_params, _WeightNormHyperParams):
            # With Flax, hyper_params= reached only the wrapped definition.
            hyper_params = self.hyper_params.replace(inner=hyper_params)
        if dataclasses.is_dataclass(hyper_params.inner):
            hp.refuse_unknown(type(self).__name__, overrides, [*hp.flatten(hyper_params)])
        own = {name: value for name, value in overrides.items() if name in ("wn_decay", "wn_eps")}
        inner = {name: value for name, value in overrides.items() if name not in own}
        if hyper_params.inner is not wrapped.hyper_params:
            inner["hyper_params"] = hyper_params.inner
        return hyper_params.replace(inner=wrapped.update_hyper_params(**inner), **own)

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """These hyper-parameters with Python numbers as floats, those of the wrapped one too.

        Raises:
          AssertionError: the wrapped definition has no learning rate.
          TypeError: a hyper-parameter is no real number.
        """
        if not hasattr(hyper_params, "inner"):
            hyper_params = self.hyper_params.replace(inner=hyper_params)
        hyper_params = hp.read_like(hyper_params, self.hyper_params)
        inner = self.wrapped_optimizer.normalise(hyper_params.inner)
        return hp.normalise(type(self).__name__, hyper_params.replace(inner=inner))

    def own_code(self) -> OwnCode:
        """Where code of the program's own takes part: in a subclass, or in the wrapped definition.

        Around a MultiOptimizer, which selects parameters by their names, or another WeightNorm, a
        step calls the ``apply_gradient`` of the wrapped definition too.
        """
        code, wrapped = super().own_code(), self.wrapped_optimizer.own_code()
        is_called = isinstance(self.wrapped_optimizer, MultiOptimizer | WeightNorm)
        if is_called or wrapped.must_be_called:
            return code._replace(step=True)
        return code or OwnCode(elsewhere=bool(wrapped))

    def init_state(self, params: PyTree) -> OptimizerState:
        """The state before the first step: both factors of each parameter, and their states."""
        params = jax.tree.map(jnp.asarray, params)
        direction, scale = split(params, self.hyper_params.wn_eps)
        # A bias is its own direction, but its buffer must not be donated for both.
        factors = {"direction": jax.tree.map(jnp.copy, direction), "scale": scale}
        return _joined(params, factors, self.wrapped_optimizer.init_state(factors))

    def state_axes(
        self, params: PyTree, state: OptimizerState, param_axes: PyTree
    ) -> OptimizerState:
        """The axes of the state: a direction has the parameter's axes, a scale the last of them."""
        treedef: PyTreeDef = jax.tree.structure(params)
        specs = treedef.unflatten(leaves_like(params, param_axes, "param_axes"))
        factors, inner = _taken_apart(params, state)
        axes = {
            "direction": specs,
            "scale": jax.tree.map(of_state, params, factors["scale"], specs),
        }
        both = {"direction": params, "scale": factors["scale"]}
        return _joined(params, axes, self.wrapped_optimizer.state_axes(both, inner, axes))

    def step_by_own_code(
        self, hyper_params: HyperParams, params: PyTree, state: OptimizerState, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """The step that calls ``apply_gradient`` of a wrapped definition which is no chain."""
        treedef: PyTreeDef = jax.tree.structure(params)
        factors, inner = _taken_apart(params, state)
        grads = treedef.unflatten(gradient_leaves(params, grads))
        direction, scale = factors["direction"], factors["scale"]
        split_grads = split_gradient(
            grads, direction, scale, hyper_params.wn_decay, hyper_params.wn_eps
        )
        new, new_inner = self.wrapped_optimizer.apply_gradient(
            hyper_params.inner, factors, inner, dict(zip(_FACTORS, split_grads, strict=True))
        )
        merged = merge(new["direction"], new["scale"], hyper_params.wn_eps)
        return merged, _joined(params, new, new_inner)

    # Methods that Flax before 0.4.0 had, for one parameter each.

    def _split_param(self, param: Leaf) -> tuple[Leaf, Leaf]:
        return split(param, self.hyper_params.wn_eps)

    def _merge_param(self, direction: Leaf, scale: Leaf, eps: Number) -> tuple[Leaf, Leaf]:
        state = _WeightNormParamState(None, None, direction, scale)
        return merge(direction, scale, eps), state.mult

    def _split_grad(
        self, param: Leaf, state: ParamState, grad: Leaf, decay: Number
    ) -> tuple[PyTree, ...]:
        del param
        eps = self.hyper_params.wn_eps
        grads = split_gradient(grad, state.direction, state.scale, decay, eps)
        direction = (state.direction, state.direction_state, grads[0])
        return (*direction, state.scale, state.scale_state, grads[1])

    def upgrade_param_state(self, param: Leaf, entry: PyTree) -> ParamState:
        """The state of one parameter in the layout of Flax 0.5.3.

        Flax before 0.4.0 kept ``mult = scale / ‖direction‖`` in place of the two factors.
        """
        if not isinstance(entry, Mapping) or "direction_state" not in entry:
            return entry
        upgraded = dict(entry)
        for name in {"direction_state", "scale_state"} & set(entry):
            upgraded[name] = self.wrapped_optimizer.upgrade_param_state(param, entry[name])
        for name in ("scale", "scale_state"):
            # A bias has neither field; orbax before 0.7 restores None for an empty entry.
            if upgraded.get(name, {}) is None:
                upgraded[name] = {}
        if "mult" not in entry:
            return upgraded
        mult = upgraded.pop("mult")
        param = jnp.asarray(param)
        if not is_normalised(param):
            return {**upgraded, "direction": param, "scale": {}}
        scale = jnp.sqrt(squared_norms(param, 0.0)) * jnp.sign(mult)
        return {**upgraded, "direction": param / mult, "scale": scale}


def _taken_apart(params: PyTree, state: OptimizerState) -> tuple[dict[str, PyTree], OptimizerState]:
    """The factors of all parameters, and the wrapped definition's state for them."""
    states = leaves_like(params, state.param_states, "param_states")
    treedef: PyTreeDef = jax.tree.structure(params)

    def column(name: str) -> PyTree:
        return treedef.unflatten([getattr(state, name) for state in states])

    inner = {name: column(f"{name}_state") for name in _FACTORS}
    return {name: column(name) for name in _FACTORS}, OptimizerState(state.step, inner)


def _joined(params: PyTree, factors: Mapping[str, PyTree], inner: OptimizerState) -> OptimizerState:
    """The factors and the state of the wrapped definition, as one state for each parameter."""
    states = jax.tree.map(
        lambda _, *fields: _WeightNormParamState(*fields),
        params,
        *(inner.param_states[name] for name in _FACTORS),
        *(factors[name] for name in _FACTORS),
    )
    return OptimizerState(inner.step, states)
