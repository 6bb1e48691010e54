"""The hyper-parameters of a definition as terms of a text, and the test for a learning rate."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Container
from typing import Any

import jax
import numpy as np

from flaxoptim_compat.bridge.definition import HyperParams
from flaxoptim_compat.bridge.hyper_params import fields_of
from flaxoptim_compat.catalogue import FLAGS, INTEGERS
from flaxoptim_compat.formula_text.term import Term


def terms_of(hyper_params: HyperParams, free: Container[str] = ()) -> HyperParams:
    """The same hyper-parameters with a term in place of each.

    Args:
      hyper_params: a dataclass, perhaps with another one inside, or a list of dataclasses.
      free: the names of hyper-parameters whose term is the name, although they have a value.
    """
    if isinstance(hyper_params, list | tuple):
        return [terms_of(part, free) for part in hyper_params]
    changes: dict[str, Any] = {}
    for name, value in fields_of(hyper_params).items():
        if dataclasses.is_dataclass(value) or isinstance(value, list):
            changes[name] = terms_of(value, free)
        else:
            known = None if name in free else _literal(name, value)
            named = known is None and (name in free or value is not None)
            changes[name] = Term(ast.Name(name)) if named else Term.of(known)
    return dataclasses.replace(hyper_params, **changes)


def _literal(name: str, value: Any) -> Any:
    """The value as a Python number; None if the value is no number, or not known."""
    if isinstance(value, jax.Array | np.ndarray | np.generic):
        if isinstance(value, jax.core.Tracer) or value.ndim > 0:
            return None
        # With all digits: a decay rate with the fewest digits of its float32 is another number.
        value = value.item()
    if not isinstance(value, int | float):
        return None
    if isinstance(value, bool) or name in FLAGS:
        return bool(value)
    return value if isinstance(value, int) and name in INTEGERS else float(value)


def lacks_rate(hyper_params: HyperParams) -> bool:
    """True if a learning rate is None, in these hyper-parameters or in those of a part."""
    if isinstance(hyper_params, list | tuple):
        return any(map(lacks_rate, hyper_params))
    fields = fields_of(hyper_params)
    return fields.get("learning_rate", 0.0) is None or any(map(lacks_rate, fields.values()))
