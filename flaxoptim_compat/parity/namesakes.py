"""Each optimizer of flax.optim, and what Flax's update guide suggests to write in optax."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax


class Call:
    """A call of a function of flax.optim or optax, that can be made and can be shown.

    Args:
      name: of the function.
      *args: its arguments, some of which may be calls themselves.
      **kwargs: by name.
    """

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        self._name = name
        self._args = args
        self._kwargs = kwargs

    def made(self, module: Any) -> Any:
        """What it returns, of a module that has the function."""
        args = [each.made(module) if isinstance(each, Call) else each for each in self._args]
        return getattr(module, self._name)(*args, **self._kwargs)

    def text(self, module: str) -> str:
        """The expression, of a module of this name."""
        shown = [each.text(module) if isinstance(each, Call) else repr(each) for each in self._args]
        shown += [f"{name}={value!r}" for name, value in self._kwargs.items()]
        return f"{module}.{self._name}({', '.join(shown)})"


class Part(Call):
    """An optimizer for the parameters with a name, as MultiOptimizer and optax.masked take it.

    Args:
      name: ``ModelParamTraversal``, whose function gets paths, or ``masked``, which gets a tree.
      selected: the name.
      called: what to call that which selects them.
      optimizer: the call that makes the optimizer.
    """

    def __init__(self, name: str, selected: str, called: str, optimizer: Call) -> None:
        super().__init__(name)
        self._selected = selected
        self._called = called
        self._optimizer = optimizer

    def made(self, module: Any) -> Any:
        """A pair for MultiOptimizer, or the masked transformation."""
        optimizer = self._optimizer.made(module)
        if self._name == "masked":
            return module.masked(optimizer, self._mask)
        return module.ModelParamTraversal(lambda path, _: self._selected in path), optimizer

    def _mask(self, params: Any) -> Any:
        return jax.tree_util.tree_map_with_path(
            lambda path, _: self._selected in jax.tree_util.keystr(path), params
        )

    def text(self, module: str) -> str:
        """The expression, with what selects them by a name."""
        optimizer = self._optimizer.text(module)
        if self._name == "masked":
            return f"{module}.masked({optimizer}, {self._called})"
        return f"({self._called}, {optimizer})"


@dataclasses.dataclass(frozen=True, eq=False)
class Namesake:
    """An optimizer, and what is taken for the same.

    Args:
      legacy: the call of flax.optim.
      suggested: that of optax; None where optax has nothing of the kind.
    """

    legacy: Call
    suggested: Call | None


NAMESAKES = (
    Namesake(Call("GradientDescent", 0.1), Call("sgd", 0.1)),
    Namesake(Call("Momentum", 0.01), Call("sgd", 0.01, momentum=0.9)),
    Namesake(
        Call("Momentum", 0.01, weight_decay=0.1, nesterov=True),
        Call(
            "chain",
            Call("add_decayed_weights", 0.1),
            Call("sgd", 0.01, momentum=0.9, nesterov=True),
        ),
    ),
    Namesake(Call("Adam", 0.01), Call("adam", 0.01)),
    Namesake(Call("Adam", 0.01, weight_decay=0.1), Call("adamw", 0.01, weight_decay=0.1)),
    Namesake(Call("Adagrad", 0.01), Call("adagrad", 0.01)),
    Namesake(Call("Adadelta", 0.1, weight_decay=0.1), Call("adadelta", 0.1, weight_decay=0.1)),
    Namesake(Call("RMSProp", 0.01), Call("rmsprop", 0.01)),
    Namesake(Call("RMSProp", 0.01, centered=True), Call("rmsprop", 0.01, centered=True)),
    Namesake(Call("LAMB", 0.01, weight_decay=0.1), Call("lamb", 0.01, weight_decay=0.1)),
    Namesake(Call("LARS", 0.1, weight_decay=0.1), Call("lars", 0.1, weight_decay=0.1)),
    Namesake(Call("AdaBelief", 0.01), Call("adabelief", 0.01)),
    Namesake(
        Call("Adafactor", 0.01, min_dim_size_to_factor=8),
        Call("adafactor", 0.01, min_dim_size_to_factor=8),
    ),
    Namesake(Call("WeightNorm", Call("Momentum", 0.01)), None),
    Namesake(
        Call(
            "MultiOptimizer",
            Part("ModelParamTraversal", "kernel", "kernels", Call("Momentum", 0.01)),
            Part("ModelParamTraversal", "bias", "biases", Call("Adam", 0.01)),
        ),
        Call(
            "chain",
            Part("masked", "kernel", "kernels", Call("sgd", 0.01, momentum=0.9)),
            Part("masked", "bias", "biases", Call("adam", 0.01)),
        ),
    ),
)
