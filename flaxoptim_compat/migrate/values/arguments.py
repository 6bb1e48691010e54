"""A call in a program, and what it gives to the function that it calls."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.memory import Held, Memory
from flaxoptim_compat.migrate.values.objects import NOTHING, Context

# As many arguments as `*` may stand for.
MOST_SLOTS = 8


class Call(NamedTuple):
    """A call in a program.

    Args:
      document: the file.
      node: the expression.
      context: of the function it stands in, the call that this one belongs to.
    """

    document: Document
    node: ast.Call
    context: Context


class Argument(NamedTuple):
    """One argument of a call.

    Args:
      name: the keyword; None for one by position, and for ``**``.
      value: what it holds.
      is_starred: whether it is written with ``*`` or ``**``.
      is_keyword: whether it stands among the keywords.
    """

    name: str | None
    value: Held
    is_starred: bool = False
    is_keyword: bool = False


class Given(NamedTuple):
    """The arguments of a call: by position in order, and by name."""

    positional: Sequence[Held]
    named: Sequence[tuple[str | None, Held]]


def given_by(memory: Memory, arguments: Iterable[Argument]) -> Given:
    """What the arguments of a call give by position, where ``*`` is written out, and by name.

    Args:
      memory: the variables.
      arguments: in their order.
    """
    positional: list[Held] = []
    by_position = [each for each in arguments if not each.is_keyword]
    named = [(each.name, each.value) for each in arguments if each.is_keyword]
    for index, each in enumerate(by_position):
        if not each.is_starred:
            positional.append(each.value)
        elif index == len(by_position) - 1:
            slots = range(MOST_SLOTS) if each.value is not NOTHING else ()
            positional += [memory.item(each.value, slot) for slot in slots]
        else:
            # How many it stands for is not known, so the rest may be anywhere.
            rest = [
                memory.contents(other.value) if other.is_starred else other.value
                for other in by_position[index:]
            ]
            positional += [memory.joined(rest)] * MOST_SLOTS
            break
    return Given(positional, named)
