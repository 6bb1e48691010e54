"""A control: a run whose parameters are one unit in the last place off when it creates optimizers.

Beside the same run as it is, a control tells by how much a training makes roundings grow.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import jax


def attach(module: ModuleType) -> None:
    """Begin with the next larger numbers where a class of a module creates optimizers.

    Args:
      module: a module of Flax or of this package, which has just been imported.
    """
    names = vars(module)
    if module.__name__ == "flaxoptim_compat.optim.base":
        _wrap(names["OptimizerDef"], "create", _of_definition)
    elif module.__name__ == "flax.training.train_state":
        _wrap(names["TrainState"], "create", _of_state)
    elif module.__name__ == "flax.nnx.training.optimizer":
        _wrap(names["Optimizer"], "__init__", _of_model)


def _wrap(cls: Any, name: str, nudged: Any) -> None:
    method = cls.__dict__[name]
    is_of_class = isinstance(method, classmethod)
    own: Any = method.__func__ if is_of_class else method

    @functools.wraps(own)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return nudged(own, *args, **kwargs)

    setattr(cls, name, classmethod(wrapped) if is_of_class else wrapped)


def _of_definition(create: Any, self: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
    return create(self, _larger(target), *args, **kwargs)


def _of_state(create: Any, cls: Any, *, params: Any, **kwargs: Any) -> Any:
    return create(cls, params=_larger(params), **kwargs)


def _of_model(start: Any, self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
    from flax import nnx

    nnx.update(model, _larger(nnx.state(model, nnx.Param)))
    start(self, model, *args, **kwargs)


def _larger(params: Any) -> Any:
    # Optimizers are observed before all of this package is there.
    from flaxoptim_compat.parity.sides import next_larger

    return jax.tree.map(next_larger, params)
