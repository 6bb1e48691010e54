"""The settings in the user's pyproject.toml, in its table ``[tool.flaxoptim-compat]``."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flaxoptim_compat.versions.of_python import read_toml

TABLE = "tool.flaxoptim-compat"


class SettingsError(Exception):
    """A setting without a meaning; the message says where it is, and what could stand there."""


class ProjectSettings(NamedTuple):
    """The rules and files that count.

    Args:
      select: the codes, or their beginnings, that are reported; all if there are none.
      ignore: the codes, or their beginnings, that are not reported, even if they are selected.
      exclude: globs of files and folders that are left out.
      per_file_ignores: globs of files, and the codes that are not reported in them.
      folder: the folder from which globs start.
      versions: the versions to write code for, such as ``jax==0.4.30``; the key is ``for``.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    folder: Path = Path()
    versions: tuple[str, ...] = ()

    def is_excluded(self, path: Path) -> bool:
        """True if the settings leave a file or folder out."""
        return any(self._matches(path, pattern) for pattern in self.exclude)

    def ignored_in(self, path: Path, codes: Iterable[str]) -> frozenset[str]:
        """The codes, out of all given ones, that are not reported in a file."""
        ignored = list(self.ignore)
        for pattern, prefixes in self.per_file_ignores:
            if self._matches(path, pattern):
                ignored += prefixes
        return frozenset(
            code
            for code in codes
            if code.startswith(tuple(ignored)) or (self.select and not code.startswith(self.select))
        )

    def _matches(self, path: Path, pattern: str) -> bool:
        absolute = Path(os.path.abspath(path))
        # A glob without a slash is one of names, wherever they are.
        if "/" not in pattern.rstrip("/"):
            return fnmatch.fnmatch(absolute.name, pattern.rstrip("/"))
        if not absolute.is_relative_to(self.folder):
            return False
        return fnmatch.fnmatch(absolute.relative_to(self.folder).as_posix(), pattern.rstrip("/"))


def read_settings(path: Path) -> ProjectSettings:
    """The settings in the nearest pyproject.toml above a path; none if there is no such file.

    Raises:
      SettingsError: a key or a value is unknown, or the file is no TOML.
    """
    start = Path(os.path.abspath(path))
    for folder in (start, *start.parents):
        file = folder / "pyproject.toml"
        if os.path.isfile(file):
            return _from_file(file)
    return ProjectSettings()


def check_codes(codes: Iterable[str], known: Iterable[str], where: str) -> None:
    """Raise unless each code, or beginning of codes, is that of a rule.

    Raises:
      SettingsError: no rule has such a code.
    """
    known = tuple(known)
    for code in codes:
        if not code or not any(each.startswith(code) for each in known):
            raise SettingsError(
                f"{where}: no rule has the code {code!r}, or one that starts so. The command"
                " flaxoptim-compat explain lists all codes."
            )


def _from_file(file: Path) -> ProjectSettings:
    try:
        content = read_toml(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    table: Any = content
    for key in TABLE.split("."):
        table = table.get(key, {})
        if not isinstance(table, Mapping):
            raise SettingsError(
                f"{file}: {key!r} is {table!r:.40}, no table. Its settings belong into [{TABLE}]."
            )
    known = ("select", "ignore", "exclude", "per-file-ignores", "for")
    for key in table:
        if key not in known:
            raise SettingsError(f"{file}: [{TABLE}] has no key {key!r}, only {', '.join(known)}.")
    ignores = table.get("per-file-ignores", {})
    if not isinstance(ignores, Mapping):
        raise SettingsError(f"{file}: per-file-ignores in [{TABLE}] must be a table.")
    return ProjectSettings(
        _texts(table.get("select", []), "select", file),
        _texts(table.get("ignore", []), "ignore", file),
        _texts(table.get("exclude", []), "exclude", file),
        tuple((glob, _texts(codes, f"{glob!r}", file)) for glob, codes in ignores.items()),
        file.parent,
        _texts(table.get("for", []), "for", file),
    )


def _texts(value: Any, key: str, file: Path) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise SettingsError(f"{file}: {key} in [{TABLE}] must be a list of strings.")
    return tuple(value)
