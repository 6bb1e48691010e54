"""The versions that a program is rewritten for, and what they lack."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from typing import NamedTuple

from flaxoptim_compat.migrate.releases.forms import FORMS, Form
from flaxoptim_compat.versions.allowed import OLDEST, numbers

_ASKED = re.compile(r"([a-z]+)\s*==\s*(\d+(?:\.\d+)*)")
# Those whose names a program uses; jaxlib goes with jax.
PACKAGES = ("flax", "jax", "numpy", "optax")


class Releases(NamedTuple):
    """Versions of packages.

    Args:
      versions: ``(package, version)`` for each that is not the newest.
    """

    versions: tuple[tuple[str, str], ...] = ()

    def lacking(self, form: str) -> Form | None:
        """The row of what is not there in these versions; None if it is there in them.

        Args:
          form: a name as ``module:attribute``, or another key of the table.
        """
        row = FORMS.get(form)
        return row if row is not None and self.are_before(row.package, row.since) else None

    def are_before(self, package: str, version: str) -> bool:
        """Whether the version of a package is older than another one."""
        # They are released together.
        known = dict(self.versions).get(package.replace("jaxlib", "jax"))
        return known is not None and numbers(known) < numbers(version)


NEWEST = Releases()


def releases(asked: Iterable[str]) -> Releases:
    """The versions that are asked for; of other packages those that are installed.

    Args:
      asked: such as ``jax==0.4.30``; of two for one package the last one counts.

    Raises:
      ValueError: one of them is no version of these packages, or is older than the oldest.
    """
    found = _installed()
    for each in asked:
        match = _ASKED.fullmatch(each.strip())
        if match is None or match[1] not in PACKAGES:
            raise ValueError(
                f"{each!r} is no version of {', '.join(PACKAGES)}. Write it like jax==0.4.30."
            )
        package, version = match.groups()
        if numbers(version) < numbers(OLDEST[package]):
            raise ValueError(
                f"{package} {version} is older than {OLDEST[package]}, the oldest that programs are"
                " rewritten for."
            )
        found[package] = version
    return Releases(tuple(sorted(found.items())))


def _installed() -> dict[str, str]:
    """The versions of those packages of the table that are installed beside this one.

    They stand in the names of folders: importlib.metadata says the same, and to import it takes
    longer than to read many files.
    """
    packages = "|".join(sorted({form.package for form in FORMS.values()}))
    installed = re.compile(rf"({packages})-(\d[^-]*)\.dist-info")
    found: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for match in filter(None, map(installed.fullmatch, os.listdir(folder or "."))):
                found.setdefault(match[1], match[2])
    return found
