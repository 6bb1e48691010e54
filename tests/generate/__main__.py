"""``python -m tests.generate [NAME ...]``: remake the committed files that are made of others."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.generate.generator import Generator
from tests.generate.generators import GENERATORS
from tests.support.places import ROOT


def main(arguments: Sequence[str] | None = None) -> None:
    """Write what has changed, and say which files these are."""
    listed = "".join(f"\n  {name:10} {each.made_of}" for name, each in GENERATORS.items())
    parser = argparse.ArgumentParser(
        prog="python -m tests.generate",
        description=f"Remake the committed files that are made of others:{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="only these of the above; without any, all of them"
    )
    names = parser.parse_args(arguments).names or list(GENERATORS)
    if unknown := set(names) - set(GENERATORS):
        parser.error(f"no such name: {', '.join(sorted(unknown))}")
    for name in names:
        print(f"{name} ...", end=" ", flush=True, file=sys.stderr)
        changed = write(GENERATORS[name])
        print(f"{len(changed)} changed", file=sys.stderr)
        for path in changed:
            print(path)


def write(generator: Generator) -> list[str]:
    """Bring the committed files up to date.

    Returns:
      The paths of those that were changed, added or deleted.
    """
    files = generator.files()
    changed = [path for path, new in files.items() if not path.exists() or path.read_bytes() != new]
    for path in changed:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(files[path])
    superfluous = sorted(generator.superfluous(files))
    for path in superfluous:
        path.unlink()
    return [str(path.relative_to(ROOT)) for path in (*changed, *superfluous)]


if __name__ == "__main__":
    main()
