"""Optimizers as users wrote them on the base classes of flax.optim, from whichever namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct


@struct.dataclass
class HyperParams:
    learning_rate: Any
    decay: Any = 0.9
    clip: Any = None


@struct.dataclass
class State:
    average: Any
    seen: Any


def own_state(base: Any) -> Any:
    """Everything per parameter, with a state and hyper-parameters of its own."""

    class OwnState(base.OptimizerDef):  # type: ignore[misc]
        def __init__(self, learning_rate: Any = None, decay: Any = 0.9) -> None:
            super().__init__(HyperParams(learning_rate, decay))

        def init_param_state(self, param: Any) -> Any:
            return State(jnp.zeros_like(param), jnp.zeros((), jnp.int32))

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            average = hyper_params.decay * state.average + (1 - hyper_params.decay) * grad
            rate = hyper_params.learning_rate / (1.0 + step)
            seen = state.seen + jnp.sum(grad > 0, dtype=jnp.int32)
            return param - rate * jnp.sign(average), State(average, seen)

    return OwnState(0.1)


def clipped_bfloat16_momentum(base: Any) -> Any:
    """As vision_transformer had it: half-precision momentum, and gradients clipped by norm."""

    class MomentumClip(base.OptimizerDef):  # type: ignore[misc]
        def __init__(self, learning_rate: Any = None, decay: Any = 0.9, clip: Any = None) -> None:
            super().__init__(HyperParams(learning_rate, decay, clip))
            self.dtype = jnp.bfloat16

        def init_param_state(self, param: Any) -> Any:
            return State(jnp.zeros_like(param, dtype=self.dtype), ())

        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            del step
            momentum = state.average.astype(jnp.float32)
            momentum = hyper_params.decay * momentum + grad
            new_param = param - hyper_params.learning_rate * momentum
            return new_param, State(momentum.astype(self.dtype), ())

        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            step = state.step
            flat, treedef = jax.tree_util.tree_flatten(params)
            states = treedef.flatten_up_to(state.param_states)
            flat_grads = treedef.flatten_up_to(grads)
            norm = jnp.sqrt(sum(jnp.vdot(grad, grad) for grad in flat_grads))
            factor = jnp.minimum(1.0, hyper_params.clip / norm)
            out = [
                self.apply_param_gradient(step, hyper_params, param, each, grad * factor)
                for param, each, grad in zip(flat, states, flat_grads, strict=True)
            ]
            new_params, new_states = zip(*out, strict=True)
            return treedef.unflatten(new_params), base.OptimizerState(
                step + 1, treedef.unflatten(new_states)
            )

    return MomentumClip(0.1, clip=0.5)


def noisy(base: Any) -> Any:
    """Random numbers, from the step."""

    class Noisy(base.GradientDescent):  # type: ignore[misc]
        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            key = jax.random.fold_in(jax.random.PRNGKey(0), step)
            grad = grad + 0.1 * jax.random.normal(key, grad.shape)
            return param - hyper_params.learning_rate * grad, state

    return Noisy(0.1)


def wrapper(base: Any) -> Any:
    """Another definition inside, which does the work on scaled gradients."""

    class Wrapper(base.OptimizerDef):  # type: ignore[misc]
        def __init__(self, inner: Any) -> None:
            super().__init__(inner.hyper_params)
            self.inner = inner

        def init_state(self, params: Any) -> Any:
            return self.inner.init_state(params)

        def update_hyper_params(self, **overrides: Any) -> Any:
            return self.inner.update_hyper_params(**overrides)

        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            halved = jax.tree.map(lambda grad: 0.5 * grad, grads)
            return self.inner.apply_gradient(hyper_params, params, state, halved)

    return Wrapper(base.Momentum(0.1, weight_decay=0.5))


def other_initial_state(base: Any) -> Any:
    """As t5x's LogicalAdam: a concrete optimizer, with the state made in another way."""

    class LogicalMomentum(base.Momentum):  # type: ignore[misc]
        def init_param_state(self, param: Any) -> Any:
            state = super().init_param_state(param)
            return jax.tree.map(lambda leaf: leaf + 1.0, state)

    return LogicalMomentum(0.1)


def clipped_gradients(base: Any) -> Any:
    """apply_gradient that calls the one it overrides."""

    class Clipped(base.Momentum):  # type: ignore[misc]
        def apply_gradient(self, hyper_params: Any, params: Any, state: Any, grads: Any) -> Any:
            grads = jax.tree.map(lambda grad: jnp.clip(grad, -0.2, 0.2), grads)
            return super().apply_gradient(hyper_params, params, state, grads)

    return Clipped(0.1)


def projected(base: Any) -> Any:
    """apply_param_gradient that calls the one it overrides."""

    class Projected(base.Adagrad):  # type: ignore[misc]
        def apply_param_gradient(
            self, step: Any, hyper_params: Any, param: Any, state: Any, grad: Any
        ) -> Any:
            new_param, new_state = super().apply_param_gradient(
                step, hyper_params, param, state, grad
            )
            return jnp.maximum(new_param, 0.25), new_state

    return Projected(0.1)


def scheduled(base: Any) -> Any:
    """update_hyper_params with names of its own."""

    class Scheduled(base.Momentum):  # type: ignore[misc]
        def update_hyper_params(self, **overrides: Any) -> Any:
            factor = overrides.pop("factor", 2.0)
            hyper_params = super().update_hyper_params(**overrides)
            return hyper_params.replace(learning_rate=factor * hyper_params.learning_rate)

    return Scheduled(0.1)


FACTORIES: dict[str, Callable[[Any], Any]] = {
    factory.__name__: factory
    for factory in (
        own_state,
        clipped_bfloat16_momentum,
        noisy,
        wrapper,
        other_initial_state,
        clipped_gradients,
        projected,
        scheduled,
    )
}
