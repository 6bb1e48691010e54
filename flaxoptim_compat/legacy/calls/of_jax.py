"""Functions of jax, and methods of its arrays, that took other arguments."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.row import Call, Lost

_HERE = "flaxoptim_compat.legacy.calls."
_ARRAYS = f"{_HERE}arrays:"

NUMPY = (
    Call(
        "jax.numpy.clip",
        "a=arr a_min=min a_max=max out=-",
        "jax.numpy.clip(x, min=..., max=...)",
    ),
    Call("jax.numpy.reshape", "a newshape=shape order", "jax.numpy.reshape(a, shape=...)"),
    *(
        Call(
            f"jax.numpy.{name}",
            "a q axis out overwrite_input method keepdims interpolation=method",
            f"jax.numpy.{name}(a, q, method=...)",
        )
        for name in ("percentile", "quantile", "nanpercentile", "nanquantile")
    ),
)

LAX = (
    Call(
        "jax.lax.dot",
        "lhs rhs precision preferred_element_type",
        "jax.lax.dot(lhs, rhs, precision=..., preferred_element_type=...)",
    ),
)

TRANSFORMATIONS = (
    Call(
        "jax.checkpoint jax.remat",
        "fun concrete= prevent_cse static_argnums policy",
        "jax.checkpoint(fun, static_argnums=...)",
    ),
    Call(
        "jax.jit",
        "fun",
        "jax.jit(fun, static_argnums=..., ...)",
        by=f"{_HERE}jax_jit:jit",
    ),
)

ENTRIES: tuple[Call, ...] = (*NUMPY, *LAX, *TRANSFORMATIONS)

_CONCRETE = f"{_ARRAYS}arrays"

METHODS: tuple[Lost, ...] = (
    Lost("jax.Array.to_py()", f"{_ARRAYS}to_py", _CONCRETE, "numpy.asarray(x)"),
    Lost("jax.Array.device_buffer", f"{_ARRAYS}device_buffer", _CONCRETE, "x.addressable_data(0)"),
    Lost(
        "jax.Array.device_buffers",
        f"{_ARRAYS}device_buffers",
        _CONCRETE,
        "[shard.data for shard in x.addressable_shards]",
    ),
    Lost("jax.Array.device()", f"{_ARRAYS}device", f"{_ARRAYS}devices", "x.device", "__call__"),
)
