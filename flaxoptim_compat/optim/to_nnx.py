"""The way to Flax NNX and back: the ``nnx.Optimizer`` of a model, and the optimizer for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.bridge.pairing import Pairing, Paths
from flaxoptim_compat.bridge.trees import step_count, unshared
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.conversion import to_legacy_state, to_optax_state
from flaxoptim_compat.optim.optimizer import Optimizer
from flaxoptim_compat.versions.allowed import refuse_old_nnx

# Importing nnx takes a while. Only programs that call one of these functions wait for it.
if TYPE_CHECKING:
    from flax import nnx

    from flaxoptim_compat.bridge.nnx_models import Parameters

_Model = TypeVar("_Model")


def to_nnx(
    optimizer: Optimizer[Any],
    model: _Model,
    *,
    paths: Paths | None = None,
    wrt: Any = None,
    **hyper_param_overrides: Any,
) -> nnx.Optimizer[_Model]:
    """The ``nnx.Optimizer`` that continues exactly from this step; its model gets the parameters.

    The parameters of the target replace those of the model. Everything else in the model, such as
    the statistics of a BatchNorm, stays. If a parameter does not fit, nothing is changed.

    A parameter is found by its path: ``Dense_0/kernel`` of the target is ``model.Dense_0.kernel``,
    ``blocks/2/bias`` is ``model.blocks[2].bias``. Other paths in the model are given in ``paths``.

    Args:
      optimizer: any optimizer, at any step.
      model: a ``nnx.Module``, perhaps an abstract one as ``nnx.eval_shape`` makes it.
      paths: the beginnings of paths in the target, and the beginnings that replace them in the
        model, such as ``{"Dense_0": "linear1", "Dense_1": "linear2"}``; or a function from a path
        in the target to a path in the model. Of several keys the longest counts. A path that begins
        with no key is the same in the model.
      wrt: which variables of the model are the parameters, as ``nnx.Optimizer`` takes it;
        ``nnx.Param`` if None.
      **hyper_param_overrides: hyper-parameters to use instead of the definition's, such as a
        learning rate where the definition has none.

    Raises:
      AssertionError: there is no learning rate.
      ImportError: flax is older than 0.11.
      TypeError: an override is not known, or ``from_optax`` made the definition.
      ValueError: a parameter has no counterpart, or one of another shape or dtype; the message
        names all that do not fit.
    """
    refuse_old_nnx("to_nnx")
    from flax import nnx

    from flaxoptim_compat.bridge.nnx_models import Parameters

    definition, target, state = optimizer.optimizer_def, optimizer.target, optimizer.state
    _refuse_optax(definition)
    wrt = nnx.Param if wrt is None else wrt
    parameters = Parameters(model, wrt)
    pairing = parameters.pair(target, paths)
    hyper_params = definition.update_hyper_params(**hyper_param_overrides)
    tx, opt_state = to_optax_state(definition, hyper_params, target, state, pairing)
    # Restored arrays may be numpy's, and a variable must hold jax's.
    converted = jax.tree.map(jnp.asarray, (pairing.to_model(target), opt_state))
    params, opt_state = unshared(converted)
    made = nnx.Optimizer(model, _beginning_with(parameters.as_variables(opt_state)), wrt=wrt)
    made.tx = tx
    made.step[...] = step_count(state.step).astype(jnp.uint32)
    parameters.set(params)
    return made


def from_nnx(
    optimizer: nnx.Optimizer[Any],
    model: Any,
    like: Optimizer[Any] | None = None,
    *,
    paths: Paths | None = None,
) -> Optimizer[Any]:
    """The legacy optimizer that does the same as a ``nnx.Optimizer``, at the same step.

    Args:
      optimizer: the result of ``to_nnx``, or a ``nnx.Optimizer`` with the same chain.
      model: the model whose parameters the optimizer moves.
      like: an optimizer of the old program, such as ``definition.create(params)``, for its
        definition and the structure of its target. None takes both from the optimizer that
        ``to_nnx`` converted, which ``tx`` knows.
      paths: other paths in the model, as for ``to_nnx``, if ``like`` is given.

    Raises:
      ImportError: flax is older than 0.11.
      TypeError: the program replaced ``tx``, and ``like`` is not given.
      ValueError: the parameters of the model are not those of the target, or the state belongs to
        another transformation.
    """
    refuse_old_nnx("from_nnx")
    from flaxoptim_compat.bridge.nnx_models import Parameters, values_of

    parameters = Parameters(model, optimizer.wrt)
    definition, pairing = _origin(optimizer, parameters, like, paths)
    target = pairing.to_target(parameters.treedef.unflatten(parameters.values))
    opt_state, step = values_of(optimizer.opt_state), values_of(optimizer.step)
    state = to_legacy_state(definition, target, step, opt_state, pairing)
    return Optimizer(definition, state, target)


def _origin(
    optimizer: nnx.Optimizer[Any],
    parameters: Parameters,
    like: Optimizer[Any] | None,
    paths: Paths | None,
) -> tuple[Any, Pairing]:
    """The definition for a ``nnx.Optimizer``, and the pairing of the target and the model."""
    if like is not None:
        _refuse_optax(like.optimizer_def)
        return like.optimizer_def, parameters.pair(like.target, paths)
    pairing = getattr(optimizer.tx, "pairing", None)
    if pairing is None:
        raise TypeError(
            "The `tx` of this nnx.Optimizer does not come from `to_nnx()`. Give an optimizer of the"
            " old program whose definition does the same: `from_nnx(optimizer, model,"
            " definition.create(params))`."
        )
    if pairing.model != parameters.treedef:
        raise ValueError(
            "The model does not have the parameters of the model that `to_nnx()` got. Give that"
            " model, or an optimizer of the old program with `like=`."
        )
    return optimizer.tx.definition, pairing


def _beginning_with(opt_state: PyTree) -> optax.GradientTransformation:
    """A transformation whose ``init`` returns this state, for ``nnx.Optimizer``."""
    return optax.GradientTransformation(lambda params: opt_state, optax.identity().update)


def _refuse_optax(definition: OptimizerDef) -> None:
    if not getattr(definition, "has_param_states", True):
        raise TypeError(
            "A definition made by `from_optax` is optax already. Give its transformation to"
            " `nnx.Optimizer`."
        )
