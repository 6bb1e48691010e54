"""``jax.xla_computation``, which is a stage of ``jit`` now."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax


def xla_computation(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Any = None,
    in_parts: Any = None,
    out_parts: Any = None,
    backend: str | None = None,
    tuple_args: bool = False,
    instantiate_const_outputs: bool | None = None,
    return_shape: bool = False,
    donate_argnums: int | Sequence[int] = (),
) -> Callable[..., Any]:
    """Make a function that returns the computation of another one for given arguments.

    Args:
      fun: the other function.
      static_argnums: positions of arguments that are not traced.
      axis_env: names and sizes of axes; not possible any more.
      in_parts: partitions; not possible any more.
      out_parts: partitions; not possible any more.
      backend: the platform; the default one if None.
      tuple_args: whether the computation takes a tuple; not possible any more.
      instantiate_const_outputs: had no effect.
      return_shape: whether to return shapes and dtypes of the result as well.
      donate_argnums: positions of arguments that the computation may reuse.
    """
    if axis_env or in_parts is not None or out_parts is not None or tuple_args:
        raise NotImplementedError(
            "axis_env, in_parts, out_parts and tuple_args are not possible any more."
        )
    jitted = jax.jit(fun, static_argnums=static_argnums, donate_argnums=donate_argnums)

    @functools.wraps(fun)
    def computation(*args: Any, **kwargs: Any) -> Any:
        traced = jitted.trace(*args, **kwargs)
        # jax tells the makes of GPUs apart where it lowers for one.
        platforms = None if backend is None else (backend.replace("gpu", "cuda"),)
        lowered = traced.lower(lowering_platforms=platforms)
        lowering = lowered.compiler_ir("hlo")
        if not return_shape:
            return lowering
        shapes = jax.tree.map(
            lambda out: jax.ShapeDtypeStruct(out.shape, out.dtype), traced.out_info
        )
        return lowering, shapes

    return computation
