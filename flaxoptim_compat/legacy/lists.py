"""Lets jax take lists in place of arrays, and as indices of arrays, as it did once."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import jax

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.replacing import look_like, replace
from flaxoptim_compat.legacy.took_lists import KNOWN_WHEN_COMPILED, TOOK_LISTS, UNTIL
from flaxoptim_compat.versions.of_jax import array_types, leave_out_of_sources

# jax.numpy is looked up in each call, because this file is loaded while jax itself is imported.
# With this, jax names the line of the program as the source of an operation.
leave_out_of_sources(__file__)
_LISTS = (list, tuple)


def accept_lists(module_name: str, undo: ExitStack) -> None:
    """Let the functions of a module take lists for arrays again, until a stack is closed.

    A program that looks a function up in its module gets one that takes lists. Jax itself does not.

    Args:
      module_name: a module of ``TOOK_LISTS``.
      undo: the stack.
    """
    module = importlib.import_module(module_name)
    for name, arguments in TOOK_LISTS[module_name].items():
        original, full_name = vars(module)[name], f"{module_name}.{name}"
        if _refuses_lists(full_name) and not hasattr(original, "_takes_lists"):
            if full_name in KNOWN_WHEN_COMPILED:
                taking = _reducing_lists(original)
            else:
                taking = _taking_lists(original, arguments.split())
            look_like(original, taking, module_name)
            taking._takes_lists = True  # type: ignore[attr-defined]
            replace(module, name, taking, undo)


def _refuses_lists(name: str) -> bool:
    version: tuple[int, ...] = jax.__version_info__
    return version[:2] >= UNTIL.get(name, (0, 0))


def _reducing_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def taking(a: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(a, _LISTS):
            return original(a, *args, **kwargs)
        if _has_tracers((a, args, kwargs)):
            return original(jax.numpy.asarray(a), *args, **kwargs)
        with jax.ensure_compile_time_eval():
            return original(jax.numpy.asarray(a), *args, **kwargs)

    return taking


def _taking_lists(original: Callable[..., Any], arguments: list[str]) -> Callable[..., Any]:
    any_number = arguments == ["*"]
    converters = {
        name.removesuffix("[]"): _as_arrays if name.endswith("[]") else as_array
        for name in arguments
        if name not in "-*"
    }
    in_order = [converters.get(name.removesuffix("[]")) for name in arguments]

    @functools.wraps(original)
    def taking(*args: Any, **kwargs: Any) -> Any:
        if any_number:
            return original(*map(as_array, args), **kwargs)
        converted = [
            arg if convert is None else convert(arg)
            for arg, convert in zip(args, in_order, strict=False)
        ]
        for name in converters.keys() & kwargs.keys():
            kwargs[name] = converters[name](kwargs[name])
        return original(*converted, *args[len(in_order) :], **kwargs)

    return taking


def as_array(value: Any) -> Any:
    """A list or a tuple as an array; any other value unchanged."""
    if not isinstance(value, _LISTS):
        return value
    if _has_tracers(value):
        return jax.numpy.asarray(value)
    # A list of numbers is known while jit traces. Functions such as repeat need this.
    with jax.ensure_compile_time_eval():
        return jax.numpy.asarray(value)


def _as_arrays(value: Any) -> Any:
    return [as_array(item) for item in value] if isinstance(value, _LISTS) else value


def _has_tracers(tree: Any) -> bool:
    return any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(tree))


def accept_list_indices(undo: ExitStack) -> None:
    """Let arrays and their ``at`` take lists as indices, until a stack is closed."""
    arrays: list[Any] = array_types()
    # The classes of ``x.at``.
    at_classes = [array.at.fget for array in arrays]
    for holder in (*arrays, jax.core.Tracer, *at_classes):
        if original := vars(holder).get("__getitem__"):
            replace(holder, "__getitem__", _indexed_by_lists(original), undo)


def _indexed_by_lists(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def getitem(self: Any, index: Any) -> Any:
        if not isinstance(index, list):
            return original(self, index)
        several = any(map(_belongs_to_a_tuple, index))
        instead = "x[tuple(index)]" if several else "x[jax.numpy.asarray(index)]"
        notice = f"An index that is a list is an error today. Write {instead} instead."
        usage.record("jax.Array.__getitem__()", notice)
        # An array of an empty list would have floats, and floats are no indices.
        return original(self, tuple(index) if several else (as_array(index) if index else index,))

    return getitem


def _belongs_to_a_tuple(index: Any) -> bool:
    """True if a list with this item stood for a tuple: an item that is no single number."""
    return (
        index is None
        or index is ...
        or isinstance(index, (Sequence, slice))
        or getattr(index, "ndim", 0) > 0
    )
