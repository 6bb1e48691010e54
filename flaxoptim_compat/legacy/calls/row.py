"""A function that took other arguments, or a method that is gone: what it was, and is today."""

from __future__ import annotations

from typing import NamedTuple

# What the value of an argument can be restricted to.
_ONLY = ("None", "False")


class OldParameter(NamedTuple):
    """A parameter that a function took, and what has become of it.

    Args:
      name: what it was called; ``*`` and ``*args`` as Python writes them.
      today: what it is called today; "" if it changes nothing, "-" if it could only be None.
      only: what it may still be given today, as Python writes it; "" if that is not restricted.
      by_place: whether it is taken by its place today.
      by_name: whether it is taken by its name of today.
    """

    name: str
    today: str
    only: str
    by_place: bool
    by_name: bool


class OldCall(NamedTuple):
    """A function that is still there, and takes other arguments today.

    Args:
      names: its full names, with blanks between them.
      took: its parameters in their old order, with blanks between them: ``a_min=min`` for one that
        has another name today, ``initial=`` for one that changes nothing, ``out=-`` for one that
        could only be None; with ``*`` and ``*args`` as Python writes them.
      today: what to write today.
      by: ``module:function`` that makes an old call, where names and order are not all; it takes
        the function of today before the arguments.
      old_if: ``module:function`` that tells from the arguments whether a call is an old one,
        though by their number and names it could be today's.
    """

    names: str
    took: str
    today: str
    by: str = ""
    old_if: str = ""

    @property
    def parameters(self) -> tuple[OldParameter, ...]:
        """The parameters that it took, in order."""
        parts = self.took.split()
        by_name_from = parts.index("/") if "/" in parts else 0
        by_place_to = parts.index("|") if "|" in parts else len(parts)
        found = []
        for place, each in enumerate(parts):
            if each in "/|":
                continue
            name, is_changed, today = each.partition("=")
            only = today if today in _ONLY else ""
            today = today.removeprefix(only) if is_changed else name
            found.append(
                OldParameter(name, today, only, place < by_place_to, place >= by_name_from)
            )
        return tuple(found)

    @property
    def shown(self) -> str:
        """The called function, as a program writes it."""
        name = self.names.split()[0]
        return name.removesuffix(".__init__").replace(".__call__", "(...)")

    @property
    def old(self) -> str:
        """The call with its old arguments; where only some are others today, with these."""
        parameters = [each for each in self.parameters if each.name != "self"]
        gone = [f"{each.name}=..." for each in parameters if each.today != each.name]
        if gone and not (self.by or self.old_if):
            return f"{self.shown}({', '.join(gone)})"
        return f"{self.shown}({', '.join(each.name for each in parameters)})"

    @property
    def notice(self) -> str:
        """The text for a program that makes an old call."""
        return f"{self.shown} takes other arguments today. Write {self.today} instead."


class Lost(NamedTuple):
    """A method or a property that classes have lost.

    Args:
      old: how it was used, by its full name; with parentheses if it is a method.
      served_by: ``module:attribute`` of what serves it.
      classes: ``module:function`` that returns the classes.
      today: what to write today.
      attribute: what is put into the classes, if that is not the last part of its name.
    """

    old: str
    served_by: str
    classes: str
    today: str
    attribute: str = ""

    @property
    def notice(self) -> str:
        """The text for a program that uses it."""
        return f"{self.old} is gone. Write {self.today} instead."


def module_of(name: str) -> str:
    """The module that has a function, or the class of a method."""
    parts = name.split(".")
    last = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    return ".".join(parts[:last])
