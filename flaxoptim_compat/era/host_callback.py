"""The module ``jax.experimental.host_callback``: taps and calls out of compiled programs."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jax.experimental import io_callback

from flaxoptim_compat.versions.of_jax import optimization_barrier

__all__ = ["barrier_wait", "call", "id_print", "id_tap"]

Transforms = tuple[tuple[str, dict[str, Any]], ...]
_one_print_at_a_time = threading.Lock()
# How trees were printed.
_WIDTH = 80
_BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("( ", " )"),
    list: ("[ ", " ]"),
    dict: ("{ ", " }"),
}


def id_tap(
    tap_func: Callable[..., Any],
    arg: Any,
    *,
    result: Any = None,
    tap_with_device: bool = False,
    device_index: int = 0,
) -> Any:
    """Return the argument, and call a Python function with its value when it is known.

    Args:
      tap_func: takes the value and the transformations under which the value was computed; under
        ``vmap`` the value is that of the whole batch, with ``batch`` among the transformations.
      arg: a tree.
      result: a tree to return instead of ``arg``.
      tap_with_device: whether the function takes the device too; not possible any more.
      device_index: the device of the value; has no effect on CPU.
    """
    _refuse_devices(tap_with_device)
    value = jax.tree.map(jnp.asarray, arg)
    known = _tap(tap_func, jax.lax.stop_gradient(value), ())
    # The result waits for the tap. Otherwise XLA could leave the tap out, whose result is not used.
    passed_on = value if result is None else jax.tree.map(jnp.asarray, result)
    passed_on, _ = optimization_barrier((passed_on, known))
    return passed_on


def _tap(tap_func: Callable[..., Any], value: Any, transforms: Transforms) -> jax.Array:
    @custom_vmap
    def tap(value: Any) -> jax.Array:
        jax.debug.callback(lambda known: tap_func(_as_numpy(known), transforms), value)
        return jnp.zeros((), bool)

    @tap.def_vmap
    def tap_of_a_batch(size: int, batched: Any, value: Any) -> tuple[jax.Array, bool]:
        dims = tuple(0 if is_batched else None for is_batched in jax.tree.leaves(batched[0]))
        below = (*transforms, ("batch", {"batch_dims": dims}))
        return _tap(tap_func, value, below), False

    known: jax.Array = tap(value)
    return known


def id_print(
    arg: Any,
    *,
    result: Any = None,
    tap_with_device: bool = False,
    device_index: int = 0,
    output_stream: Any = None,
    threshold: int | None = None,
    **kwargs: Any,
) -> Any:
    """Return the argument, and print its value when it is known.

    Args:
      arg: a tree.
      result: a tree to return instead of ``arg``.
      tap_with_device: whether to print the device; not possible any more.
      device_index: the device of the value; has no effect on CPU.
      output_stream: the stream to write to; by default the text is printed.
      threshold: the largest number of elements of an array that is printed in full.
      **kwargs: named values to print in front of the value.
    """

    def print_it(value: Any, transforms: Transforms) -> None:
        with _one_print_at_a_time:
            for text in _printed(value, transforms, threshold, kwargs):
                if output_stream is None:
                    print(text)
                else:
                    output_stream.write(text + "\n")

    return id_tap(
        print_it, arg, result=result, tap_with_device=tap_with_device, device_index=device_index
    )


def call(
    callback_func: Callable[..., Any],
    arg: Any,
    *,
    result_shape: Any = None,
    call_with_device: bool = False,
    device_index: int = 0,
) -> Any:
    """Call a Python function with the value of the argument, and return its result.

    Args:
      callback_func: takes the value.
      arg: a tree.
      result_shape: a tree of scalars, or of objects with the shape and dtype of a result.
      call_with_device: whether the function takes the device too; not possible any more.
      device_index: the device of the call; has no effect on CPU.
    """
    _refuse_devices(call_with_device)
    shapes = jax.tree.map(
        lambda like: jax.ShapeDtypeStruct(
            np.shape(like), jax.dtypes.canonicalize_dtype(jnp.result_type(like))
        ),
        result_shape,
    )
    value = jax.tree.map(jnp.asarray, arg)
    return io_callback(lambda known: callback_func(_as_numpy(known)), shapes, value)


def barrier_wait(logging_name: str | None = None) -> None:
    """Wait until all taps and calls of running programs are done."""
    jax.effects_barrier()


_as_numpy = functools.partial(jax.tree.map, np.asarray)


def _refuse_devices(wanted: bool) -> None:
    if wanted:
        raise NotImplementedError(
            "The device of a host callback cannot be known any more. Leave out"
            " `tap_with_device` and `call_with_device`."
        )


def _printed(
    value: Any, transforms: Sequence[Any], threshold: int | None, named: dict[str, Any]
) -> Iterator[str]:
    """The printed texts: the named values, if there are any, then the value itself."""
    if transforms:
        listed = [(name, params) if params else name for name, params in transforms]
        named = {**named, "transforms": listed}
    if named:
        yield " ".join(f"{name}: {each}" for name, each in sorted(named.items()))
    page = _Page()
    _write(page, value, threshold, 0)
    yield page.text


class _Page:
    def __init__(self) -> None:
        self.text, self.column = "", 0

    def write(self, text: str) -> None:
        # The lines of an array count as a single line, as in the original module.
        self.text, self.column = self.text + text, self.column + len(text)

    def new_line(self, indent: int) -> None:
        self.text, self.column = f"{self.text}\n{' ' * indent}", indent


def _write(page: _Page, value: Any, threshold: int | None, indent: int) -> None:
    flat, kind = _flat(value, threshold), _kind(value)
    if kind is None or page.column + len(flat) <= _WIDTH:
        page.write(flat)
        return
    opening, closing = _BRACKETS[kind]
    page.write(opening)
    for number, (label, part) in enumerate(_parts(value)):
        if number:
            page.new_line(indent + 2)
        page.write(label)
        _write(page, part, threshold, indent + 2)
    page.write(closing)


def _flat(value: Any, threshold: int | None) -> str:
    kind = _kind(value)
    if kind is not None:
        opening, closing = _BRACKETS[kind]
        inside = " ".join(label + _flat(part, threshold) for label, part in _parts(value))
        return opening + inside + closing
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=threshold)
    return str(value)


def _kind(value: Any) -> type | None:
    return next((kind for kind in _BRACKETS if isinstance(value, kind)), None)


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{name}=", part) for name, part in sorted(value.items())]
    return [("", part) for part in value]
