"""Writing changes for good only if a command of the user's succeeds before and after."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.journal import Journal, refuse_existing_journal
from flaxoptim_compat.migrate.writing import Change, NotWritten, replace


class Outcome(NamedTuple):
    """What was written.

    Args:
      written: the files that are new now.
      failed: those that could not be written, and why.
    """

    written: list[Path]
    failed: list[tuple[Path, str]]


class VerificationError(Exception):
    """The command failed; the message says when, and in which state the files are.

    Args:
      message: what happened.
      output: what the command printed.
    """

    def __init__(self, message: str, output: str) -> None:
        super().__init__(message)
        self.output = output


def write(changes: Sequence[Change]) -> Outcome:
    """Replace files, one after the other."""
    outcome = Outcome([], [])
    for change in changes:
        try:
            replace(change)
        except NotWritten as error:
            outcome.failed.append((change.path, str(error)))
        else:
            outcome.written.append(change.path)
    return outcome


def write_verified(changes: Sequence[Change], command: str, say: Callable[[str], None]) -> Outcome:
    """Replace files, and put them back if a command that succeeded before fails then.

    Args:
      changes: the files.
      command: it is run by the shell, in the current directory.
      say: is told what is being done.

    Raises:
      JournalError: the files as they are cannot be kept.
      VerificationError: the command fails before, or after; no file is changed.
    """
    refuse_existing_journal()
    say(f"Before: {command}")
    status, output = _run(command)
    if status:
        message = f"The command fails before anything is rewritten, with exit status {status}."
        raise VerificationError(f"{message} No file was changed.", output)
    journal = Journal(changes)
    say(f"Should this be killed, the files as they were come back with:\n\n  {journal.command}\n")
    try:
        outcome = write(changes)
        if not outcome.failed:
            say(f"After: {command}")
            status, output = _run(command)
    except BaseException:
        say(_put_back(journal))
        raise
    if outcome.failed:
        # The command would judge a program of old and new files.
        say(_put_back(journal))
        return Outcome([], outcome.failed)
    if status:
        message = f"The command fails after the rewrite, with exit status {status}."
        raise VerificationError(f"{message} {_put_back(journal)}", output)
    journal.remove()
    return outcome


def _put_back(journal: Journal) -> str:
    """Put all files back, and say so."""
    left = journal.put_back()
    if not left:
        journal.remove()
        return "All files are as they were before."
    those = ", ".join(f"{path} ({why})" for path, why in left)
    return (
        "The files are as they were before, but not these, which stay as they are:"
        f" {those}. As they were they are in {journal.folder}, which can be deleted."
    )


def _run(command: str) -> tuple[int, str]:
    """The exit status of a command, and what it printed."""
    done = subprocess.run(
        command,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")
