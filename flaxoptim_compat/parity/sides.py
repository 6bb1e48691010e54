"""The kinds of sides of a comparison, and how each is taken through a step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax.training.train_state import TrainState

from flaxoptim_compat.bridge import injected
from flaxoptim_compat.parity.counterparts import is_definition, is_optimizer
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.moments import Moment, moments_in
from flaxoptim_compat.printable import shortened

_KINDS = (
    "a definition such as optim.Adam(0.001), an Optimizer, an optax transformation, a TrainState,"
    " or a pair of functions (init, step)"
)


@dataclass(frozen=True, eq=False)
class Side:
    """One side of a comparison, as functions of its carry, which mostly is ``(params, state)``.

    Args:
      name: the name of the side in a report.
      start: ``params -> carry``, before the first step.
      step: ``(carry, grads, overrides) -> carry``.
      params: the parameters that the side brings itself; None if it takes any.
      params_of: ``carry -> params``.
      with_params: ``(carry, params) -> carry``, with other parameters.
      moments: ``carry -> moments``, by the names that optax gives them.
      overridable: ``(carry, overrides) -> names``: the overrides that the side can take.
    """

    name: str
    start: Callable[[Any], Any]
    step: Callable[[Any, Any, Mapping[str, Any]], Any]
    params: Any = None
    params_of: Callable[[Any], Any] = itemgetter(0)
    with_params: Callable[[Any, Any], Any] = lambda carry, params: (params, carry[1])
    moments: Callable[[Any], dict[str, Moment]] = lambda carry: moments_in(carry[1], carry[0])
    overridable: Callable[[Any, Mapping[str, Any]], set[str]] = lambda _, overrides: set(overrides)


def side(subject: Any) -> Side:
    """The side that an argument of ``compare`` stands for.

    Raises:
      ParityError: the subject is nothing that can be compared.
    """
    if isinstance(subject, TrainState):
        return _train_state(subject)
    if is_optimizer(subject):
        return _of_flax(subject.optimizer_def, subject)
    if is_definition(subject):
        return _of_flax(subject)
    if isinstance(subject, optax.GradientTransformation):
        return _transformation(subject)
    if isinstance(subject, tuple) and len(subject) == 2 and all(map(callable, subject)):
        return _pair(*subject)
    hint = " Call the class: a class is no definition." if isinstance(subject, type) else ""
    raise ParityError(f"{_shown(subject)} cannot be compared; give {_KINDS}.{hint}")


def one_ulp_off(original: Side) -> Side:
    """The same side, but all initial parameters and all gradients are the next larger numbers."""

    def start(params: Any) -> Any:
        carry = original.start(params)
        return original.with_params(carry, jax.tree.map(next_larger, original.params_of(carry)))

    def step(carry: Any, grads: Any, overrides: Mapping[str, Any]) -> Any:
        return original.step(carry, jax.tree.map(next_larger, grads), overrides)

    return replace(original, start=start, step=step)


def next_larger(leaf: Any) -> Any:
    """The next larger numbers of an array; the same ones if they are no fractions."""
    array = jnp.asarray(leaf)
    if not jnp.issubdtype(array.dtype, jnp.floating):
        return array
    return jnp.nextafter(array, jnp.asarray(jnp.inf, array.dtype))


def _shown(subject: Any) -> str:
    return shortened(repr(subject), 80)


def _of_flax(definition: Any, optimizer: Any = None) -> Side:
    continues = optimizer is not None
    module, kind = type(definition).__module__.split(".")[0], type(definition).__name__
    return Side(
        name=f"{module}'s {kind}{', an Optimizer' if continues else ''}",
        start=(lambda _: optimizer) if continues else definition.create,
        step=lambda carry, grads, overrides: carry.apply_gradient(grads, **overrides),
        params=optimizer.target if continues else None,
        params_of=lambda carry: carry.target,
        with_params=lambda carry, params: carry.replace(target=params),
        moments=lambda carry: moments_in(carry.state, carry.target),
    )


def _train_state(state: TrainState) -> Side:
    def step(carry: Any, grads: Any, overrides: Mapping[str, Any]) -> Any:
        set_state = injected.with_values(carry.opt_state, overrides)
        return carry.replace(opt_state=set_state).apply_gradients(grads=grads)

    return Side(
        name="a TrainState",
        start=lambda _: state,
        step=step,
        params=state.params,
        params_of=lambda carry: carry.params,
        with_params=lambda carry, params: carry.replace(params=params),
        moments=lambda carry: moments_in(carry.opt_state, carry.params),
        overridable=lambda carry, overrides: _injected(carry.opt_state, overrides),
    )


def _transformation(tx: Any) -> Side:
    def step(carry: Any, grads: Any, overrides: Mapping[str, Any]) -> Any:
        params, opt_state = carry
        opt_state = injected.with_values(opt_state, overrides)
        updates, opt_state = tx.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state

    return Side(
        name="an optax transformation",
        start=lambda params: (params, tx.init(params)),
        step=step,
        overridable=lambda carry, overrides: _injected(carry[1], overrides),
    )


def _injected(opt_state: Any, overrides: Mapping[str, Any]) -> set[str]:
    return set(injected.names(opt_state)) & set(overrides)


def _pair(init: Any, step_of_user: Any) -> Side:
    def step(carry: Any, grads: Any, overrides: Mapping[str, Any]) -> Any:
        result = step_of_user(*carry, grads, **overrides)
        if not isinstance(result, tuple) or len(result) != 2:
            raise ParityError(
                f"step(params, state, grads) returned {_shown(result)}, not (params, state)."
            )
        return result

    return Side(
        name="a pair of functions",
        start=lambda params: (params, init(params)),
        step=step,
        overridable=lambda _, overrides: _keywords_of(step_of_user, overrides),
    )


def _keywords_of(function: Any, overrides: Mapping[str, Any]) -> set[str]:
    parameters = list(inspect.signature(function).parameters.values())
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return set(overrides)
    named = [each for each in parameters[3:] if each.kind is each.POSITIONAL_OR_KEYWORD]
    named += [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    return {each.name for each in named} & set(overrides)
