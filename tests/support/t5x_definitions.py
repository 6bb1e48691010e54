"""Definitions as T5X and its forks wrote them on flax.optim, from whichever namespace.

They ask for the path of a parameter, are told its axis names by ``set_param_axes``, and make the
axes of their state by restoring a state dict that holds them.
"""

from __future__ import annotations

import enum
from typing import Any

import jax
import jax.numpy as jnp
from flax import core, struct
from flax.core import FrozenDict
from flax.traverse_util import flatten_dict, unflatten_dict
from jax.sharding import PartitionSpec


class Factor(enum.Enum):
    WHOLE = 0
    ROW = 1
    COLUMN = 2
    BATCH = 3


RULES = {
    "vocab": Factor.COLUMN,
    "embed": Factor.ROW,
    "mlp": Factor.COLUMN,
    "layers": Factor.BATCH,
}


@struct.dataclass
class _FactoredHyperParams:
    learning_rate: Any
    decay: Any
    rules: Any
    factor_map: Any = None


@struct.dataclass
class _FactoredState:
    v_row: Any
    v_col: Any
    v: Any


def by_path(tree: Any) -> dict[str, Any]:
    return flatten_dict(core.unfreeze(tree), sep="/")  # type: ignore[no-any-return]


def like(tree: Any, flat: dict[str, Any]) -> Any:
    nested = unflatten_dict(flat, sep="/")
    return core.freeze(nested) if isinstance(tree, FrozenDict) else nested


def factored(base: Any) -> Any:
    """Like T5X's Adafactor: which dimensions are averaged over is said by the axis names."""

    class Factored(base.OptimizerDef):  # type: ignore[misc]
        def __init__(self, learning_rate: Any = None, rules: Any = None) -> None:
            super().__init__(_FactoredHyperParams(learning_rate, 0.9, rules))

        def set_param_axes(self, param_logical_axes: Any) -> None:
            rules = self.hyper_params.rules
            factor_map = jax.tree.map(
                lambda axes: tuple(rules[x] for x in axes), param_logical_axes
            )
            self.hyper_params = self.hyper_params.replace(factor_map=by_path(factor_map))

        def dims(self, path: str) -> Any:
            rule = self.hyper_params.factor_map[path]
            rows = tuple(i for i, factor in enumerate(rule) if factor is Factor.ROW)
            columns = tuple(i for i, factor in enumerate(rule) if factor is Factor.COLUMN)
            return (rows, columns) if rows and columns else None

        def init_param_state(self, param: Any, path: str) -> Any:
            state = {name: jnp.zeros(1) for name in ("v_row", "v_col", "v")}
            dims = self.dims(path)
            if dims is None:
                state["v"] = jnp.zeros(param.shape)
            else:
                state["v_row"] = jnp.zeros_like(jnp.mean(param, axis=dims[1]))
                state["v_col"] = jnp.zeros_like(jnp.mean(param, axis=dims[0]))
            return _FactoredState(**state)

        def init_state(self, params: Any) -> Any:
            states = {p: self.init_param_state(x, p) for p, x in by_path(params).items()}
            return base.OptimizerState(jnp.asarray(0, dtype=jnp.int32), like(params, states))

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any, path: str
        ) -> Any:
            assert hyper_params.learning_rate is not None
            decay, square = hyper_params.decay, grad * grad + 1e-30
            dims = self.dims(path)
            new = {name: jnp.zeros(1) for name in ("v_row", "v_col", "v")}
            if dims is None:
                estimate = new["v"] = decay * state.v + (1 - decay) * square
            else:
                rows, columns = dims
                row = decay * state.v_row + (1 - decay) * jnp.mean(square, axis=columns)
                column = decay * state.v_col + (1 - decay) * jnp.mean(square, axis=rows)
                new.update(v_row=row, v_col=column)
                row, column = jnp.expand_dims(row, columns), jnp.expand_dims(column, rows)
                estimate = row * column / jnp.mean(row, axis=rows, keepdims=True)
            moved = param - hyper_params.learning_rate * grad / jnp.sqrt(estimate)
            return moved, _FactoredState(**new)

        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            states, gradients = by_path(state.param_states), by_path(grads)
            out = {
                path: self.apply_param_gradient(
                    state.step, hyper_params, param, states[path], gradients[path], path
                )
                for path, param in by_path(params).items()
            }
            new_params = like(params, {path: param for path, (param, _) in out.items()})
            new_states = like(params, {path: new for path, (_, new) in out.items()})
            return new_params, base.OptimizerState(state.step + 1, new_states)

        def derive_logical_axes(self, optimizer: Any, param_logical_axes: Any) -> Any:
            axes = jax.tree.map(lambda _: None, optimizer.state_dict())
            axes["target"] = core.unfreeze(param_logical_axes)
            states = optimizer.state_dict()["state"]["param_states"]
            axes["state"]["param_states"] = jax.tree.map(
                lambda names, state: {
                    "v_row": None,
                    "v_col": None,
                    "v": names if state["v"].shape != (1,) else None,
                },
                core.unfreeze(param_logical_axes),
                states,
            )
            return optimizer.restore_state(axes)

    return Factored(0.1, RULES)


