"""The results of files that have not changed, kept for the next run.

They are in a folder: one file for all runs that would find the same in equal files. Nothing depends
on it. A file in it that is damaged, is someone else's or cannot be read counts as none, and one
that cannot be written is not. What is read may have been written by anybody.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import flaxoptim_compat
from flaxoptim_compat.atomic import appearing_file
from flaxoptim_compat.migrate.program.linking import Imported
from flaxoptim_compat.migrate.program.loading import FoundFile, is_read_only
from flaxoptim_compat.migrate.program.mentions import Mentions
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.examination import Examined, Task
from flaxoptim_compat.migrate.run.reports import FileReport, Noted, Spot, UnitReport

# Goes up when what stands in the cache is written in another way.
_FORMAT = 2
# They tell how far optax's namesakes are off.
_MEASURED_WITH = ("flax", "jax", "jaxlib", "numpy", "optax")
# Beside what a run has used, for runs over other files.
_MOST_UNUSED = 2_000
NAME = ".flaxoptim_compat_cache"
# Runs with other settings, of other versions.
_MOST_FILES = 20
_FILE = re.compile(r"(unfinished-)?[0-9a-f]{32}\.json(?(1)-[0-9a-f]{8})")
_SECONDS_TO_WRITE = 3600
_SIGNS = {
    # See https://bford.info/cachedir/
    "CACHEDIR.TAG": b"Signature: 8a477f597d28d172789f06886806bc55\n"
    b"# This folder is a cache of flaxoptim-compat; it may be deleted.\n",
    ".gitignore": b"*\n",
}


def name_of_run(task: Task) -> str:
    """A name that runs have in common if equal files give equal results in them.

    Args:
      task: what the run is to do.
    """
    versions = [sys.version, flaxoptim_compat.__version__]
    if task.accept_changes:
        # Here and not above: it takes as long as reading many files.
        import importlib.metadata

        versions += [importlib.metadata.version(each) for each in _MEASURED_WITH]
    return _digest(_FORMAT, versions, _sources_of_package(), os.getcwd(), tuple(task))


def key_of_file(file: FoundFile, source: bytes) -> str:
    """A name for a file as it is now.

    Args:
      file: where it is.
      source: its content.
    """
    identity = (str(file.path), file.module, file.is_package, file.off_limits)
    return _digest(identity, is_read_only(file.path), hashlib.blake2b(source).hexdigest())


def key_of_group(keys: Sequence[str], elsewhere: bool) -> str:
    """A name for files that are read together.

    Args:
      keys: the names of these files as they are now.
      elsewhere: whether others name flax.optim.
    """
    return _digest("together", elsewhere, *keys)


def _digest(*parts: object) -> str:
    """A short name for values that are written the same whenever they are equal."""
    return hashlib.blake2b(
        repr(parts).encode("utf-8", "backslashreplace"), digest_size=16
    ).hexdigest()


def _sources_of_package() -> list[tuple[str, int, int]]:
    """What tells one state of this package from another, where people work on it."""
    top = Path(flaxoptim_compat.__file__).parent
    found = []
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        for name in sorted(files):
            status = os.stat(os.path.join(folder, name))
            found.append((os.path.join(folder, name), status.st_mtime_ns, status.st_size))
    return found


class Cache:
    """What is kept for runs of one kind.

    Args:
      folder: the folder of the cache; None: nothing is kept, and nothing was.
      task: what the run is to do.
    """

    def __init__(self, folder: Path | None, task: Task) -> None:
        self._folder = folder
        self._name = "" if folder is None else name_of_run(task)
        self._known = {} if folder is None else _read(folder, self._name)
        self._used: dict[str, object] = {}
        self._is_new = False

    def examined(self, key: str, file: FoundFile) -> Examined | None:
        """What a file is by itself, if that is known.

        Args:
          key: the name of the file as it is now.
          file: where it is.
        """
        with contextlib.suppress(Malformed, KeyError):
            found = examined_in(self._known[key], file)
            self._used[key] = self._known[key]
            return found
        return None

    def keep_examined(self, key: str, examined: Examined) -> None:
        """Keep what a file is by itself, unless it could not be read: that is tried again.

        Args:
          key: the name of the file as it was.
          examined: what it is.
        """
        if examined.report is None or not examined.report.unread:
            self._keep(key, of_examined(examined))

    def together(self, key: str, files: Sequence[FoundFile]) -> list[FileReport] | None:
        """The reports of files that were read together, if they are known.

        Args:
          key: the name of these files as they are now.
          files: where they are.
        """
        entry = self._known.get(key)
        if not isinstance(entry, list) or len(entry) != len(files):
            return None
        with contextlib.suppress(Malformed):
            found = [report_in(form, file) for form, file in zip(entry, files, strict=True)]
            self._used[key] = entry
            return found
        return None

    def keep_together(self, key: str, reports: Sequence[FileReport]) -> None:
        """Keep the reports of files that were read together, unless one could not be read.

        Those with commands for the user to paste are not kept: a cache may be somebody else's.

        Args:
          key: the name of these files as they were.
          reports: of each file.
        """
        units = [unit for each in reports for unit in each.units]
        if not any(each.unread for each in reports) and not any(map(_has_commands, units)):
            self._keep(key, [of_report(each) for each in reports])

    def save(self) -> None:
        """Write what the next run can use, if there is anything new."""
        if self._folder is not None and self._is_new:
            unused = [each for each in self._known.items() if each[0] not in self._used]
            # The last ones are those that were used last.
            _write(self._folder, self._name, {**dict(unused[-_MOST_UNUSED:]), **self._used})

    def _keep(self, key: str, entry: object) -> None:
        self._used[key] = entry
        self._is_new = True


def _has_commands(unit: UnitReport) -> bool:
    return bool(unit.conversions)


def _read(folder: Path, name: str) -> dict[str, object]:
    """What is kept for the runs of a name; nothing if there is nothing to be relied on."""
    path = folder / f"{name}.json"
    try:
        if not _is_mine(folder, stat.S_ISDIR) or not _is_mine(path, stat.S_ISREG):
            return {}
        head, _, body = path.read_bytes().partition(b"\n")
        if json.loads(head) != _head(body):
            return {}
        entries = json.loads(body)
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def _write(folder: Path, name: str, entries: Mapping[str, object]) -> None:
    """Keep values of JSON for the runs of a name, if that can be."""
    with contextlib.suppress(OSError):
        folder.mkdir(exist_ok=True)
        if not _is_mine(folder, stat.S_ISDIR):
            return
        for sign, content in _SIGNS.items():
            if not os.path.lexists(folder / sign):
                _put(folder / sign, content)
        body = json.dumps(entries, separators=(",", ":")).encode()
        _put(folder / f"{name}.json", json.dumps(_head(body)).encode() + b"\n" + body)
        _remove_old(folder)


def _head(body: bytes) -> dict[str, str]:
    return {"checksum": hashlib.blake2b(body, digest_size=16).hexdigest()}


def _put(path: Path, content: bytes) -> None:
    with appearing_file(path) as file:
        file.write(content)


def _is_mine(path: Path, is_kind: Callable[[int], bool]) -> bool:
    """Whether it is what it should be, no link to it, and of the user of this process."""
    status = os.lstat(path)
    # Windows has no numbers for users.
    user = os.getuid() if hasattr(os, "getuid") else status.st_uid
    return is_kind(status.st_mode) and status.st_uid == user


def _remove_old(folder: Path) -> None:
    """Remove the results of runs that were long ago, and what killed ones were writing."""
    found = [each for each in os.scandir(folder) if _FILE.fullmatch(each.name)]
    found.sort(key=lambda each: each.stat(follow_symlinks=False).st_mtime, reverse=True)
    whole = [each for each in found if not each.name.startswith("unfinished")]
    for each in found:
        age = time.time() - each.stat(follow_symlinks=False).st_mtime
        if each not in whole[:_MOST_FILES] and (each in whole or age > _SECONDS_TO_WRITE):
            os.unlink(each)


# The lists of places in what is said of optimizers.
_SPOTS = ("made", "held", "joined")


class Malformed(Exception):
    """A value that no run has written."""


def of_report(report: FileReport) -> dict[str, Any]:
    """A report without what the file itself says: where it is, and what is in it."""
    return {
        "parsed": report.is_parsed,
        "findings": report.findings,
        "unknown": report.unknown,
        "marks": report.marks,
        "new": None if report.new is None else report.new.decode(),
        # Which of the findings they are.
        "done": [report.findings.index(each) for each in report.done],
        "left": [report.findings.index(each) for each in report.left],
        "off_limits": report.off_limits,
        "units": [
            {**each._asdict(), **{name: _of_spots(getattr(each, name)) for name in _SPOTS}}
            for each in report.units
        ],
    }


def report_in(form: object, file: FoundFile) -> FileReport:
    """A report again, without the bytes that are to change.

    Args:
      form: what ``of_report`` has made of it.
      file: where the file is.

    Raises:
      Malformed: it is something else.
    """
    match form:
        case {
            "parsed": bool(is_parsed),
            "findings": list(findings),
            "unknown": list(unknown),
            "marks": list(marks),
            "new": str() | None as new,
            "done": list(done),
            "left": list(left),
            "off_limits": str(off_limits),
            "units": list(units),
        }:
            noted = [_noted(each) for each in findings]
            return FileReport(
                file,
                is_parsed=is_parsed,
                findings=noted,
                unknown=[_said(each) for each in unknown],
                marks=[_said(each) for each in marks],
                new=None if new is None else new.encode(),
                done=[_one_of(noted, each) for each in done],
                left=[_one_of(noted, each) for each in left],
                off_limits=off_limits,
                units=[_unit(each) for each in units],
            )
    raise Malformed


def of_examined(examined: Examined) -> dict[str, Any]:
    """What one file is by itself."""
    return {
        "report": None if examined.report is None else of_report(examined.report),
        "imports": examined.imports,
        "exports": sorted(examined.exports),
        "mentions": examined.mentions,
        "flax.optim": examined.names_flax_optim,
    }


def examined_in(form: object, file: FoundFile) -> Examined:
    """What one file is by itself, again.

    Args:
      form: what ``of_examined`` has made of it.
      file: where the file is.

    Raises:
      Malformed: it is something else.
    """
    match form:
        case {
            "report": report,
            "imports": list(imports),
            "exports": list(exports),
            "mentions": [bool(), bool(), bool()] as mentions,
            "flax.optim": bool(names_flax_optim),
        } if all(isinstance(each, str) for each in exports):
            return Examined(
                None if report is None else report_in(report, file),
                tuple(_imported(each) for each in imports),
                frozenset(exports),
                Mentions(*mentions),
                names_flax_optim,
            )
    raise Malformed


def _imported(form: object) -> Imported:
    match form:
        case [str(origin), str(name), str(local)]:
            return Imported(origin, name, local)
    raise Malformed


def _noted(form: object) -> Noted:
    match form:
        case [str(code), place, str(what), str(instead), bool(shim), bool(optax), *texts]:
            match texts:
                case [str(reason), str(change), str(cause)]:
                    does = (shim, optax)
                    return Noted(code, _place(place), what, instead, *does, reason, change, cause)
    raise Malformed


def _of_spots(spots: list[Spot]) -> list[Any]:
    return [[str(each.path), each.place] for each in spots]


def _unit(form: object) -> UnitReport:
    match form:
        case {
            "made": list(made),
            "held": list(held),
            "reason": str(reason),
            "joined": list(joined),
        } if bool(held) == bool(reason):
            return UnitReport(_spots(made), _spots(held), reason, _spots(joined))
    raise Malformed


def _spots(forms: list[object]) -> list[Spot]:
    return [_spot(each) for each in forms]


def _spot(form: object) -> Spot:
    match form:
        case [str(path), place]:
            return Spot(Path(path), _place(place))
    raise Malformed


def _said(form: object) -> tuple[Place, str]:
    match form:
        case [place, str(why)]:
            return _place(place), why
    raise Malformed


def _place(form: object) -> Place:
    if isinstance(form, list) and len(form) == 6 and all(type(each) is int for each in form):
        return Place(*form)
    raise Malformed


def _one_of(noted: list[Noted], number: object) -> Noted:
    if type(number) is int and 0 <= number < len(noted):
        return noted[number]
    raise Malformed
