"""The way to Flax NNX, and back: an optimizer as the ``nnx.Optimizer`` of a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import jax
import jax.numpy as jnp
import optax

from flaxoptim_compat.bridge.definition import PyTree
from flaxoptim_compat.bridge.pairing import Pairing, Paths
from flaxoptim_compat.bridge.trees import leaves_like, step_count, unshared
from flaxoptim_compat.optim.base import OptimizerDef
from flaxoptim_compat.optim.conversion import FromDefinition, conversion_of
from flaxoptim_compat.optim.optimizer import Optimizer
from flaxoptim_compat.optim.state import OptimizerState
from flaxoptim_compat.versions.allowed import refuse_old_nnx

# Importing nnx takes a while, for which only those wait who call one of these.
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
    """The ``nnx.Optimizer`` that goes on exactly from here, and the parameters for its model.

    The parameters of the model become those of the target; all else in it, such as the statistics
    of a BatchNorm, stays as it is. If something does not fit, nothing is changed.

    A parameter is found by its path: ``Dense_0/kernel`` of the target is ``model.Dense_0.kernel``,
    ``blocks/2/bias`` is ``model.blocks[2].bias``. What is called otherwise is said in ``paths``.

    Args:
      optimizer: any optimizer, at any step.
      model: a ``nnx.Module``, perhaps an abstract one as ``nnx.eval_shape`` makes it.
      paths: where each path of the target begins, and what stands there in the model, such as
        ``{"Dense_0": "linear1", "Dense_1": "linear2"}``; or a function from a path of the target to
        that in the model. The longest key decides, and what begins with none has the same path.
      wrt: which variables of the model are the parameters, as ``nnx.Optimizer`` takes it;
        ``nnx.Param`` if None.
      **hyper_param_overrides: hyper-parameters to use instead of the definition's, such as a
        learning rate where the definition has none.

    Raises:
      AssertionError: there is no learning rate.
      ImportError: flax is older than 0.11.
      TypeError: an override is not known, or the definition is one of ``from_optax``.
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
    conversion = conversion_of(definition, hyper_params, target, pairing=pairing)
    of_target = leaves_like(target, state.param_states, "param_states")
    states = [of_target[leaf] for leaf in pairing.leaves]
    step = step_count(state.step)
    # What was restored may be numpy's, and a variable is to hold arrays of jax.
    converted = pairing.to_model(target), conversion.opt_state(step, states)
    params, opt_state = unshared(jax.tree.map(jnp.asarray, converted))
    tx = FromDefinition.of(conversion.transformation(), definition, hyper_params, target, pairing)
    made = nnx.Optimizer(model, _beginning_with(parameters.as_variables(opt_state)), wrt=wrt)
    made.tx = tx
    made.step[...] = step.astype(jnp.uint32)
    parameters.set(params)
    return made


def from_nnx(
    optimizer: nnx.Optimizer[Any],
    model: Any,
    like: Optimizer[Any] | None = None,
    *,
    paths: Paths | None = None,
) -> Optimizer[Any]:
    """The legacy optimizer that does what a ``nnx.Optimizer`` does, at its step.

    Args:
      optimizer: one that ``to_nnx`` made, or one with the same chain.
      model: the model whose parameters it moves.
      like: an optimizer of the old program, such as ``definition.create(params)``, for its
        definition and the structure of its target. None: those of the optimizer that ``to_nnx`` was
        given, if ``tx`` is still the same.
      paths: what is called otherwise, as for ``to_nnx``, if ``like`` is given.

    Raises:
      ImportError: flax is older than 0.11.
      TypeError: ``tx`` is another one, and ``like`` is not given.
      ValueError: the parameters of the model are not those of the target, or the state is that of
        another transformation.
    """
    refuse_old_nnx("from_nnx")
    from flaxoptim_compat.bridge.nnx_models import Parameters, values_of

    parameters = Parameters(model, optimizer.wrt)
    definition, pairing = _origin(optimizer, parameters, like, paths)
    target = pairing.to_target(parameters.treedef.unflatten(parameters.values))
    opt_state, step = values_of(optimizer.opt_state), values_of(optimizer.step)
    conversion = conversion_of(
        definition, definition.hyper_params, target, normalise=False, pairing=pairing
    )
    conversion.check(opt_state)
    fresh = leaves_like(target, definition.init_state(target).param_states, "param_states")
    states = conversion.param_states(opt_state, [fresh[leaf] for leaf in pairing.leaves])
    in_target = pairing.to_target(pairing.model.unflatten(states))
    return Optimizer(definition, OptimizerState(jnp.asarray(step, jnp.int32), in_target), target)


def _origin(
    optimizer: nnx.Optimizer[Any],
    parameters: Parameters,
    like: Optimizer[Any] | None,
    paths: Paths | None,
) -> tuple[Any, Pairing]:
    """The definition, and which of its parameters is which of the model."""
    if like is not None:
        _refuse_optax(like.optimizer_def)
        return like.optimizer_def, parameters.pair(like.target, paths)
    pairing = getattr(optimizer.tx, "pairing", None)
    if pairing is None:
        raise TypeError(
            "The tx of this nnx.Optimizer does not come from to_nnx(). Give an optimizer of the old"
            " program whose definition does the same: from_nnx(optimizer, model,"
            " definition.create(params))."
        )
    if pairing.model != parameters.treedef:
        raise ValueError(
            "The model does not have the parameters that to_nnx() was given: is it another one?"
        )
    return optimizer.tx.definition, pairing


def _beginning_with(opt_state: PyTree) -> optax.GradientTransformation:
    """A transformation whose first state is this one, for ``nnx.Optimizer``."""
    return optax.GradientTransformation(lambda params: opt_state, optax.identity().update)


def _refuse_optax(definition: OptimizerDef) -> None:
    if not getattr(definition, "has_param_states", True):
        raise TypeError(
            "A definition of from_optax is optax already: give its transformation to nnx.Optimizer."
        )
