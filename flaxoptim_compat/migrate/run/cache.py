"""The results of files that have not changed, kept for the next run."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import flaxoptim_compat
from flaxoptim_compat.migrate.program.files import FoundFile
from flaxoptim_compat.migrate.program.loading import is_read_only
from flaxoptim_compat.migrate.run import cache_folder, cache_forms
from flaxoptim_compat.migrate.run.examination import Examined, Task
from flaxoptim_compat.migrate.run.reports import FileReport

# Goes up when what stands in the cache is written in another way.
_FORMAT = 2
# They tell how far optax's namesakes are off.
_MEASURED_WITH = ("flax", "jax", "jaxlib", "numpy", "optax")


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


# Beside what a run has used, for runs over other files.
_MOST_UNUSED = 2_000


class Cache:
    """What is kept for runs of one kind.

    Args:
      folder: the folder of the cache; None: nothing is kept, and nothing was.
      task: what the run is to do.
    """

    def __init__(self, folder: Path | None, task: Task) -> None:
        self._folder = folder
        self._name = "" if folder is None else name_of_run(task)
        self._known = {} if folder is None else cache_folder.read(folder, self._name)
        self._used: dict[str, object] = {}
        self._is_new = False

    def examined(self, key: str, file: FoundFile) -> Examined | None:
        """What a file is by itself, if that is known.

        Args:
          key: the name of the file as it is now.
          file: where it is.
        """
        with contextlib.suppress(cache_forms.Malformed, KeyError):
            found = cache_forms.examined_in(self._known[key], file)
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
            self._keep(key, cache_forms.of_examined(examined))

    def together(self, key: str, files: Sequence[FoundFile]) -> list[FileReport] | None:
        """The reports of files that were read together, if they are known.

        Args:
          key: the name of these files as they are now.
          files: where they are.
        """
        entry = self._known.get(key)
        if not isinstance(entry, list) or len(entry) != len(files):
            return None
        with contextlib.suppress(cache_forms.Malformed):
            found = [
                cache_forms.report_in(form, file) for form, file in zip(entry, files, strict=True)
            ]
            self._used[key] = entry
            return found
        return None

    def keep_together(self, key: str, reports: Sequence[FileReport]) -> None:
        """Keep the reports of files that were read together, unless one could not be read.

        Args:
          key: the name of these files as they were.
          reports: of each file.
        """
        if not any(each.unread for each in reports):
            self._keep(key, [cache_forms.of_report(each) for each in reports])

    def save(self) -> None:
        """Write what the next run can use, if there is anything new."""
        if self._folder is not None and self._is_new:
            unused = [each for each in self._known.items() if each[0] not in self._used]
            # The last ones are those that were used last.
            cache_folder.write(
                self._folder, self._name, {**dict(unused[-_MOST_UNUSED:]), **self._used}
            )

    def _keep(self, key: str, entry: object) -> None:
        self._used[key] = entry
        self._is_new = True
