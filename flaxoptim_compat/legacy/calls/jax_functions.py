"""Old calls of jax that need more than other names of arguments, and lost methods of arrays.

Before each function that makes a call there is one that tells whether a call is an old one. This
module is imported before ``jax.numpy``, and so takes nothing from there.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import jax

from flaxoptim_compat.legacy.stand_ins import jax_trees
from flaxoptim_compat.versions.of_jax import array_types

# Before jax 0.4.7 numbers of arguments came first, and after it shardings.
_ORDERS = (
    "static_argnums device backend donate_argnums inline",
    "in_shardings out_shardings static_argnums static_argnames donate_argnums keep_unused device"
    " backend inline abstracted_axes",
)


def has_numbers_first(*args: Any, **_: Any) -> bool:
    """True if numbers of arguments come after the function, in the place of today's shardings."""
    return len(args) > 1 and _numbers(args[1])


def jit(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call ``jax.jit`` with positional arguments after the function, in one of two old orders."""
    fun, *positional = args or (kwargs.pop("fun"),)
    order = _ORDERS[0 if has_numbers_first(fun, *positional) else 1].split()
    named = dict(zip(order, positional, strict=False))
    if len(named) < len(positional) or named.keys() & kwargs.keys():
        return original(*args, **kwargs)
    named.update(kwargs)
    if named.get("abstracted_axes") is None:
        named.pop("abstracted_axes", None)
    return original(fun, **named)


def _numbers(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(isinstance(each, int) for each in value)
    return isinstance(value, int)


def solve(
    original: Callable[..., Any],
    a: Any,
    b: Any,
    sym_pos: bool = False,
    lower: bool = False,
    overwrite_a: bool = False,
    overwrite_b: bool = False,
    debug: bool = False,
    check_finite: bool = True,
    assume_a: str = "gen",
) -> Any:
    """Solve a linear equation, which had an argument for positive definite matrices."""
    assume_a = "pos" if sym_pos else assume_a
    return original(a, b, lower, overwrite_a, overwrite_b, debug, check_finite, assume_a)


def has_none_for_something(
    f: Any = None, tree: Any = None, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """True if trees fit only if None in the first tree stands for anything in the other trees."""
    del f
    if not rest or _fit(tree, rest, is_leaf):
        return False
    return _fit(tree, rest, lambda node: node is None or (is_leaf is not None and is_leaf(node)))


def _fit(tree: Any, rest: tuple[Any, ...], is_leaf: Callable[[Any], bool] | None) -> bool:
    structure: Any = jax.tree.structure(tree, is_leaf)
    try:
        for other in rest:
            structure.flatten_up_to(other)
    except (TypeError, ValueError):
        return False
    return True


def tree_map(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Map over trees with None in the first one, as jax did once."""
    del original
    return jax_trees.tree_map(*args, **kwargs)


def is_negative(key: Any = None, data: Any = None) -> bool:
    """True if the number to fold into a key is below zero."""
    return isinstance(data, int) and data < 0


def fold_in(original: Callable[..., Any], key: Any, data: int) -> Any:
    """Take the number modulo 2³²."""
    return original(key, data % 2**32)


def has_one_number(self: jax.Array) -> bool:
    """True if an array has axes, but only one number."""
    return self.ndim > 0 and self.size == 1


def as_scalar(original: Callable[..., Any], self: jax.Array) -> Any:
    """Convert the one number of an array."""
    return original(self.reshape(()))


def has_no_number(self: jax.Array) -> bool:
    """True if an array with values is empty; the truth of a traced array was never known."""
    return self.size == 0 and not isinstance(self, jax.core.Tracer)


def false(original: Callable[..., Any], self: jax.Array) -> bool:
    """False, the truth value that an empty array had."""
    return False


class _OfCapsule:
    """An object that hands out a capsule, like an array."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        read = ctypes.pythonapi.PyCapsule_GetPointer
        read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
        # DLPack begins with the address of the data, then the kind and the number of the device.
        address = read(self._capsule, b"dltensor") + ctypes.sizeof(ctypes.c_void_p)
        kind, number = (ctypes.c_int32 * 2).from_address(address)
        return kind, number


def is_a_capsule(*args: Any, **_: Any) -> bool:
    """True if the argument is a capsule."""
    return bool(args) and type(args[0]).__name__ == "PyCapsule"


def from_dlpack(original: Callable[..., Any], dlpack: Any, backend: Any = None) -> Any:
    """The array of a capsule, or of an object that can make a capsule."""
    del backend  # The capsule knows its device.
    return original(_OfCapsule(dlpack) if is_a_capsule(dlpack) else dlpack)


def all_arrays() -> list[type]:
    """The classes of arrays, and the class of tracers."""
    return [*array_types(), jax.core.Tracer]


def without_device() -> list[type]:
    """The classes of arrays with values, if these have no attribute ``device``."""
    return [each for each in array_types() if not hasattr(each, "device")]


def devices() -> list[type]:
    """The class of devices, if arrays have the attribute ``device``."""
    return [] if without_device() else [jax.Device]


def _device_buffer(self: jax.Array) -> jax.Array:
    """The array itself, if it is on one device only."""
    if len(self.sharding.device_set) > 1:
        raise ValueError(
            "The array is on several devices: use `device_buffers`, with a part for each device."
        )
    return self.addressable_data(0)


def _device_buffers(self: jax.Array) -> list[jax.Array]:
    """The parts of the array, one for each device."""
    return [shard.data for shard in self.addressable_shards]


def device(self: jax.Array) -> jax.Device:
    """The device of an array that is on a single device."""
    (only,) = self.devices()
    return only


def itself(self: jax.Device) -> jax.Device:
    """The device itself, so that ``x.device()`` is ``x.device``."""
    return self


device_buffer = property(_device_buffer)
device_buffers = property(_device_buffers)
