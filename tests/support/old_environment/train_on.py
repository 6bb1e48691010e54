"""Train the checkpoints of a directory on with the genuine flax 0.5.3 (runs beside it)."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.oracle import old_flax  # isort: skip - must precede flax

from flax import serialization

from tests.support.cases import case
from tests.support.training import create, train


def main(directory: Path) -> None:
    """Read ``<case>.step10``, take ten steps, and write ``<case>.step20`` and ``<case>.read``."""
    for path in sorted(directory.glob("*.step10")):
        entry = case(path.stem)
        fresh = create(entry, old_flax.genuine_optim())
        optimizer = serialization.from_bytes(fresh, path.read_bytes())
        # What it understood, so that the caller sees that nothing was lost on the way here.
        path.with_suffix(".read").write_bytes(serialization.to_bytes(optimizer))
        optimizer = train(optimizer, entry, range(10, 20))
        path.with_suffix(".step20").write_bytes(serialization.to_bytes(optimizer))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
