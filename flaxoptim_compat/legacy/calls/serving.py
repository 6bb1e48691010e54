"""Old calls of functions that take other arguments today, made as today's.

A call that is possible today is handed on as it is. Only who looks a function up in its module gets
the one that knows old calls; jax and flax themselves do not.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax

from flaxoptim_compat.legacy import usage
from flaxoptim_compat.legacy.calls.arguments import Arguments
from flaxoptim_compat.legacy.calls.other_answers import OtherAnswer
from flaxoptim_compat.legacy.calls.row import Lost, OldCall, module_of
from flaxoptim_compat.legacy.calls.tables import (
    ALL_ARRAYS,
    ANSWERS_BY_MODULE,
    BY_MODULE,
    LOST_BY_MODULE,
)
from flaxoptim_compat.legacy.entry import object_at
from flaxoptim_compat.legacy.replacing import look_like, replace
from flaxoptim_compat.versions.of_jax import leave_out_of_sources

_MARK = "_function_of_today"
# So that what jax says of an operation names the line of the program.
leave_out_of_sources(__file__)
# {function of today and row: the one that knows old calls}, so that two names of one stay one.
_taking_both: dict[tuple[Callable[..., Any], OldCall], Callable[..., Any]] = {}


def serve(module: str) -> list[Callable[[], None]]:
    """Do to a module what the tables say, and return what ends each.

    Its classes get back what they have lost, its functions take their old arguments too, and those
    that answer otherwise say so.
    """
    # Which classes lack it is asked of all before any has it.
    lost = [(row, object_at(row.classes)()) for row in LOST_BY_MODULE.get(module, ())]
    undo = [each for row, classes in lost for each in _serve_lost(row, classes)]
    undo += [_serve(name, row) for name, row in BY_MODULE.get(module, {}).items()]
    return undo + list(map(_warn_of, ANSWERS_BY_MODULE.get(module, ())))


def _serve(name: str, row: OldCall) -> Callable[[], None]:
    holders, attribute = _places_of(name)
    found = [(each, value) for each in holders if callable(value := _value(each, attribute))]
    arguments = Arguments(getattr(found[0][1], _MARK, found[0][1]), row) if found else None
    own = {id(holder): attribute in vars(holder) for holder, _ in found}
    for holder, original in found:
        if arguments is not None and arguments.have_changed and not hasattr(original, _MARK):
            if (original, row) not in _taking_both:
                _taking_both[original, row] = _wrap(original, arguments, name, row)
            setattr(holder, attribute, _taking_both[original, row])

    def undo() -> None:
        # Not only what was set here: flax has functions of jax, as they were at its import.
        for holder, _ in found:
            of_today = getattr(vars(holder).get(attribute), _MARK, None)
            if of_today is None:
                continue
            if own[id(holder)]:
                setattr(holder, attribute, of_today)
            else:
                delattr(holder, attribute)

    return undo


def _value(holder: Any, attribute: str) -> Any:
    if attribute in vars(holder) or not isinstance(holder, ModuleType):
        return vars(holder).get(attribute)
    with warnings.catch_warnings():
        # What a module has to the end by its __getattr__, which warns of the end.
        warnings.simplefilter("ignore")
        return getattr(holder, attribute, None)


def _serve_lost(row: Lost, classes: list[type]) -> list[Callable[[], None]]:
    attribute = row.attribute or row.old.rpartition(".")[2].removesuffix("()")
    served = object_at(row.served_by)
    is_property = isinstance(served, property)
    function: Callable[..., Any] = served.fget if is_property else served

    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        usage.record(row.old, row.notice)
        return function(*args, **kwargs)

    # Some are there still, only to say that they are gone.
    put = property(counted) if is_property else counted
    return [replace(each, attribute, put) for each in classes]


def _warn_of(row: OtherAnswer) -> Callable[[], None]:
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
    return replace(holder, attribute, warning)


def _places_of(name: str) -> tuple[list[Any], str]:
    module = module_of(name)
    *classes, attribute = name.removeprefix(f"{module}.").split(".")
    holder: Any = importlib.import_module(module)
    for each in classes:
        holder = getattr(holder, each)
    # What jax.Array names is several classes, and it is none of them.
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
