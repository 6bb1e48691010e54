"""Weight normalisation around any optimizer: ``flaxoptim_compat.transforms.weight_norm``."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import struct

from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.axes import of_state
from flaxoptim_compat.bridge.definition import (
    Formula,
    HyperParams,
    Leaf,
    Number,
    ParamState,
    PyTree,
    StateFields,
    StateTrees,
    Values,
)
from flaxoptim_compat.bridge.trees import gradient_leaves, leaves_like
from flaxoptim_compat.optim.base import (
    MultiOptimizer,
    OptimizerDef,
    OptimizerState,
    refuse_as_part,
)
from flaxoptim_compat.optim.formula import written
from flaxoptim_compat.transforms.weight_norm import (
    WeightNormState,
    is_normalised,
    merge,
    split,
    split_gradient,
    squared_norms,
    weight_norm,
)


@struct.dataclass
class _WeightNormHyperParams:
    inner: Any
    wn_decay: Any
    wn_eps: Any


@struct.dataclass
class _WeightNormParamState:
    direction_state: Any
    scale_state: Any
    direction: Leaf
    scale: Leaf

    @property
    def mult(self) -> Any:
        """What Flax before 0.4.0 kept in place of the two factors: ``scale / ‖direction‖``."""
        if isinstance(self.scale, tuple):
            return ()
        return self.scale * jax.lax.rsqrt(squared_norms(self.direction, 0.0))


class _Normed:
    """A formula for the direction and the scale of each parameter.

    Args:
      inner: that of the wrapped definition.
    """

    def __init__(self, inner: Formula) -> None:
        self._inner = inner

    @property
    def state_fields(self) -> StateFields:
        """The two factors, and what the wrapped definition keeps for them."""
        mine = {"direction": "direction", "scale": "scale"}
        return {WeightNormState: mine, **self._inner.state_fields}

    @property
    def splits(self) -> bool:
        """Whether the wrapped definition does not look at other parameters either."""
        return self._inner.splits

    def first_state(self, param: Leaf) -> ParamState:
        """None of one parameter alone: see ``WeightNorm.init_state``."""
        raise NotImplementedError("WeightNorm does not define init_param_state.")

    def transformation(self, values: Values) -> optax.GradientTransformation:
        """The chain of the wrapped definition, on directions and scales."""
        inner = self._inner.transformation(values["inner"])
        return weight_norm(inner, values["wn_decay"], values["wn_eps"])

    def expression(self, terms: Values) -> ast.expr:
        """The same as a syntax tree."""
        own = {"decay": terms["wn_decay"], "eps": terms["wn_eps"]}
        return written(weight_norm, [self._inner.expression(terms["inner"])], own, terms)

    def to_optax(
        self, states: Sequence[ParamState], place: Callable[[Sequence[Leaf]], PyTree]
    ) -> StateTrees:
        """The factors for this transformation, the states of both for the wrapped one."""
        scaled = _scaled(states)

        def place_both(values: Sequence[Any]) -> PyTree:
            scales: list[Any] = [()] * len(states)
            for row, value in zip(scaled, values[len(states) :], strict=True):
                scales[row] = value
            return {"direction": place(values[: len(states)]), "scale": place(scales)}

        inner = [each.direction_state for each in states]
        inner += [states[row].scale_state for row in scaled]
        mine = {
            "direction": place([each.direction for each in states]),
            "scale": place([each.scale for each in states]),
        }
        return {
            WeightNormState: mine,
            **self._inner.to_optax(inner, place_both),
        }

    def from_optax(
        self,
        nodes: Mapping[type, Any],
        states: Sequence[ParamState],
        pick: Callable[[PyTree], Sequence[Leaf]],
    ) -> list[ParamState]:
        """One state for each parameter, out of the factors and the wrapped definition's states."""
        scaled = _scaled(states)

        def pick_both(tree: PyTree) -> list[Any]:
            scales = pick(tree["scale"])
            return [*pick(tree["direction"]), *(scales[row] for row in scaled)]

        inner = [each.direction_state for each in states]
        inner += [states[row].scale_state for row in scaled]
        moved = self._inner.from_optax(nodes, inner, pick_both)
        scale_states: list[Any] = [each.scale_state for each in states]
        for row, state in zip(scaled, moved[len(states) :], strict=True):
            scale_states[row] = state
        node = nodes[WeightNormState]
        return [
            _WeightNormParamState(*each)
            for each in zip(
                moved[: len(states)],
                scale_states,
                pick(node.direction),
                pick(node.scale),
                strict=True,
            )
        ]


