"""The definition that a constructor call makes, as far as the call says."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.catalogue import WRAPPED
from flaxoptim_compat.migrate.optax_text.binding import Bound


def definition_of(bound: Bound, values: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """A definition with those arguments that are literals, and with these values."""
    literals = {name: each.value for name, each in bound.arguments.items() if each.is_literal}
    values = {**literals, **values}
    if bound.inner is not None:
        values[WRAPPED] = definition_of(bound.inner)
    with warnings.catch_warnings(action="ignore"):
        return getattr(optim, bound.name)(**values)
