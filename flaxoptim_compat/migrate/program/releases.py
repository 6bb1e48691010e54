"""The versions that a program is rewritten for, and the names that they do not have yet."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Iterable
from typing import Final, NamedTuple

from flaxoptim_compat.versions.allowed import OLDEST, numbers


class FirstRelease(NamedTuple):
    """The first release that knows a form: a name, or a call with certain keywords.

    Args:
      package: the package of the form.
      since: the version of the release.
    """

    package: str
    since: str


# Forms that the oldest versions do not know, as module:attribute, like in the tables of successors,
# with keywords in brackets.
FORMS: Final = {
    "jax:process_indices": FirstRelease("jax", "0.4.33"),
    "jax:typeof": FirstRelease("jax", "0.5.3"),
    "jax.errors:InconclusiveDimensionOperation": FirstRelease("jax", "0.10.1"),
    "jax.errors:JaxRuntimeError": FirstRelease("jax", "0.4.34"),
    "jax.errors:JaxprTypeError": FirstRelease("jax", "0.10.1"),
    "jax.extend.backend:get_backend": FirstRelease("jax", "0.4.33"),
    "jax.extend.backend:get_compile_options": FirstRelease("jax", "0.7.0"),
    **{
        f"jax.extend.core:{name}": FirstRelease("jax", "0.10.0")
        for name in (
            *("AbstractToken", "DropVar", "Effect", "Effects", "check_jaxpr", "concrete_or_error"),
            *("find_top_trace", "jaxprs_in_params", "mapped_aval", "new_jaxpr_eqn", "no_effects"),
            *("primal_dtype_to_tangent_dtype", "subjaxprs", "unmapped_aval", "valid_jaxtype"),
        )
    },
    "jax.ffi:abstract_token": FirstRelease("jax", "0.11.0"),
    "jax.lax:FftType": FirstRelease("jax", "0.4.35"),
    # The modules of the first two are attributes of numpy before, from which nothing is imported.
    "numpy.char:compare_chararrays": FirstRelease("numpy", "2.0.0"),
    "numpy.rec:format_parser": FirstRelease("numpy", "2.0.0"),
    "numpy:exceptions.RankWarning": FirstRelease("numpy", "2.0.0"),
    "numpy.exceptions:RankWarning": FirstRelease("numpy", "2.0.0"),
    "numpy:lib.array_utils.byte_bounds": FirstRelease("numpy", "2.0.0"),
    "numpy.lib.array_utils:byte_bounds": FirstRelease("numpy", "2.0.0"),
    "numpy:trapezoid": FirstRelease("numpy", "2.0.0"),
}


_ASKED = re.compile(r"([a-z]+)\s*==\s*(\d+(?:\.\d+)*)")
# The packages whose names a program uses; jaxlib goes with jax.
PACKAGES = ("flax", "jax", "numpy", "optax")


class Releases(NamedTuple):
    """Versions of packages.

    Args:
      versions: ``(package, version)`` for each that is not the newest.
    """

    versions: tuple[tuple[str, str], ...] = ()

    def lacking(self, form: str) -> FirstRelease | None:
        """The row of a form that these versions lack; None if they have the form.

        Args:
          form: a name as ``module:attribute``, or another key of the table.
        """
        row = FORMS.get(form)
        return row if row is not None and self.are_before(row.package, row.since) else None

    def are_before(self, package: str, version: str) -> bool:
        """True if the version of a package is known, and older than another one."""
        # jax and jaxlib are released together.
        known = dict(self.versions).get(package.replace("jaxlib", "jax"))
        return known is not None and numbers(known) < numbers(version)


NEWEST = Releases()


def releases(asked: Iterable[str]) -> Releases:
    """The versions that are asked for; for other packages, the installed versions.

    Args:
      asked: such as ``jax==0.4.30``; of two for one package the last one counts.

    Raises:
      ValueError: a text is no version of these packages, or the version is too old.
    """
    versions = _installed()
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
        versions[package] = version
    return Releases(tuple(sorted(versions.items())))


def _installed() -> dict[str, str]:
    """The versions of installed packages that have a form in the table.

    The names of folders have them: importlib.metadata says the same, but its import takes longer
    than reading many files.
    """
    packages = "|".join(sorted({form.package for form in FORMS.values()}))
    installed = re.compile(rf"({packages})-(\d[^-]*)\.dist-info")
    versions: dict[str, str] = {}
    for folder in sys.path:
        with contextlib.suppress(OSError):
            for match in filter(None, map(installed.fullmatch, os.listdir(folder or "."))):
                versions.setdefault(match[1], match[2])
    return versions
