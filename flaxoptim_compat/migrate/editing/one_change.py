"""The replacement of all files of a run, or of none, which a command of the user may decide."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from flaxoptim_compat.migrate.editing import replacing_files
from flaxoptim_compat.migrate.editing.journal import Journal, what_is_back
from flaxoptim_compat.migrate.editing.replacing_files import NotWritten, Replacement

if TYPE_CHECKING:
    from flaxoptim_compat.observation.proof import Proof


class Outcome(NamedTuple):
    """The files that were written, and those that could not be written.

    Args:
      written: the files that are new now: all or none.
      failed: the files that could not be written, and why.
    """

    written: list[Path]
    failed: list[tuple[Path, str]]


class VerificationError(Exception):
    """The files are as they were; the message says why.

    Args:
      message: the reason.
      output: the output of the command.
      is_after: whether the command failed with the new files, and not with the old ones already.
    """

    def __init__(self, message: str, output: str, is_after: bool) -> None:
        super().__init__(message)
        self.output = output
        self.is_after = is_after


def write(
    changes: Sequence[Replacement],
    journal: Journal,
    judge: Proof | None,
    say: Callable[[str], None],
) -> Outcome:
    """Replace all files, and put them back if one cannot be replaced, or a judge says so.

    Args:
      changes: the files.
      journal: keeps the old files until the end.
      judge: decides whether the files stay replaced.
      say: prints a message on the files that were put back.

    Raises:
      JournalError: the old files cannot be kept.
      VerificationError: the judge is against the rewrite; no file is changed.
    """
    try:
        journal.keep(changes)
        failed = dict(_not_written(changes))
        verdict = judge.after() if judge is not None and not failed else None
    except BaseException:
        if journal.files:
            say(what_is_back(journal.put_back()))
        raise
    if failed:
        # Edits of the other files count on those of the failed ones.
        say(what_is_back(journal.put_back(failed)))
        return Outcome([], [(changes[number].path, why) for number, why in failed.items()])
    if judge is not None and verdict is not None:
        back = journal.put_back()
        if not back.edited:
            verdict = judge.put_back(verdict)
        lines = filter(None, (f"{verdict.message} {what_is_back(back)}", verdict.details))
        raise VerificationError("\n".join(lines), verdict.output, verdict.is_of_command)
    journal.forget()
    return Outcome([each.path for each in changes], [])


def _not_written(changes: Sequence[Replacement]) -> Iterator[tuple[int, str]]:
    for number, change in enumerate(changes):
        try:
            replacing_files.replace(change)
        except NotWritten as error:
            yield number, str(error)
