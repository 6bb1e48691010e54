"""Which leaves one compiled call takes together, so that few and small programs are compiled.

XLA takes ten times longer, and more, to compile a program for a thousand leaves than one for a
hundred, and then needs as long for each leaf. Most models repeat: cut into batches that look the
same, a large one needs no larger program than one layer.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

# Calls with fewer leaves would spend their time on calling.
SMALLEST = 48
# Programs with more leaves take longer to compile than two of half the size.
LARGEST = 128


def batches(kinds: Sequence[Hashable]) -> list[tuple[int, ...]]:
    """Cut leaves into batches, as many of the same kinds in the same order as possible.

    Args:
      kinds: for each leaf what a compiled step depends on: its shape and its dtype.

    Returns:
      the positions of the leaves of each batch; each leaf is in one of them.
    """
    groups: dict[Hashable, list[int]] = {}
    for position, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(position)
    sizes = list(map(len, groups.values()))
    most = max(1, len(kinds) // SMALLEST)
    count = min(range(1, most + 1), key=lambda number: _leaves_to_compile(sizes, number))
    equal: list[list[int]] = [[] for _ in range(count)]
    rest: list[int] = []
    for members in groups.values():
        share = len(members) // count
        for number, batch in enumerate(equal):
            batch += members[number * share : (number + 1) * share]
        rest += members[count * share :]
    if len(rest) == 1:
        # By a number that only one leaf is divided by, XLA divides in another way.
        rest += [batch.pop() for batch in equal]
    found = [piece for batch in [*equal, rest] for piece in _pieces(batch)]
    return found


def _leaves_to_compile(sizes: Sequence[int], count: int) -> int:
    """How many leaves the programs for so many batches have: those of one batch, and the rest."""
    return sum(size // count + size % count for size in sizes)


def _pieces(batch: Sequence[int]) -> list[tuple[int, ...]]:
    """A batch cut into as few as may be, of one length or one less."""
    count = -(-len(batch) // LARGEST)
    ends = [len(batch) * number // count for number in range(count + 1)] if count else []
    return [tuple(batch[start:end]) for start, end in pairwise(ends)]
