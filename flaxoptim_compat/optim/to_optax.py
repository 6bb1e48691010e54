"""The way out: a definition as an optax transformation."""

from __future__ import annotations

from typing import Any

import optax

from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.optim.base import OptimizerDef


def to_optax(
    definition: OptimizerDef, params: PyTree, **hyper_param_overrides: Any
) -> optax.GradientTransformationExtraArgs:
    """The optax transformation that does exactly what a definition does.

    A learning rate that is a number is in ``opt_state.hyperparams["learning_rate"]``, where it can
    be set before each step. In a MultiOptimizer of several parts, each part has its own rate, and
    ``optax.tree_utils.tree_set(opt_state, learning_rate=...)`` sets all of them. A hyper-parameter
    that is an array is built in: ``to_optax`` works inside ``optax.inject_hyperparams``.

    For a definition with code of its own, such as a subclass of ``OptimizerDef``, the
    transformation runs that code. Optax adds an update to the parameter, so a parameter that this
    code sets can differ in the last bit.

    Args:
      definition: any definition; with a focus, ``MultiOptimizer((focus, definition))``.
      params: the parameters, or ``jax.ShapeDtypeStruct`` in their place. The leaves in the tree
        decide which of them a MultiOptimizer moves.
      **hyper_param_overrides: hyper-parameters to use instead of the definition's.

    Raises:
      AssertionError: there is no learning rate.
      TypeError: an override is not known, or ``definition`` is no definition.
    """
    if not isinstance(definition, OptimizerDef):
        raise TypeError(
            f"`to_optax` takes a definition such as `optim.Adam(1e-3)`, not {type(definition)}."
            " The definition of an optimizer is `optimizer.optimizer_def`."
        )
    hyper_params = definition.update_hyper_params(**hyper_param_overrides)
    return definition.to_transformation(hyper_params, params)
