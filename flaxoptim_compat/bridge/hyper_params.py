"""Hyper-parameters of a legacy definition as optax hyper-parameters.

A value that changes from step to step is injected with ``optax.inject_hyperparams``. Any other
value is built into the chain as a Python number: ``1 - beta2`` of a float32 array would lose four
digits.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat.bridge.definition import HyperParams, Leaf, PyTree
from flaxoptim_compat.bridge.trees import number_kind
from flaxoptim_compat.catalogue import COMPLEMENTED, INTEGERS, NUMBERS, STRUCTURAL
from flaxoptim_compat.transforms import keep_dtypes
from flaxoptim_compat.transforms.casting import (
    dtype_of,
    is_like_a_python_number,
    like_a_python_number,
)

# The types of nearly all hyper-parameters, for a fast test in each step.
_PLAIN = frozenset({float, int, bool})


def flatten(hyper_params: HyperParams) -> dict[str, Any]:
    """All hyper-parameters by name, those of a wrapped optimizer included.

    If two have the same name, as in a WeightNorm around a WeightNorm, the outer one counts.
    """
    outer: dict[str, Any] = {}
    inner: dict[str, Any] = {}
    for name, value in fields_of(hyper_params).items():
        if _is_nested(value):
            inner.update(flatten(value))
        else:
            outer[name] = value
    return {**inner, **outer}


def _is_nested(value: Any) -> bool:
    """True if a hyper-parameter holds all hyper-parameters of a wrapped optimizer."""
    # Each step outside jit tests every number, and the first comparison is the fast one.
    return type(value) is not float and dataclasses.is_dataclass(value)


def with_values(hyper_params: HyperParams, values: Mapping[str, Any]) -> HyperParams:
    """The hyper-parameters with some values replaced, by the names of ``flatten``."""
    fields = fields_of(hyper_params)
    below = {name: value for name, value in values.items() if name not in fields}
    changes = {
        name: with_values(value, below) if _is_nested(value) else values[name]
        for name, value in fields.items()
        if _is_nested(value) or name in values
    }
    # Hyper-parameters of a subclass may be anything, such as a list, which has no fields.
    return dataclasses.replace(hyper_params, **changes) if changes else hyper_params


def fields_of(hyper_params: HyperParams) -> dict[str, Any]:
    """The hyper-parameters by name; those of a wrapped optimizer are one value."""
    if not dataclasses.is_dataclass(hyper_params):
        return {}
    return {
        field.name: getattr(hyper_params, field.name) for field in dataclasses.fields(hyper_params)
    }


def with_some_rate(hyper_params: HyperParams) -> HyperParams:
    """The hyper-parameters with a learning rate of 0 where there is none, in each part."""
    if isinstance(hyper_params, list):
        return [with_some_rate(part) for part in hyper_params]
    lacks = flatten(hyper_params).get("learning_rate", 0.0) is None
    return with_values(hyper_params, {"learning_rate": 0.0}) if lacks else hyper_params


def read_like(hyper_params: HyperParams, like: HyperParams) -> HyperParams:
    """Hyper-parameters as the dataclass of the definition, which is the class of ``like``.

    Flax read them by name, also off a named tuple, or a class of settings.
    """
    kind: Any = type(like)
    if isinstance(hyper_params, kind) or not dataclasses.is_dataclass(like):
        return hyper_params
    return kind(**{name: getattr(hyper_params, name) for name in fields_of(like)})


def refuse_unknown(owner: str, overrides: Iterable[str], known: Sequence[str]) -> None:
    """Refuse overrides whose names are not known to the owner, a class or a function.

    Raises:
      TypeError: a name is not known; the message lists the known names.
    """
    unknown = sorted(set(overrides) - set(known))
    if unknown:
        names = ", ".join(repr(name) for name in unknown)
        raise TypeError(f"{owner} has no hyper-parameter {names}. It has: {', '.join(known)}.")


def _refuse_no_number(owner: str, name: str, value: Any) -> None:
    # A list of accepted types would be too narrow: flax took anything that multiplies arrays.
    is_other = isinstance(value, str | bytes | list | tuple | dict | set | complex)
    if is_other or (is_array(value) and number_kind(value) != "real"):
        shown = f"an array of {value.dtype}" if is_array(value) else repr(value)
        raise TypeError(
            f"`{name}` of {owner} must be a real number, not {shown}. Give a number, or an array of"
            " real numbers."
        )


def _normalise(name: str, value: Any) -> Any:
    has_value = is_array(value) and not isinstance(value, jax.core.Tracer)
    if has_value and value.ndim == 0 and (value.dtype == bool or name in STRUCTURAL):
        value = value.item()  # a value that decides what is computed is built into the chain
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.integer | np.floating):
        value = value.item()
    if isinstance(value, int) and not isinstance(value, bool) and name not in INTEGERS:
        return float(value)
    return value


def normalise(owner: str, hyper_params: HyperParams) -> HyperParams:
    """The hyper-parameters of an owner, the class of a definition, with Python numbers as floats.

    Raises:
      AssertionError: there is no learning rate (the type flax raised).
      TypeError: a hyper-parameter that flax computed with is a text, a list or a complex number.
    """
    values = flatten(hyper_params)
    refuse_missing_rate(owner, f"{owner}(learning_rate=...)", values)
    for name, value in values.items():
        if type(value) not in _PLAIN and name in NUMBERS:
            _refuse_no_number(owner, name, value)
    normal = {name: _normalise(name, value) for name, value in values.items()}
    changed = {name: value for name, value in normal.items() if value is not values[name]}
    return with_values(hyper_params, changed) if changed else hyper_params


def refuse_missing_rate(owner: str, created: str, values: Mapping[str, Any]) -> None:
    """Refuse a learning rate that is None.

    Args:
      owner: the subject of the message: the name of a class, or another noun.
      created: the call that makes the definition with a learning rate.
      values: the hyper-parameters by name.

    Raises:
      AssertionError: there is no learning rate.
    """
    if values.get("learning_rate", 0.0) is None:
        raise AssertionError(
            f"no learning rate provided. {owner} was made without a learning rate: make it with"
            f" `{created}`, or pass a rate with each step,"
            " `optimizer.apply_gradient(grads, learning_rate=...)`."
        )


def is_array(value: Any) -> bool:
    """True if a hyper-parameter is an array, perhaps a traced one, and no plain number."""
    return isinstance(value, jax.Array | np.ndarray)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def dynamic_names(
    hyper_params: HyperParams, defaults: HyperParams, arrays: bool = True, numbers: bool = True
) -> tuple[str, ...]:
    """The names to inject: the learning rate, numbers that this call overrides, and arrays.

    Args:
      hyper_params: the values of this call.
      defaults: the values of the definition.
      arrays: False for a transformation that is made anew with other arrays, such as a factory in
        ``optax.inject_hyperparams``. An array in the inner state would never change again.
      numbers: False for a state that must hold no numbers, such as a restored state.
    """
    usual = flatten(defaults)
    names = []
    for name, value in flatten(hyper_params).items():
        if is_array(value):
            if arrays:
                names.append(name)
        elif not numbers:
            continue
        elif name == "learning_rate" and _is_number(value):
            names.append(name)
        elif _is_number(value) and name not in COMPLEMENTED | STRUCTURAL:
            default = usual.get(name)
            if _is_number(default) and _normalise(name, default) != value:
                names.append(name)
    return tuple(names)


def separate(hyper_params: HyperParams, defaults: HyperParams) -> tuple[HyperParams, PyTree]:
    """The constants and the arguments of a compiled step, which ``join`` puts together again."""
    if isinstance(hyper_params, list | tuple):
        # For a MultiOptimizer, whose list of hyper-parameters may be shorter than its defaults.
        pairs = [separate(*each) for each in zip(hyper_params, defaults, strict=False)]
        return [static for static, _ in pairs], [dynamic for _, dynamic in pairs]
    values = flatten(hyper_params)
    dynamic = {name: values[name] for name in dynamic_names(hyper_params, defaults)}
    return with_values(hyper_params, dict.fromkeys(dynamic)), dynamic


def builds_in_overrides(hyper_params: HyperParams, defaults: HyperParams) -> bool:
    """True if this call overrides a number that is built into a compiled step."""
    if isinstance(hyper_params, list | tuple):
        return any(map(builds_in_overrides, hyper_params, defaults))
    values, usual = flatten(hyper_params), flatten(defaults)
    return any(
        name in values and _is_number(values[name]) and values[name] != usual.get(name)
        for name in COMPLEMENTED
    )


def join(static: HyperParams, dynamic: PyTree) -> HyperParams:
    """The hyper-parameters that ``separate`` took apart."""
    if isinstance(static, list):
        return [join(*each) for each in zip(static, dynamic, strict=True)]
    return with_values(static, dynamic)


def inject(
    chain: Callable[[HyperParams], optax.GradientTransformation],
    hyper_params: HyperParams,
    names: Sequence[str],
    leaves: Iterable[Leaf],
    rounds: bool = False,
) -> optax.GradientTransformation:
    """The chain of these hyper-parameters, with the named ones settable in its state.

    Without names, the result is the chain itself.

    Args:
      chain: builds the transformation from hyper-parameters.
      hyper_params: the values to start from, normalised.
      names: the hyper-parameters to be held in ``state.hyperparams``.
      leaves: the parameters, which decide the dtype of the injected floats.
      rounds: whether an injected number is rounded to the dtype of each parameter, like a number
        that is not injected.
    """
    if not names:
        return keep_dtypes(chain(hyper_params))
    # There are few dtypes among thousands of leaves.
    dtypes = [each for each in set(map(dtype_of, leaves)) if jnp.issubdtype(each, jnp.floating)]
    # Never the half precision of a parameter.
    dtype = jnp.result_type(jnp.float32, *dtypes)
    # If all parameters have the injected dtype, rounding only costs a trace.
    rounds = rounds and any(each != dtype for each in dtypes)
    values = flatten(hyper_params)
    numbers = {name for name in names if rounds and is_like_a_python_number(values[name])}

    def factory(**injected: Any) -> optax.GradientTransformation:
        rounded = {
            name: like_a_python_number(value) if name in numbers else value
            for name, value in injected.items()
        }
        return keep_dtypes(chain(with_values(hyper_params, rounded)))

    # inject_hyperparams reads the names of the arguments from the signature.
    factory.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in names]
    )
    return optax.inject_hyperparams(factory, hyperparam_dtype=dtype)(
        **{name: values[name] for name in names}
    )
