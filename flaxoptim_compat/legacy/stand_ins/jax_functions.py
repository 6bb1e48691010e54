"""Functions that jax had, with their old arguments, made from today's functions of jax."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


class CustomTransformsFunction:
    """A function whose derivative can be given afterwards; it has its natural one until then."""

    def __init__(self, fun: Callable[..., Any]) -> None:
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.with_rule: Any = fun

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        return self.with_rule(*args)


custom_transforms = CustomTransformsFunction


def defjvp_all(fun: CustomTransformsFunction, custom_jvp: Callable[..., Any]) -> None:
    """Give a function its derivative in forward mode.

    Args:
      fun: the function.
      custom_jvp: takes arguments and tangents, as tuples; returns the value and its tangent.
    """
    fun.with_rule = jax.custom_jvp(_checked("defjvp_all", fun).fun)
    fun.with_rule.defjvp(custom_jvp)


def defjvp(fun: CustomTransformsFunction, *jvprules: Callable[..., Any] | None) -> None:
    """Give a function its derivative in forward mode, one argument at a time.

    Args:
      fun: the function.
      *jvprules: for each argument a function of its tangent, the value and all arguments, which
        returns a tangent of the value; None if there is none.
    """
    fun.with_rule = jax.custom_jvp(_checked("defjvp", fun).fun)
    fun.with_rule.defjvps(*jvprules)


def defvjp_all(fun: CustomTransformsFunction, custom_vjp: Callable[..., Any]) -> None:
    """Give a function its derivative in reverse mode.

    Args:
      fun: the function.
      custom_vjp: takes the arguments; returns the value and a function from its cotangent to a
        tuple of those of the arguments.
    """

    def forward(*args: Any) -> tuple[Any, Any]:
        return custom_vjp(*args)[0], args

    def backward(args: Any, cotangent: Any) -> Any:
        # Today only arrays can go from one pass to the other. Therefore the function is made a
        # second time.
        return tuple(custom_vjp(*args)[1](cotangent))

    fun.with_rule = jax.custom_vjp(_checked("defvjp_all", fun).fun)
    fun.with_rule.defvjp(forward, backward)


def defvjp(fun: CustomTransformsFunction, *vjprules: Callable[..., Any] | None) -> None:
    """Give a function its derivative in reverse mode, one argument at a time.

    Args:
      fun: the function.
      *vjprules: for each argument a function of the value's cotangent, the value and all
        arguments, which returns the argument's cotangent; None if that is zero.
    """

    def custom_vjp(*args: Any) -> tuple[Any, Callable[[Any], Any]]:
        value = fun.fun(*args)

        def pull_back(cotangent: Any) -> tuple[Any, ...]:
            return tuple(
                jax.tree.map(jnp.zeros_like, arg) if rule is None else rule(cotangent, value, *args)
                for arg, rule in zip(args, vjprules, strict=False)
            )

        return value, pull_back

    defvjp_all(_checked("defvjp", fun), custom_vjp)


def _checked(name: str, fun: Any) -> CustomTransformsFunction:
    if not isinstance(fun, CustomTransformsFunction):
        raise TypeError(
            f"{name} takes a function made by custom_transforms, not {type(fun)}. Call"
            " `custom_transforms` on the function first."
        )
    return fun


AXIS = "_device_put_sharded"


def device_put_replicated(x: Any, devices: Sequence[jax.Device]) -> Any:
    """Put a copy of each array of a tree on each device, along a new first axis."""
    _check(devices)
    return jax.tree.map(lambda leaf: _put([leaf] * len(devices), devices), x)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[jax.Device]) -> Any:
    """Put one tree on each device, and join them along a new first axis."""
    _check(devices)
    if len(shards) != len(devices):
        raise ValueError(
            f"There are {len(shards)} shards for {len(devices)} devices. Give one shard for each"
            " device."
        )
    return jax.tree.map(lambda *leaves: _put(leaves, devices), *shards)


def _check(devices: Sequence[jax.Device]) -> None:
    if not isinstance(devices, Sequence) or not devices:
        raise ValueError("`devices` must be a sequence with at least one device.")


def _put(leaves: Sequence[Any], devices: Sequence[jax.Device]) -> jax.Array:
    # Each part goes directly to its own device, so that no device has to hold all parts.
    slices = [
        jax.device_put(jnp.asarray(leaf)[None], device)
        for leaf, device in zip(leaves, devices, strict=True)
    ]
    first = slices[0]
    if any((other.shape, other.dtype) != (first.shape, first.dtype) for other in slices):
        raise ValueError("The shards must have the same shapes and dtypes.")
    sharding = NamedSharding(Mesh(np.asarray(devices), (AXIS,)), PartitionSpec(AXIS))
    shape = (len(devices), *first.shape[1:])
    return jax.make_array_from_single_device_arrays(shape, sharding, slices)


def to_dlpack(x: Any, take_ownership: bool = False) -> Any:
    """Return a capsule from which other libraries read the array, which stays unchanged."""
    return x.__dlpack__()


def tie_in(x: Any, y: Any) -> Any:
    """Return the second argument; once, this made it a part of a traced computation."""
    return y


def in1d(ar1: Any, ar2: Any, assume_unique: bool = False, invert: bool = False) -> jax.Array:
    """Tell which elements of an array are in another one, as a flat array."""
    return jnp.isin(ar1, ar2, assume_unique=assume_unique, invert=invert).ravel()


def msort(a: Any) -> jax.Array:
    """Sort an array along its first axis."""
    return jnp.sort(a, axis=0)


def fix(x: Any, out: None = None) -> jax.Array:
    """Round towards zero; integers become floating point numbers."""
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.fix is not supported.")
    x = jnp.asarray(x)
    # trunc returns integers for integers today.
    return jnp.trunc(
        x if jnp.issubdtype(x.dtype, jnp.inexact) else x.astype(jnp.result_type(float))
    )


def shuffle(key: Any, x: Any, axis: int = 0) -> jax.Array:
    """Shuffle the elements of an array along an axis, each line on its own."""
    # As an array, because permutation takes an integer as the length of a range.
    return jax.random.permutation(key, jnp.asarray(x), axis, independent=True)


def threefry2x32_key(seed: Any) -> jax.Array:
    """Make a key of the generator Threefry."""
    return jax.random.PRNGKey(seed, impl="threefry2x32")


def sph_harm(m: Any, n: Any, theta: Any, phi: Any, n_max: int | None = None) -> jax.Array:
    """Compute spherical harmonics.

    Args:
      m: the orders.
      n: the degrees.
      theta: the azimuths; the successor gives this name to the polar angles.
      phi: the polar angles.
      n_max: the largest degree, needed under ``jit``.
    """
    return jax.scipy.special.sph_harm_y(n, m, phi, theta, n_max=n_max)


def soft_pmap(
    fun: Callable[..., Any], axis_name: Any = None, in_axes: Any = 0, backend: str | None = None
) -> Callable[..., Any]:
    """Map a function over an axis; the devices are those of its arguments."""
    del backend
    return jax.jit(jax.vmap(fun, in_axes=in_axes, axis_name=axis_name))


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
            "`axis_env`, `in_parts`, `out_parts` and `tuple_args` are not possible any more. Use"
            " `jax.jit(fun).lower(*args)` with shardings."
        )
    jitted = jax.jit(fun, static_argnums=static_argnums, donate_argnums=donate_argnums)

    @functools.wraps(fun)
    def computation(*args: Any, **kwargs: Any) -> Any:
        traced = jitted.trace(*args, **kwargs)
        # To lower for a GPU, jax needs to know the maker.
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
