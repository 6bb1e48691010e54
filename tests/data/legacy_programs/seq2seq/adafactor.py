# Stands for: the optimizer module of text-to-text trainers, Adafactor that knows about axes.
import re
from typing import Any, Mapping, Optional, Sequence, Tuple

import jax.numpy as jnp
from flax import traverse_util
from flax.core import freeze, unfreeze
from flax.optim import OptimizerState
from flax.optim.adafactor import Adafactor, _AdafactorParamState


class LogicalAdafactor(Adafactor):
    """Adafactor with a schedule that starts at a step, and with axis names for its state.

    Args:
      learning_rate: rate, if none is given with the gradient.
      warmup_steps: the rate rises over so many steps.
      max_update: no element moves by more than that in one step.
      **kwargs: what Adafactor takes.
    """

    def __init__(
        self,
        learning_rate: Optional[float] = None,
        warmup_steps: int = 0,
        max_update: Optional[float] = None,
        **kwargs: Any,
    ):
        super().__init__(learning_rate=learning_rate, **kwargs)
        self.warmup_steps = warmup_steps
        self.max_update = max_update

    def _key(self) -> Tuple[Any, ...]:
        return (self.hyper_params, self.dtype_momentum, self.warmup_steps, self.max_update)

    def __eq__(self, other: Any) -> bool:
        return type(self) is type(other) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((type(self), self.warmup_steps, self.max_update))

    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        if self.warmup_steps:
            warmup = jnp.minimum(1.0, (step + 1.0) / self.warmup_steps)
            hyper_params = hyper_params.replace(learning_rate=hyper_params.learning_rate * warmup)
        new_param, new_state = super().apply_param_gradient(step, hyper_params, param, state, grad)
        if self.max_update is not None:
            new_param = jnp.clip(new_param, param - self.max_update, param + self.max_update)
        return new_param, new_state

    def derive_logical_axes(self, optimizer, param_axes: Mapping[str, Any]):
        """An optimizer whose leaves are names of axes, for those of another optimizer."""
        axes = traverse_util.flatten_dict(unfreeze(param_axes))
        shapes = traverse_util.flatten_dict(unfreeze(optimizer.target))
        states = traverse_util.flatten_dict(unfreeze(optimizer.state.param_states))
        new_states = {}
        for path, state in states.items():
            names = axes[path]
            factored = self._factored_dims(shapes[path].shape)
            row = col = full = momentum = None
            if factored is None:
                full = names
            else:
                d1, d0 = factored
                row = tuple(name for i, name in enumerate(names) if i != d0)
                col = tuple(name for i, name in enumerate(names) if i != d1)
            if self.hyper_params.beta1 is not None:
                momentum = names
            for name, leaf in (("v_row", row), ("v_col", col), ("v", full), ("m", momentum)):
                assert leaf is None or len(leaf) == getattr(state, name).ndim, (path, name)
            new_states[path] = _AdafactorParamState(row, col, full, momentum)
        new_state = OptimizerState(None, freeze(traverse_util.unflatten_dict(new_states)))
        return optimizer.replace(state=new_state, target=freeze(param_axes))


def axes_of(params, rules: Sequence[Tuple[str, Tuple[str, ...]]]):
    """The axis names of every parameter, from the first rule whose expression is in its name."""
    flat = traverse_util.flatten_dict(unfreeze(params))
    axes = {}
    for path in flat:
        name = "/".join(path)
        axes[path] = next(names for pattern, names in rules if re.search(pattern, name))
        assert len(axes[path]) == flat[path].ndim, name
    return freeze(traverse_util.unflatten_dict(axes))
