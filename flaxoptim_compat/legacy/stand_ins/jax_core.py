"""Names of ``jax.core`` and of the interpreters, for programs that look at traces and jaxprs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend.core import Var

from flaxoptim_compat.versions.of_jax import is_tracing, jit_primitive, trace_types

# The primitive of jit.
jit_p: Any = jit_primitive()


class AxisFrame(NamedTuple):
    """The name and the size of an axis, the two fields that programs read."""

    name: Any
    size: int


def axis_frame(axis_name: Any) -> AxisFrame:
    """Look up a named axis.

    Raises:
      NameError: there is no axis of this name; programs call this function to find that out.
    """
    return AxisFrame(axis_name, jax.lax.psum(1, axis_name))


def raise_to_shaped(aval: Any, weak_type: bool | None = None) -> Any:
    """Return the abstract value, which has no concrete value any more."""
    return aval if weak_type is None else aval.update(weak_type=weak_type)


class Sublevel(NamedTuple):
    """The depth of tracing in calls of compiled functions."""

    level: int


def cur_sublevel() -> Sublevel:
    """Return 1 if a function is being compiled, else 0: programs read nothing else."""
    return Sublevel(int(is_tracing()))


class MainTrace(NamedTuple):
    """One of the transformations that a function is traced by, in order."""

    level: int
    trace_type: type


class _Traces:
    """The object that ``thread_local_state.trace_state.trace_stack.stack`` was read from."""

    @property
    def trace_state(self) -> _Traces:
        return self

    @property
    def trace_stack(self) -> _Traces:
        return self

    @property
    def stack(self) -> list[MainTrace]:
        return [MainTrace(level, each) for level, each in enumerate(trace_types())]


thread_local_state = _Traces()


class UnitVar:
    """A variable for no value, which no jaxpr has any more."""


# The value and the variable for no value, which were in each jaxpr.
unit = object()
unitvar = UnitVar()


def extract_call_jaxpr(primitive: Any, params: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the jaxpr that a primitive calls, or None, and the other parameters."""
    if primitive is jit_p:
        others = {name: value for name, value in params.items() if name != "jaxpr"}
        return params["jaxpr"].jaxpr, others
    if "call_jaxpr" not in params or not getattr(primitive, "call_primitive", False):
        return None, params
    return params["call_jaxpr"], {k: v for k, v in params.items() if k != "call_jaxpr"}


def gensym(jaxprs: Sequence[Any] | None = None, suffix: str = "") -> Callable[[Any], Any]:
    """Return a function that makes a new variable of an abstract value."""
    return Var


# The axis of a value that is not batched.
not_mapped = None
# The primitives that run on several hosts at once; programs added their own.
multi_host_supported_collectives: set[Any] = set()