class WeightNorm(OptimizerDef):
    """Weight normalisation (Salimans and Kingma, 2016, https://arxiv.org/abs/1602.07868).

    ``w = scale · direction / √(Σdirection² + wn_eps)``, summed over all axes but the last, which is
    taken as the output axis. Biases and scalars go to the wrapped optimizer as they are.

    Args:
      wrapped_optimizer: the definition that moves directions and scales.
      wn_decay: L2 regularisation of the direction.
      wn_eps: added to the squared norm.
    """

    def __init__(
        self, wrapped_optimizer: OptimizerDef, wn_decay: Number = 0, wn_eps: Number = 1e-8
    ) -> None:
        refuse_as_part(wrapped_optimizer, "WeightNorm")
        self.wrapped_optimizer = wrapped_optimizer
        super().__init__(_WeightNormHyperParams(wrapped_optimizer.hyper_params, wn_decay, wn_eps))

    # The wrapped definition owns its hyper-parameters; a copy here could only go stale.
    @property
    def hyper_params(self) -> Any:
        """Those of this definition, with those of the wrapped one as ``inner``."""
        return _WeightNormHyperParams(self.wrapped_optimizer.hyper_params, *self._own)

    @hyper_params.setter
    def hyper_params(self, hyper_params: HyperParams) -> None:
        self._own = (hyper_params.wn_decay, hyper_params.wn_eps)
        self.wrapped_optimizer.hyper_params = hyper_params.inner

    @property
    def formula(self) -> Formula | None:  # type: ignore[override]
        """That of the wrapped definition, around which the parameters are taken apart."""
        inner = self.wrapped_optimizer.formula
        return None if inner is None else _Normed(inner)

    def values(self, hyper_params: HyperParams) -> Values:
        """Those of the wrapped definition as ``inner``."""
        inner = self.wrapped_optimizer.values(hyper_params.inner)
        return {**super().values(hyper_params), "inner": inner}

    def override(self, hyper_params: HyperParams, overrides: Mapping[str, Any]) -> HyperParams:
        """``wn_decay`` and ``wn_eps`` are for this definition, the rest for the wrapped one."""
        wrapped = self.wrapped_optimizer
        if not isinstance(hyper_params, _WeightNormHyperParams):
            # With Flax, hyper_params= reached only the wrapped definition.
            hyper_params = self.hyper_params.replace(inner=hyper_params)
        if dataclasses.is_dataclass(hyper_params.inner):
            hp.refuse_unknown(type(self).__name__, overrides, [*hp.flatten(hyper_params)])
        mine = {name: value for name, value in overrides.items() if name in ("wn_decay", "wn_eps")}
        rest = {name: value for name, value in overrides.items() if name not in mine}
        if hyper_params.inner is not wrapped.hyper_params:
            rest["hyper_params"] = hyper_params.inner
        return hyper_params.replace(inner=wrapped.update_hyper_params(**rest), **mine)

    def normalise(self, hyper_params: HyperParams) -> HyperParams:
        """Python numbers as floats; the learning rate is the wrapped definition's."""
        if not isinstance(hyper_params, _WeightNormHyperParams):
            hyper_params = self.hyper_params.replace(inner=hyper_params)
        inner = self.wrapped_optimizer.normalise(hyper_params.inner)
        return hp.normalise(type(self).__name__, hyper_params.replace(inner=inner))

    def has_chain(self) -> bool:
        """Whether the wrapped definition is an optax chain that needs no names of parameters."""
        wrapped = self.wrapped_optimizer
        by_leaf = not isinstance(wrapped, MultiOptimizer | WeightNorm)
        return super().has_chain() and by_leaf and wrapped.on_optax()

    def has_expression(self) -> bool:
        """Whether the wrapped definition has one, and needs no names of parameters."""
        wrapped = self.wrapped_optimizer
        return super().has_expression() and self.has_chain() and wrapped.has_expression()

    def init_state(self, params: PyTree) -> OptimizerState:
        """The factors of every parameter, and the wrapped definition's state for them."""
        params = jax.tree.map(jnp.asarray, params)
        direction, scale = split(params, self.hyper_params.wn_eps)
        # A bias is its own direction, but its buffer must not be donated for both.
        direction = jax.tree.map(jnp.copy, direction)
        state = self.wrapped_optimizer.init_state({"direction": direction, "scale": scale})
        return self._joined(params, direction, scale, state)

    def state_axes(self, params: PyTree, state: Any, param_axes: PyTree) -> OptimizerState:
        """Those of the parameter for the direction, of its last dimension for the scale."""
        leaves, treedef = jax.tree.flatten(params)
        specs = leaves_like(params, param_axes, "param_axes")
        states = leaves_like(params, state.param_states, "param_states")
        scales = [each.scale for each in states]
        columns = {
            "direction": (leaves, [each.direction_state for each in states], specs),
            "scale": (
                scales,
                [each.scale_state for each in states],
                list(map(of_state, leaves, scales, specs)),
            ),
        }
        both, inner_states, axes = (
            {name: jax.tree.unflatten(treedef, column[part]) for name, column in columns.items()}
            for part in range(3)
        )
        inner_state = OptimizerState(state.step, inner_states)
        inner = self.wrapped_optimizer.state_axes(both, inner_state, axes)
        whole = jax.tree.unflatten(treedef, specs)
        return self._joined(params, whole, axes["scale"], inner)

    def apply_directly(
        self, hyper_params: HyperParams, params: PyTree, state: Any, grads: PyTree
    ) -> tuple[PyTree, OptimizerState]:
        """The step through the ``apply_gradient`` of a wrapped definition that is no chain."""
        treedef = jax.tree.structure(params)
        states = leaves_like(params, state.param_states, "param_states")
        grads = jax.tree.unflatten(treedef, gradient_leaves(params, grads))

        def column(name: str) -> Any:
            return jax.tree.unflatten(treedef, [getattr(each, name) for each in states])

        direction, scale, eps = column("direction"), column("scale"), hyper_params.wn_eps
        direction_grad, scale_grad = split_gradient(
            grads, direction, scale, hyper_params.wn_decay, eps
        )
        new, new_state = self.wrapped_optimizer.apply_gradient(
            hyper_params.inner,
            {"direction": direction, "scale": scale},
            OptimizerState(
                state.step,
                {"direction": column("direction_state"), "scale": column("scale_state")},
            ),
            {"direction": direction_grad, "scale": scale_grad},
        )
        direction, scale = new["direction"], new["scale"]
        return merge(direction, scale, eps), self._joined(params, direction, scale, new_state)

    def _joined(self, params: PyTree, direction: Leaf, scale: Leaf, state: Any) -> OptimizerState:
        """The wrapped definition's state for both factors as one state for each parameter."""
        param_states = jax.tree.map(
            lambda _, *fields: _WeightNormParamState(*fields),
            params,
            state.param_states["direction"],
            state.param_states["scale"],
            direction,
            scale,
        )
        return OptimizerState(state.step, param_states)

    # Methods that Flax before 0.4.0 had, for one parameter each.

    def _split_param(self, param: Leaf) -> tuple[Any, Any]:
        return split(param, self.hyper_params.wn_eps)

    def _merge_param(self, direction: Leaf, scale: Leaf, eps: Any) -> tuple[Any, Any]:
        state = _WeightNormParamState(None, None, direction, scale)
        return merge(direction, scale, eps), state.mult

    def _split_grad(self, param: Leaf, state: Any, grad: Leaf, decay: Any) -> tuple[Any, ...]:
        del param
        eps = self.hyper_params.wn_eps
        grads = split_gradient(grad, state.direction, state.scale, decay, eps)
        direction = (state.direction, state.direction_state, grads[0])
        return (*direction, state.scale, state.scale_state, grads[1])

    def structure(self) -> tuple[Any, ...]:
        """That of the wrapped definition."""
        return (type(self), self.wrapped_optimizer.structure())

    def upgrade_param_state(self, param: Leaf, entry: PyTree) -> ParamState:
        """Flax before 0.4.0 kept ``mult = scale / ‖direction‖`` in place of the two factors."""
        if not isinstance(entry, Mapping) or "direction_state" not in entry:
            return entry
        upgraded = dict(entry)
        for name in {"direction_state", "scale_state"} & set(entry):
            upgraded[name] = self.wrapped_optimizer.upgrade_param_state(param, entry[name])
        if "mult" not in entry:
            return upgraded
        mult = upgraded.pop("mult")
        param = jnp.asarray(param)
        if not is_normalised(param):
            return {**upgraded, "direction": param, "scale": {}}
        scale = jnp.sqrt(squared_norms(param, 0.0)) * jnp.sign(mult)
        return {**upgraded, "direction": param / mult, "scale": scale}


def _scaled(states: Sequence[ParamState]) -> list[int]:
    """Which parameters have a scale: a bias has the empty tuple."""
    return [row for row, state in enumerate(states) if not isinstance(state.scale, tuple)]
