"""The leaves that one compiled call takes together, so that few and small programs are compiled.

XLA takes more than ten times longer to compile a program for a thousand leaves than for a hundred,
and the time of a step is the same for each leaf. Most models repeat layers. Cut into equal batches,
a large model needs no larger program than one layer does.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise

# A call with fewer leaves would spend its time on the call itself.
SMALLEST = 48
# A program with more leaves takes longer to compile than two programs of half the size.
LARGEST = 128


def batches(kinds: Sequence[Hashable]) -> list[tuple[int, ...]]:
    """Cut leaves into batches; as many batches as possible have the same kinds in the same order.

    Args:
      kinds: for each leaf its shape and its dtype, on which a compiled step depends.

    Returns:
      the positions of the leaves of each batch; each leaf is in one batch.
    """
    groups: dict[Hashable, list[int]] = {}
    for position, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(position)
    sizes = list(map(len, groups.values()))
    most = max(1, len(kinds) // SMALLEST)
    count = min(range(1, most + 1), key=lambda number: _leaves_to_compile(sizes, number))
    equal: list[list[int]] = [[] for _ in range(count)]
    remaining: list[int] = []
    for members in groups.values():
        share = len(members) // count
        for number, batch in enumerate(equal):
            batch += members[number * share : (number + 1) * share]
        remaining += members[count * share :]
    if len(remaining) == 1:
        # XLA divides in another way by a number that divides a single leaf only.
        remaining += [batch.pop() for batch in equal]
    return [piece for batch in [*equal, remaining] for piece in _pieces(batch)]


def _leaves_to_compile(sizes: Sequence[int], count: int) -> int:
    """The number of leaves in the programs for ``count`` equal batches: one batch, and the rest."""
    return sum(size // count + size % count for size in sizes)


def _pieces(batch: Sequence[int]) -> list[tuple[int, ...]]:
    """A batch cut into as few pieces as possible, whose lengths differ by one at most."""
    count = -(-len(batch) // LARGEST)
    ends = [len(batch) * number // count for number in range(count + 1)] if count else []
    return [tuple(batch[start:end]) for start, end in pairwise(ends)]
