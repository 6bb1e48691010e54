"""Each optimizer of flax.optim, and what Flax's update guide suggests to write in optax."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import optax

from flaxoptim_compat import catalogue


@dataclasses.dataclass(frozen=True)
class Namesake:
    """An optimizer, and what is taken for the same.

    Args:
      legacy: the expression of flax.optim. Its names are ``optim``, and ``kernels`` and ``biases``
        for what selects parameters.
      suggested: that of optax, with ``optax``; "" where optax has nothing of the kind.
    """

    legacy: str
    suggested: str

    def definition(self, module: Any) -> Any:
        """The definition, of a module that has the classes of flax.optim."""

        def selects(part: str) -> Any:
            return module.ModelParamTraversal(lambda path, _: part in path)

        scope = {"optim": module, "kernels": selects("kernel"), "biases": selects("bias")}
        return eval(self.legacy, scope)

    def transformation(self) -> optax.GradientTransformation:
        """What is taken for the same."""
        scope = {"optax": optax, "kernels": _mask("kernel"), "biases": _mask("bias")}
        made: optax.GradientTransformation = eval(self.suggested, scope)
        return made


def _mask(part: str) -> Any:
    return lambda params: jax.tree_util.tree_map_with_path(
        lambda path, _: part in jax.tree_util.keystr(path), params
    )


NAMESAKES = (
    *(Namesake(*pair) for row in catalogue.OPTIMIZERS for pair in row.suggested),
    Namesake(
        "optim.MultiOptimizer((kernels, optim.Momentum(0.01)), (biases, optim.Adam(0.01)))",
        "optax.chain(optax.masked(optax.sgd(0.01, momentum=0.9), kernels),"
        " optax.masked(optax.adam(0.01), biases))",
    ),
)
