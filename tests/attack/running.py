"""All attacks in turn, each attempt with a seed of its own, and what came of them."""

from __future__ import annotations

import collections
import random
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from tests.attack.attempts import Attack, Broken, peak_memory
from tests.attack.checkpoints import Checkpoints
from tests.attack.kills import Kills
from tests.attack.sources import Sources

# How many attempts a round has of each. A kill takes as long as a hundred checkpoints.
_ROUND: dict[str, tuple[Callable[[Path], Attack], int]] = {
    "checkpoints": (Checkpoints, 200),
    "sources": (Sources, 20),
    "kills": (Kills, 1),
}


class Attacks:
    """The attacks of one seed.

    Args:
      seed: other seeds draw other damage.
      folder: an empty one.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self._seed = seed
        self._outcomes = {name: collections.Counter[str]() for name in _ROUND}
        self._attacks: dict[str, Attack] = {}
        self._folder = folder
        # What went wrong, each as text with the number of the attempt.
        self.broken: list[str] = []

    def __enter__(self) -> Self:
        for name, (make, _) in _ROUND.items():
            (self._folder / name).mkdir()
            self._attacks[name] = make(self._folder / name)
        return self

    def __exit__(self, *_: object) -> None:
        for attack in self._attacks.values():
            attack.close()

    def round(self) -> None:
        """Do some attempts of each kind."""
        for name, (_, count) in _ROUND.items():
            for _ in range(count):
                self._attempt(name)

    def _attempt(self, name: str) -> None:
        number = self._outcomes[name].total()
        source = random.Random(f"{self._seed}/{name}/{number}")
        try:
            outcome = self._attacks[name].attempt(source)
        except Broken as error:
            outcome = "broken"
            self.broken.append(f"{name} {number}: {error}")
        except Exception:
            outcome = "broken"
            self.broken.append(f"{name} {number}: {traceback.format_exc()}")
        self._outcomes[name][outcome] += 1

    def report(self) -> Iterator[str]:
        """How many attempts there were, and what came of them."""
        for name, outcomes in self._outcomes.items():
            yield f"{outcomes.total():,} {name}"
            yield from (f"  {count:8,}  {outcome}" for outcome, count in sorted(outcomes.items()))
        yield f"{peak_memory():,.0f} MiB of memory at most"
        yield f"{len(self.broken)} broken, with the seed {self._seed}"
        yield from self.broken
