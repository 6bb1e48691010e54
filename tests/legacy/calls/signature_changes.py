"""What in today's signatures an old call would not fit, parameter by parameter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from tests.legacy.calls.signatures import NO_SIGNATURE

Signatures = Mapping[str, Sequence[str]]


class Change(NamedTuple):
    """One change: of what, and what it is, in words."""

    name: str
    what: str


class Parameter(NamedTuple):
    """A parameter as it is written, in pieces."""

    name: str
    default: str | None
    positional: bool
    by_name: bool


def changes(old: Signatures, today: Signatures) -> list[Change]:
    """All changes of what is still there, and the methods that are gone."""
    found = []
    for name, parameters in old.items():
        if parameters[:1] == ["="]:
            # What had two names may have become two functions.
            of_first = {what for of, what in found if of == parameters[1]}
            here = _between(_resolved(old, name) or [], _resolved(today, name))
            found += [Change(name, what) for what in here if what not in of_first]
        else:
            found += [Change(name, what) for what in _of_one(name, parameters, today)]
    return found


def _resolved(today: Signatures, name: str) -> Sequence[str] | None:
    parameters = today.get(name)
    if parameters is not None and parameters[:1] == ["="]:
        return today.get(parameters[1])
    return parameters


def _of_one(name: str, parameters: Sequence[str], today: Signatures) -> Iterator[str]:
    owner, _, last = name.rpartition(".")
    if today.get(owner, [])[:1] == ["="]:
        owner = today[owner][1]
        name = f"{owner}.{last}"
    if name not in today and owner.rpartition(".")[2][:1].isupper():
        # A method; of the class it is one, and of nothing if the class is gone: a lost name.
        if owner in today or owner in _ALWAYS_THERE:
            yield "is gone"
        return
    yield from _between(parameters, _resolved(today, name))


_ALWAYS_THERE = ("jax.Array", "jax.core.Tracer")


def _between(old: Sequence[str], new: Sequence[str] | None) -> Iterator[str]:
    if new is None or old == new:
        return
    if [NO_SIGNATURE] in (old, new):
        yield f"is {'a property' if new == [NO_SIGNATURE] else 'a function'} today"
        return
    was, now = list(_parsed(old)), list(_parsed(new))
    any_name = any(each.startswith("**") for each in new)
    any_number = any(each[:1] == "*" and each[1:2] not in ("", "*") for each in new)
    by_name = {each.name: each for each in now if each.by_name}
    positions = [each for each in now if each.positional]
    for place, each in enumerate(each for each in was if each.positional):
        if place < len(positions) and positions[place].name != each.name:
            if each.name in {other.name for other in now}:
                yield f"{each.name} is {positions[place].name} by its place"
        elif place >= len(positions) and not any_number:
            yield f"{each.name} is not taken by its place"
    for each in was:
        if each.by_name and each.name not in by_name and not any_name and each.name != "self":
            yield f"{each.name} is not taken by its name"
        other = next((other for other in now if other.name == each.name), None)
        if other is not None and each.default is not None and other.default != each.default:
            yield f"{each.name} is {other.default} by default, was {each.default}"
    names = {each.name for each in was}
    count = sum(each.positional for each in was)
    for place, each in enumerate(now):
        if each.default is None and each.name not in names and place >= count:
            yield f"{each.name} is needed"
    if any(each[:1] == "*" and each[1:2] not in ("", "*") for each in old) and not any_number:
        yield "takes no more than these"


def _parsed(parameters: Sequence[str]) -> Iterator[Parameter]:
    last_only_positional = parameters.index("/") if "/" in parameters else -1
    by_place = True
    for place, text in enumerate(parameters):
        if text[:1] == "*":
            by_place = False
        elif text != "/":
            name, has_default, default = text.partition("=")
            yield Parameter(
                name, default if has_default else None, by_place, place > last_only_positional
            )
