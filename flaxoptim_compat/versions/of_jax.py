"""Functions that one of the allowed versions of jax lacks, or has under another name.

A part of this is needed while jax is being imported, so nothing of jax is imported up here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any


def slashed(path: Sequence[Any]) -> str:
    """The keys of a path as jax gives it, with slashes: its keystr does so since jax 0.5.1."""
    return "/".join(map(_key_text, path))


def _key_text(key: Any) -> str:
    for name in ("key", "idx", "name"):
        if hasattr(key, name):
            return str(getattr(key, name))
    return str(key)


def computed_where(value: Any) -> AbstractContextManager[Any]:
    """A block: what it computes belongs to the transformation that a value does, or to none.

    Jax has nothing public for this. Before 0.4.36 what an operation is given decides by itself.
    """
    from jax._src import core

    if isinstance(value, core.Tracer) and hasattr(core, "set_current_trace"):
        return core.set_current_trace(value._trace)
    return core.eval_context()


def with_weak_type(array: Any) -> Any:
    """An array that takes the dtype of what it meets: no function of jax makes one of another."""
    from jax import lax

    convert: Any = lax.convert_element_type_p
    given = {"new_dtype": array.dtype, "weak_type": True}
    try:
        return convert.bind(array, **given, sharding=None)
    except TypeError:  # before jax 0.4.31
        return convert.bind(array, **given)


def leave_out_of_sources(file: str) -> None:
    """Let jax name the line of a program where it would name one of this file.

    The public ``jax.extend`` imports, before jax 0.5, what may not be imported yet.
    """
    from jax._src import source_info_util

    source_info_util.register_exclusion(file)


def optimization_barrier(tree: Any) -> Any:
    """The tree behind an ``optimization_barrier``; before 0.4.33 jax had it for itself only."""
    import jax

    if hasattr(jax.lax, "optimization_barrier"):
        return jax.lax.optimization_barrier(tree)
    from jax._src import ad_checkpoint

    leaves, treedef = jax.tree.flatten(tree)
    barrier: Any = vars(ad_checkpoint)["optimization_barrier_p"]
    return jax.tree.unflatten(treedef, barrier.bind(*leaves))


def enable_x64(wide: bool) -> AbstractContextManager[None]:
    """A block in which jax keeps 64 bits, or does not, in this thread.

    Up to jax 0.7 it is in jax.experimental only, and since 0.9 no longer there.
    """
    import jax
    from jax import experimental

    found: Any = vars(jax if hasattr(jax, "enable_x64") else experimental)["enable_x64"]
    context: AbstractContextManager[None] = found(wide)
    return context


def is_tracing() -> bool:
    """True if a function is being traced where this is called."""
    from jax._src import core

    if hasattr(core, "unsafe_am_i_under_a_jit"):
        return core.unsafe_am_i_under_a_jit()
    state: Any = vars(core)["thread_local_state"]
    return state.trace_state.trace_stack.dynamic.trace_type is not core.EvalTrace


def trace_types() -> list[type]:
    """The classes of the traces that are around what runs, the outermost first."""
    from jax._src import core

    if not hasattr(core, "trace_ctx"):
        state: Any = vars(core)["thread_local_state"]
        return [each.trace_type for each in state.trace_state.trace_stack.stack]
    types = []
    trace: Any = core.trace_ctx.trace
    while trace is not None:
        types.append(type(trace))
        trace = getattr(trace, "parent_trace", None)
    # Before jax 0.5 that of jit does not say what it is in.
    return [*({core.EvalTrace} - {*types}), *types[::-1]]


def jit_primitive() -> Any:
    """The primitive of a jitted function, which was called pjit before jax 0.7."""
    from jax._src import pjit

    return vars(pjit).get("jit_p") or vars(pjit)["pjit_p"]


def is_inlined(params: Mapping[str, Any]) -> bool:
    """True if a jitted function of a trace is only to be a part of its caller.

    Until jax 0.12 it is one in the trace already; since then the parameter is an enum, and each of
    its members is true, that which leaves it to XLA among them.
    """
    import jax

    found = params.get("inline", False)
    kinds: Any = vars(jax).get("Inline")
    return found if kinds is None else found in (kinds.JAX_EARLY, kinds.JAX_LATE)


def array_types() -> list[type]:
    """The classes of arrays that are no tracers; jax 0.4.30 derives its own from nothing."""
    import jax
    from jax._src import array

    derived: list[type] = [
        each for each in jax.Array.__subclasses__() if each.__name__ == "ArrayImpl"
    ]
    return derived or [array.ArrayImpl]


def runtime_error() -> type[Exception]:
    """The class of the errors of XLA; it has a public name since jax 0.4.36."""
    import jax
    from jaxlib import xla_client

    found: type[Exception] = vars(jax.errors).get("JaxRuntimeError") or xla_client.XlaRuntimeError
    return found


def of_backends(name: str) -> Any:
    """``get_backend`` or ``get_compile_options``, which are public since jax 0.4.33 and 0.7."""
    from jax._src import compiler, xla_bridge
    from jax.extend import backend

    return next(vars(each)[name] for each in (backend, xla_bridge, compiler) if name in vars(each))


def process_indices() -> Callable[..., list[int]]:
    """``jax.process_indices``, which is there since jax 0.4.33."""
    import jax

    def counted(backend: str | None = None) -> list[int]:
        """Return the numbers of all processes."""
        return list(range(jax.process_count(backend)))

    found: Callable[..., list[int]] = vars(jax).get("process_indices", counted)
    return found


def fft_type() -> Any:
    """The kinds of Fourier transforms, which jaxlib had alone before jax 0.4.35."""
    from jax import lax
    from jaxlib import xla_client

    return vars(lax).get("FftType") or vars(xla_client)["FftType"]


def host_callback_is_empty() -> bool:
    """True if ``jax.experimental.host_callback``, if there is one, has only what raises."""
    import jax

    version: tuple[int, ...] = jax.__version_info__
    return version >= (0, 4, 35)
