"""The rows of the tables: functions that took other arguments, and lost methods."""

from __future__ import annotations

from typing import NamedTuple

# The values to which an argument can be restricted.
_ONLY = ("None", "False")


class OldParameter(NamedTuple):
    """A parameter that a function took, with its name today.

    Args:
      name: the old name; ``*`` and ``*args`` as in Python.
      today: the name today; "" if the parameter has no effect, "-" if it could only be None.
      only: the only value that it may have today, as in Python; "" for any value.
      by_place: whether it can be given by its place today.
      by_name: whether it can be given by its name of today.
    """

    name: str
    today: str
    only: str
    by_place: bool
    by_name: bool


class OldCall(NamedTuple):
    """A function that takes other arguments today.

    Args:
      names: its full names, separated by blanks.
      took: its parameters in their old order, separated by blanks: ``a_min=min`` for a parameter
        with another name today, ``initial=`` for one without effect, ``out=-`` for one that could
        only be None; with ``*`` and ``*args`` as in Python. Parameters before ``/`` can be given by
        place only today, those after ``|`` by name only.
      today: the code to write today.
      by: ``module:function`` that makes an old call, if other names and another order are not
        enough; it takes the function of today before the arguments.
      old_if: ``module:function`` that tells from the arguments whether a call is an old one, if
        their number and names also fit today's function; it answers where one is missing, too.
    """

    names: str
    took: str
    today: str
    by: str = ""
    old_if: str = ""

    @property
    def parameters(self) -> tuple[OldParameter, ...]:
        """The parameters that the function took, in order."""
        parts = self.took.split()
        by_name_from = parts.index("/") if "/" in parts else 0
        by_place_to = parts.index("|") if "|" in parts else len(parts)
        parameters = []
        for place, part in enumerate(parts):
            if part in "/|":
                continue
            name, is_changed, today = part.partition("=")
            only = today if today in _ONLY else ""
            today = today.removeprefix(only) if is_changed else name
            parameters.append(
                OldParameter(name, today, only, place < by_place_to, place >= by_name_from)
            )
        return tuple(parameters)

    @property
    def shown(self) -> str:
        """The name of the function in a program."""
        name = self.names.split()[0]
        return name.removesuffix(".__init__").replace(".__call__", "(...)")

    @property
    def old(self) -> str:
        """The call with its old arguments, or only with those that are different today."""
        parameters = [each for each in self.parameters if each.name != "self"]
        gone = [f"{each.name}=..." for each in parameters if each.today != each.name]
        if gone and not (self.by or self.old_if):
            return f"{self.shown}({', '.join(gone)})"
        return f"{self.shown}({', '.join(each.name for each in parameters)})"

    @property
    def notice(self) -> str:
        """The text for a program that makes an old call."""
        return f"{self.shown} takes other arguments today. Write {self.today} instead."


class LostMember(NamedTuple):
    """A method or a property that classes have lost.

    Args:
      old: the old full name; with parentheses for a method.
      served_by: ``module:attribute`` of the function or property that serves it.
      classes: ``module:function`` that returns the classes.
      today: the code to write today.
      attribute: the attribute to set in the classes, if that is not the last part of the name.
    """

    old: str
    served_by: str
    classes: str
    today: str
    attribute: str = ""

    @property
    def notice(self) -> str:
        """The text for a program that uses the method or property."""
        return f"{self.old} is gone. Write {self.today} instead."


def module_of(name: str) -> str:
    """The module that has a function, or the class of a method."""
    parts = name.split(".")
    last = next((i for i, part in enumerate(parts) if part[0].isupper()), len(parts) - 1)
    return ".".join(parts[:last])
