"""``python -m tests.attack [--seed N] [--minutes M]``."""

from __future__ import annotations

import argparse
import collections
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.attack.attacks import Broken, damage_a_checkpoint, damage_a_source, kill_a_writer

# How many attempts a round has of each. A kill takes as long as a hundred checkpoints.
_ROUND: dict[str, tuple[Callable[[Path, random.Random], str], int]] = {
    "checkpoints": (damage_a_checkpoint, 60),
    "sources": (damage_a_source, 15),
    "kills": (kill_a_writer, 1),
}


class Attacks:
    """All attacks in turn, each attempt with a seed of its own, and what came of them.

    Args:
      seed: other seeds draw other damage.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._outcomes = {name: collections.Counter[str]() for name in _ROUND}
        # What went wrong, each as text with the number of the attempt.
        self.broken: list[str] = []

    def round(self) -> None:
        """Do some attempts of each kind."""
        for name, (attempt, count) in _ROUND.items():
            for _ in range(count):
                number = self._outcomes[name].total()
                source = random.Random(f"{self._seed}/{name}/{number}")
                with tempfile.TemporaryDirectory() as outside:
                    folder = Path(outside, "inside")
                    folder.mkdir()
                    try:
                        outcome = attempt(folder, source)
                        if [*Path(outside).iterdir()] != [folder]:
                            raise Broken("a file outside")
                    except Exception:
                        outcome = "broken"
                        self.broken.append(f"{name} {number}: {traceback.format_exc()}")
                self._outcomes[name][outcome] += 1

    def report(self) -> Iterator[str]:
        """How many attempts there were, and what came of them."""
        for name, outcomes in self._outcomes.items():
            yield f"{outcomes.total():,} {name}"
            yield from (f"  {count:8,}  {outcome}" for outcome, count in sorted(outcomes.items()))
        yield f"{len(self.broken)} broken, with the seed {self._seed}"
        yield from self.broken


def main() -> int:
    """Attack for some minutes; 1 if something broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other damage")
    parser.add_argument("--minutes", type=float, default=1, help="how long")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    attacks = Attacks(asked.seed)
    try:
        while time.monotonic() < end and not attacks.broken:
            attacks.round()
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
    print("\n".join(attacks.report()))
    return 1 if attacks.broken else 0


if __name__ == "__main__":
    sys.exit(main())
