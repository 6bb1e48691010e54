"""The results of files that have not changed."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from flaxoptim_compat.migrate.cache import folder, forms
from flaxoptim_compat.migrate.cache.surroundings import name_of_run
from flaxoptim_compat.migrate.examination import Examined, Task
from flaxoptim_compat.migrate.files import FoundFile
from flaxoptim_compat.migrate.reports import FileReport

# Beside what a run has used, for runs over other files.
_MOST_UNUSED = 2_000


class Cache:
    """What is kept for runs of one kind.

    Args:
      place: the folder of the cache; None: nothing is kept, and nothing was.
      task: what the run is to do.
    """

    def __init__(self, place: Path | None, task: Task) -> None:
        self._place = place
        self._name = "" if place is None else name_of_run(task)
        self._known = {} if place is None else folder.read(place, self._name)
        self._used: dict[str, object] = {}
        self._is_new = False

    def examined(self, key: str, file: FoundFile) -> Examined | None:
        """What a file is by itself, if that is known.

        Args:
          key: the name of the file as it is now.
          file: where it is.
        """
        with contextlib.suppress(forms.Malformed, KeyError):
            found = forms.examined_in(self._known[key], file)
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
            self._keep(key, forms.of_examined(examined))

    def together(self, key: str, files: Sequence[FoundFile]) -> list[FileReport] | None:
        """The reports of files that were read together, if they are known.

        Args:
          key: the name of these files as they are now.
          files: where they are.
        """
        entry = self._known.get(key)
        if not isinstance(entry, list) or len(entry) != len(files):
            return None
        with contextlib.suppress(forms.Malformed):
            found = [forms.report_in(form, file) for form, file in zip(entry, files, strict=True)]
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
            self._keep(key, [forms.of_report(each) for each in reports])

    def save(self) -> None:
        """Write what the next run can use, if there is anything new."""
        if self._place is not None and self._is_new:
            unused = [each for each in self._known.items() if each[0] not in self._used]
            # The last ones are those that were used last.
            folder.write(self._place, self._name, {**dict(unused[-_MOST_UNUSED:]), **self._used})

    def _keep(self, key: str, entry: object) -> None:
        self._used[key] = entry
        self._is_new = True