def logical_adam(base: Any) -> Any:
    """A subclass of Adam with axes of its own, as in the tests of T5X's mixtures of experts."""

    class LogicalAdam(base.Adam):  # type: ignore[misc]
        def derive_logical_axes(self, optimizer: Any, param_logical_axes: Any) -> Any:
            names = core.unfreeze(param_logical_axes)
            states = jax.tree.map(lambda spec: {"grad_ema": spec, "grad_sq_ema": None}, names)
            return optimizer.restore_state(
                {"target": names, "state": {"step": None, "param_states": states}}
            )

    return LogicalAdam(0.1)


def by_subtrees(base: Any, traversals_and_optimizers: Any) -> Any:
    """A MultiOptimizer as T5X's: its parts get subtrees, and axes where parameters were."""

    class BySubtrees(base.OptimizerDef):  # type: ignore[misc]
        def __init__(self, pairs: Any) -> None:
            self.traversals, self.sub_optimizers = zip(*pairs, strict=True)
            super().__init__([part.hyper_params for part in self.sub_optimizers])

        def parts(self, tree: Any) -> Any:
            paths = like(tree, {path: path for path in by_path(tree)})
            for number, part in enumerate(self.sub_optimizers):
                yield number, part, list(self.traversals[number].iterate(paths))

        def init_state(self, params: Any) -> Any:
            flat = dict.fromkeys(by_path(params))
            for _, part, paths in self.parts(params):
                state = part.init_state(some(params, paths))
                flat.update(by_path(state.param_states))
            return base.OptimizerState(jnp.asarray(0, dtype=jnp.int32), like(params, flat))

        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            new_params, new_states = by_path(params), dict.fromkeys(by_path(params))
            for number, part, paths in self.parts(params):
                mine = [some(tree, paths) for tree in (params, state.param_states, grads)]
                before = base.OptimizerState(state.step, mine[1])
                moved, after = part.apply_gradient(hyper_params[number], mine[0], before, mine[2])
                new_params.update(by_path(moved))
                new_states.update(by_path(after.param_states))
            new_state = base.OptimizerState(state.step + 1, like(params, new_states))
            return like(params, new_params), new_state

        def update_hyper_params(self, **overrides: Any) -> Any:
            return [values.replace(**overrides) for values in self.hyper_params]

        def set_param_axes(self, param_logical_axes: Any) -> None:
            for _, part, paths in self.parts(param_logical_axes):
                if hasattr(part, "set_param_axes"):
                    part.set_param_axes(some(param_logical_axes, paths))
            # The parts have new hyper-parameters; T5X passes on those of before.
            self.hyper_params = [part.hyper_params for part in self.sub_optimizers]

        def derive_logical_axes(self, optimizer: Any, param_logical_axes: Any) -> Any:
            flat = dict.fromkeys(by_path(param_logical_axes))
            for _, part, paths in self.parts(param_logical_axes):
                if hasattr(part, "derive_logical_axes"):
                    names = some(param_logical_axes, paths)
                    state = base.OptimizerState(None, some(optimizer.state.param_states, paths))
                    axes = part.derive_logical_axes(base.Optimizer(part, state, names), names)
                    flat.update(by_path(axes.state.param_states))
            state = base.OptimizerState(None, like(optimizer.state.param_states, flat))
            return base.Optimizer(optimizer.optimizer_def, state, param_logical_axes)

    return BySubtrees(traversals_and_optimizers)


def some(tree: Any, paths: Any) -> Any:
    flat = by_path(tree)
    return like(tree, {path: flat[path] for path in paths})


def multi_of_factored_and_momentum(base: Any) -> Any:
    def part(name: str) -> Any:
        return base.ModelParamTraversal(lambda path, _: name in path)

    return by_subtrees(base, [(part("stack"), factored(base)), (part("dense"), base.Momentum(0.1))])


FACTORIES = {
    "factored": factored,
    "logical_adam": logical_adam,
    "multi": multi_of_factored_and_momentum,
}

# What each says of the model's parameters: the axes of its state, by path.
P = PartitionSpec
AXES = {
    "factored": {
        "dense/bias": (None, None, P("mlp")),
        "dense/kernel": (None, None, None),
        "embedding": (None, None, None),
        "stack": (None, None, None),
    },
    "logical_adam": {
        "dense/bias": (P("mlp"), None),
        "dense/kernel": (P("embed", "mlp"), None),
        "embedding": (P("vocab", "embed"), None),
        "stack": (P("layers", "embed", "mlp"), None),
    },
    # Momentum derives none.
    "multi": {"stack": (None, None, None)},
}
