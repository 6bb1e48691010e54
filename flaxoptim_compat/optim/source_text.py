"""Hyper-parameters as they stand in source text: ``1e-8``, or a name where there is no number."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Container
from decimal import Decimal
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.bridge import hyper_params as hp


class Number(float):
    """A float that prints as a person writes it, and reads back as the same float."""

    def __str__(self) -> str:
        if not math.isfinite(self):
            return f"float('{float(self)}')"
        if not self or abs(self) >= 1e-3:
            return repr(float(self)).replace("e+", "e")
        sign, digits, exponent = Decimal(repr(float(self))).normalize().as_tuple()
        first, rest = digits[0], "".join(map(str, digits[1:]))
        mantissa = f"{first}.{rest}" if rest else f"{first}"
        return f"{'-' * sign}{mantissa}e{int(exponent) + len(rest)}"


def written(hyper_params: Any, free: Container[str] = ()) -> Any:
    """The same hyper-parameters, each of which formats as its source text.

    Args:
      hyper_params: a dataclass, perhaps with another one inside, or a list of them.
      free: those to write as their name although there is a value.
    """
    if isinstance(hyper_params, list | tuple):
        return [written(each, free) for each in hyper_params]
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(hyper_params):
        value = getattr(hyper_params, field.name)
        if field.name in free:
            changes[field.name] = field.name
        elif dataclasses.is_dataclass(value) or isinstance(value, list):
            changes[field.name] = written(value, free)
        else:
            changes[field.name] = _written_value(field.name, value)
    return dataclasses.replace(hyper_params, **changes)


def _written_value(name: str, value: Any) -> Any:
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if isinstance(value, jax.core.Tracer) or value.ndim > 0:
            return name
        # All digits: at a decay rate, the fewest that name the float32 would be another number.
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and name in hp.INTEGERS:
        return value
    return Number(value) if isinstance(value, int | float) else name


def lacks_rate(hyper_params: Any) -> bool:
    """Whether a learning rate is missing, in these hyper-parameters or inside of them."""
    if isinstance(hyper_params, list | tuple):
        return any(map(lacks_rate, hyper_params))
    if not dataclasses.is_dataclass(hyper_params):
        return False
    if getattr(hyper_params, "learning_rate", 0.0) is None:
        return True
    return any(
        lacks_rate(getattr(hyper_params, field.name)) for field in dataclasses.fields(hyper_params)
    )


def weight_decay(rate: Any) -> str:
    """The text of ``transforms.weight_decay``: nothing where there is no decay."""
    return f"optax.add_decayed_weights({rate})" if rate else ""


def chain(*parts: str) -> str:
    """A chain of those parts that are not empty, or the only one of them."""
    present = [part for part in parts if part]
    return present[0] if len(present) == 1 else f"optax.chain({', '.join(present)})"
