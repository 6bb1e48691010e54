"""How many optimizers become TrainStates, and the one line that holds each of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.formats.summary import counted
from flaxoptim_compat.migrate.reports import Spot, UnitReport, line_of

_MOST = 10
_MOST_MADE = 3


class Held(NamedTuple):
    """What holds optimizers.

    Args:
      spot: the line.
      unit: the optimizers.
      text: why, and how many other lines do.
      joining: what joins them, without the line that this begins with; "" if nothing does.
    """

    spot: Spot
    unit: UnitReport
    text: str
    joining: str


def how_many(becoming: int, staying: Sequence[UnitReport]) -> str:
    """How many optimizers go and stay; "" if there are none.

    Args:
      becoming: how many become TrainStates.
      staying: those that do not.
    """
    stay = sum(each.optimizers for each in staying)
    if not becoming + stay:
        return ""
    become = "becomes a TrainState" if becoming == 1 else "become TrainStates"
    number = counted(becoming + stay, "optimizer")
    return f"Of {number} {becoming:,} {become}, {stay:,} {'stays' if stay == 1 else 'stay'}."


def held(staying: Sequence[UnitReport]) -> Iterator[Held]:
    """The lines that hold optimizers, the first few.

    Args:
      staying: all that stay.
    """
    for each in staying[:_MOST]:
        text = each.reason
        if others := len(each.held) - 1:
            holds = "holds" if others == 1 else "hold"
            text += f" {counted(others, 'other line')} {holds} it too."
        yield Held(each.held[0], each, text, _joining(each) if each.joined else "")


def others(staying: Sequence[UnitReport]) -> str:
    """How many lines more there are than ``held`` has; "" if it has all."""
    number = len(staying) - _MOST
    return f"and {number:,} more, which scan --format json lists" if number > 0 else ""


def made_in(unit: UnitReport) -> str:
    """The lines in which optimizers are made, or the first of them."""
    lines = list(dict.fromkeys(line_of(*each) for each in unit.made))
    number = len(lines) - _MOST_MADE
    return ", ".join(lines[:_MOST_MADE]) + (f" and {number:,} more" if number > 0 else "")


def _joining(unit: UnitReport) -> str:
    also = len(unit.joined) - 1
    start = f"and {counted(also, 'other line')} " if also else ""
    return (
        f"{start}may be any of these optimizers: {made_in(unit)}, so they stay together;"
        " see that it is given one of them, and run again"
    )
