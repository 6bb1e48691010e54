"""Serves old calls of functions that take other arguments today.

A call that is possible today is passed on unchanged. A program that looks a function up in its
module gets one that takes old calls too. Jax and flax themselves do not.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import jax

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.calls.arguments import Arguments
from flaxoptim_compat.legacy.calls.of_jax import ALL_ARRAYS
from flaxoptim_compat.legacy.calls.other_answers import OtherAnswer
from flaxoptim_compat.legacy.calls.row import LostMember, OldCall, module_of
from flaxoptim_compat.legacy.calls.tables import ANSWERS_BY_MODULE, BY_MODULE, LOST_BY_MODULE
from flaxoptim_compat.legacy.entry import object_at
from flaxoptim_compat.legacy.replacing import look_like, replace
from flaxoptim_compat.versions.of_jax import leave_out_of_sources

_MARK = "_function_of_today"
# With this, jax names the line of the program as the source of an operation.
leave_out_of_sources(__file__)
# {(function of today, row): the function that takes old calls too}, so that two names of a function
# get the same one.
_taking_both: dict[tuple[Callable[..., Any], OldCall], Callable[..., Any]] = {}


def serve(module: str, undo: ExitStack) -> None:
    """Apply the tables to a module, until a stack is closed.

    The classes of the module get their lost methods back, its functions take their old arguments
    too, and functions with other results today warn.
    """
    # The classes without a method are listed for all rows, before any class gets one.
    lost = [(row, object_at(row.classes)()) for row in LOST_BY_MODULE.get(module, ())]
    for row, classes in lost:
        _serve_lost(row, classes, undo)
    for name, old_call in BY_MODULE.get(module, {}).items():
        _serve(name, old_call, undo)
    for answer in ANSWERS_BY_MODULE.get(module, ()):
        _warn_of(answer, undo)


def _serve(name: str, row: OldCall, undo: ExitStack) -> None:
    holders, attribute = _places_of(name)
    originals = [(each, value) for each in holders if callable(value := _value(each, attribute))]
    first = originals[0][1] if originals else None
    arguments = Arguments(getattr(first, _MARK, first), row) if first is not None else None
    own = {id(holder): attribute in vars(holder) for holder, _ in originals}
    for holder, original in originals:
        if arguments is not None and arguments.have_changed and not hasattr(original, _MARK):
            if (original, row) not in _taking_both:
                _taking_both[original, row] = _wrap(original, arguments, name, row)
            setattr(holder, attribute, _taking_both[original, row])

    @undo.callback
    def restore() -> None:
        # Also what was not set here: flax has functions of jax, as they were at its import.
        for holder, _ in originals:
            of_today = getattr(vars(holder).get(attribute), _MARK, None)
            if of_today is None:
                continue
            if own[id(holder)]:
                setattr(holder, attribute, of_today)
            else:
                delattr(holder, attribute)


def _value(holder: Any, attribute: str) -> Any:
    if attribute in vars(holder) or not isinstance(holder, ModuleType):
        return vars(holder).get(attribute)
    with warnings.catch_warnings():
        # A module may still have a name by its __getattr__, with a deprecation warning.
        warnings.simplefilter("ignore")
        return getattr(holder, attribute, None)


def _serve_lost(row: LostMember, classes: list[type], undo: ExitStack) -> None:
    attribute = row.attribute or row.old.rpartition(".")[2].removesuffix("()")
    served = object_at(row.served_by)
    is_property = isinstance(served, property)
    function: Callable[..., Any] = served.fget if is_property else served

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        usage.record(row.old, row.notice)
        return function(*args, **kwargs)

    # Some classes still have the attribute, which only raises an error.
    value = property(counted) if is_property else counted
    for each in classes:
        replace(each, attribute, value, undo)


def _warn_of(row: OtherAnswer, undo: ExitStack) -> None:
    (holder,), attribute = _places_of(row.name)
    original = getattr(holder, attribute)
    answers_otherwise = object_at(row.told_by)

    @functools.wraps(original)
    def warning(*args: Any, **kwargs: Any) -> Any:
        answer = original(*args, **kwargs)
        if answers_otherwise(answer, *args, **kwargs):
            usage.record(f"{row.name}()", row.notice)
        return answer

    look_like(original, warning, module_of(row.name))
    replace(holder, attribute, warning, undo)


def _places_of(name: str) -> tuple[list[Any], str]:
    module = module_of(name)
    *classes, attribute = name.removeprefix(f"{module}.").split(".")
    holder: Any = importlib.import_module(module)
    for each in classes:
        holder = getattr(holder, each)
    # jax.Array stands for several classes, and is none of them.
    return (object_at(ALL_ARRAYS)() if holder is jax.Array else [holder]), attribute


def _wrap(
    original: Callable[..., Any], arguments: Arguments, name: str, row: OldCall
) -> Callable[..., Any]:
    is_old = object_at(row.old_if) if row.old_if else None
    made_by = functools.partial(object_at(row.by), original) if row.by else None
    counted = f"{row.shown}()"

    @functools.wraps(original)
    def taking_both(*args: Any, **kwargs: Any) -> Any:
        if arguments.fit(args, kwargs) and not (is_old and is_old(*args, **kwargs)):
            return original(*args, **kwargs)
        if made_by is not None:
            usage.record(counted, row.notice)
            return made_by(*args, **kwargs)
        of_today = arguments.of_today(args, kwargs)
        if of_today is None:
            return original(*args, **kwargs)
        usage.record(counted, row.notice)
        return original(*of_today[0], **of_today[1])

    look_like(original, taking_both, module_of(name))
    taking_both.__qualname__ = name.removeprefix(f"{module_of(name)}.")
    setattr(taking_both, _MARK, original)
    return taking_both
