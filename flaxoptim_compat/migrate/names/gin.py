"""The names of flax.optim in files and texts of gin: bound, referred to, or imported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.names.surface import is_dynamic_scale, is_of_flax_optim, served

_OPAQUE = re.compile(
    r"(?P<comment>#[^\n]*)"
    r"|(?P<quote>\"{3}|'{3})(?:\\.|[^\\])*?(?P=quote)"
    r"|(?P<mark>[\"'])(?:\\.|(?!(?P=mark))[^\\\n])*(?P=mark)",
    re.DOTALL,
)
_PATH = r"flax\.optim(?:\.[A-Za-z_]\w*)*(?![\w.])"
_SCOPES = r"(?:[\w.]+/)*"
_WHOLE = re.compile(_PATH)
_NAME = re.compile(rf"(?<![\w.]){_PATH}")
# A parameter that is set, and a configurable that a value refers to.
_BOUND = re.compile(rf"(?m)^[ \t]*{_SCOPES}({_PATH})[ \t]*=|@{_SCOPES}({_PATH})")
# The head of a block of bindings.
_HEAD = re.compile(rf"(?m)^{_SCOPES}({_PATH})[ \t]*:[ \t]*$")
_IMPORT = re.compile(r"(?m)^import[ \t]+(flax\.optim(?:\.\w+)*)\b")
_FROM = re.compile(r"(?m)^from[ \t]+(flax(?:\.optim(?:\.\w+)*)?)[ \t]+import[ \t]+(\w+)\b")
_DYNAMIC = re.compile(r"(?m)^from[ \t]+__gin__[ \t]+import[ \t]+dynamic_registration\b")


class GinName(NamedTuple):
    """One name of flax.optim in a file of gin.

    Args:
      start: the offset at which the name starts in the text.
      end: the offset at which it ends.
      name: the full name.
      new: the name to write, served by flaxoptim_compat; None if that is not certain.
      reason: why it is not certain.
    """

    start: int
    end: int
    name: str
    new: str | None
    reason: str = ""


def renamed(name: str) -> str | None:
    """The new name, for gin, of one of flax.optim; None if nothing serves it or it is not certain.

    gin knows a class by the module of its registration: its own module, or one that the
    registration names. A rewrite changes either in the same way.

    Args:
      name: such as ``flax.optim.Adam.beta1``, or a module alone.
    """
    return None if is_dynamic_scale(name) else served(name)


def names_in_string(text: str) -> tuple[str, ...]:
    """The full names of flax.optim in a text that is a name, or that binds names for gin."""
    if "flax.optim" not in text:
        return ()
    if _WHOLE.fullmatch(text):
        return (text,)
    matches = _BOUND.findall(_blanked(text))
    return tuple(dict.fromkeys(bound or referred for bound, referred in matches))


def names_in(text: str) -> Iterator[GinName]:
    """All names of flax.optim in a file of gin, in their order; comments have none.

    Args:
      text: the text of the file.
    """
    code = _blanked(text)
    by_start = {each.start: each for each in _imported(code)}
    brought = tuple(f"{each.name}." for each in by_start.values())
    bound = {match.start(match.lastindex or 0) for match in _BOUND.finditer(code)}
    bound |= {match.start(1) for match in _HEAD.finditer(code)}
    for match in _NAME.finditer(_blanked(text, strings=False)):
        start, end = match.span()
        new, reason = renamed(match[0]), ""
        if start not in bound:
            new, reason = None, "Only the program knows what this text is for."
        elif new is None:
            reason = _why_not(match[0])
        elif _DYNAMIC.search(code) and not f"{match[0]}.".startswith(brought):
            new, reason = None, "Another import brings this: import flaxoptim_compat.optim."
        by_start.setdefault(start, GinName(start, end, match[0], new, reason))
    yield from (by_start[start] for start in sorted(by_start))


def _imported(code: str) -> Iterator[GinName]:
    for match in _IMPORT.finditer(code):
        new = renamed(match[1])
        yield GinName(*match.span(1), match[1], new, "" if new else _why_not(match[1]))
    for match in _FROM.finditer(code):
        name = f"{match[1]}.{match[2]}"
        if is_of_flax_optim(name):
            new = renamed(name)
            module = None if new is None else new.rpartition(".")[0]
            yield GinName(*match.span(1), name, module, "" if new else _why_not(name))


def _why_not(name: str) -> str:
    if is_dynamic_scale(name):
        return (
            "DynamicScale is in flax.training.dynamic_scale: gin knows it by how it was registered."
        )
    return f"flaxoptim_compat.optim has no {name.removeprefix('flax.optim.')}."


def _blanked(text: str, strings: bool = True) -> str:
    """The text with blanks in place of comments, and of strings; the rest keeps its place."""

    def blanks(match: re.Match[str]) -> str:
        is_blanked = strings or match["comment"]
        return re.sub(r"[^\n]", " ", match[0]) if is_blanked else match[0]

    return _OPAQUE.sub(blanks, text)
