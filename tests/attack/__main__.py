"""``python -m tests.attack [--seed N] [--minutes M]``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.attack.running import Attacks


def main() -> int:
    """Attack for some minutes; 1 if something broke."""
    parser = argparse.ArgumentParser(prog="python -m tests.attack", description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0, help="other seeds draw other damage")
    parser.add_argument("--minutes", type=float, default=1, help="how long")
    asked = parser.parse_args()
    end = time.monotonic() + 60 * asked.minutes
    with tempfile.TemporaryDirectory() as folder, Attacks(asked.seed, Path(folder)) as attacks:
        try:
            while time.monotonic() < end and not attacks.broken:
                attacks.round()
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
        print("\n".join(attacks.report()))
        return 1 if attacks.broken else 0


if __name__ == "__main__":
    sys.exit(main())
