"""The run of a command in a copy of the user's folder, with all its Python processes observed."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.legacy.launching import child_environment
from flaxoptim_compat.observation import places, process_reports, records, starting, watchdog
from flaxoptim_compat.observation.copied_folder import CopiedFolder
from flaxoptim_compat.observation.copies import Copies
from flaxoptim_compat.observation.places import Uses
from flaxoptim_compat.observation.process_reports import ProcessReport
from flaxoptim_compat.observation.records import Record

# So often it is looked whether a command has ended, and what it has printed.
_SECONDS = 0.05
# So many last bytes of the output are shown when a command fails.
_SHOWN = 16_000
# So many first bytes of the output are compared.
_COMPARED = 1 << 24


class ObservedRun(NamedTuple):
    """The outcome of a command, and the records of its processes.

    Args:
      status: the exit status; None: the command did not end in time.
      output: the file with what the command printed.
      record: the states of optimizers in its processes.
      uses: where its processes used optimizers of flax.optim.
      processes: what its processes did, and how they ended.
    """

    status: int | None
    output: Path
    record: Record
    uses: Uses
    processes: list[ProcessReport]

    @property
    def text(self) -> str:
        """The output, or the beginning of a large one."""
        with self.output.open("rb") as file:
            return file.read(_COMPARED).decode(errors="replace")

    @property
    def last_lines(self) -> str:
        """The end of the output."""
        with self.output.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _SHOWN))
            text = file.read().decode(errors="replace")
        return text if size <= _SHOWN else f"[...]{text.partition(os.linesep)[2]}"


def run(
    command: str,
    copies: Copies,
    directory: Path,
    name: str,
    timeout: float | None = None,
    is_shown: bool = False,
    made_before: Iterable[str] = (),
    is_nudged: bool = False,
) -> ObservedRun:
    """Run a command by the shell in the current copy, and observe its processes.

    As under ``flaxoptim-compat run``, the processes have the lost names. Processes that the command
    leaves behind are ended. If this process is stopped by Ctrl-C, SIGTERM or SIGHUP, so are all.

    Args:
      command: the command, in which the folder becomes the copy.
      copies: the copies, one of which is there.
      directory: where the command runs, by its path in the folder.
      name: the name of the run among those of the copies.
      timeout: the seconds after which the command is ended.
      is_shown: whether to print the output on stderr while the command runs.
      made_before: what earlier runs have made outside of the copy.
      is_nudged: whether the first parameters of each optimizer are one unit in the last place off.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{name}.", dir=copies.top))
    output = folder / "output"
    environment = child_environment(os.environ, (), era=True, names=0)
    environment = {key: in_copy(value, copies) for key, value in environment.items()}
    environment |= {
        "PWD": str(copies.copy / directory),
        starting.USES: str(folder),
        starting.NUMBERS: str(folder),
        starting.NUDGED: "1" if is_nudged else "",
        starting.COPY: _copied(copies, folder, made_before).to_environment(),
    }
    with output.open("wb") as written, _interruptible():
        process = subprocess.Popen(
            in_copy(command, copies),
            shell=True,
            cwd=copies.copy / directory,
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            status = _wait(process, output, timeout, is_shown)
            # Before those that still run are ended.
            processes = process_reports.read(folder)
        finally:
            watchdog.end_all(copies.top, process.pid)
            process.wait()
    uses = places.read(folder, copies.of_user)
    record = records.read(folder).with_files(copies.of_user)
    return ObservedRun(status, output, record, uses, processes)


def in_copy(text: str, copies: Copies) -> str:
    """A text in which the user's folder, wherever it is named, has become the copy.

    Paths into what copies have as links stay: they are the user's own.
    """
    spellings = sorted(set(_spellings(copies.folder)), key=len, reverse=True)
    pattern = "|".join(map(re.escape, spellings))
    copied = _copied(copies)

    def mapped(match: re.Match[str]) -> str:
        is_linked = copied.relative(f"{copies.folder}{match['rest']}") is None
        return match[0] if is_linked else f"{copies.copy}{match['rest']}"

    return re.sub(
        rf"(?<![\w./~-])(?:{pattern})(?![\w.+@-])(?P<rest>(?:/[\w.+@-]+)*/?)", mapped, text
    )


def _copied(
    copies: Copies, reports: Path | str = "", made_before: Iterable[str] = ()
) -> CopiedFolder:
    """The folder and the current copy, as processes are told of them."""
    return CopiedFolder(
        list(dict.fromkeys([str(copies.folder), _working_path(copies.folder)])),
        str(copies.copy),
        str(reports),
        [each.as_posix() for each in copies.linked],
        sorted(made_before),
    )


def _spellings(folder: Path) -> Iterator[str]:
    """The ways to name a folder in a command."""
    yield from (str(folder), _working_path(folder))
    home = Path(os.path.realpath(Path.home()))
    if home in folder.parents:
        for name in ("~", "$HOME", "${HOME}"):
            yield f"{name}/{folder.relative_to(home).as_posix()}"


def _working_path(folder: Path) -> str:
    """The path by which the user came to a folder, which may lead through links."""
    working = os.environ.get("PWD", "")
    here = Path(os.path.realpath(working or folder))
    if here != Path(os.path.realpath(Path.cwd())) or not here.is_relative_to(folder):
        return str(folder)
    return os.path.normpath(os.path.join(working, os.path.relpath(folder, here)))


def _wait(
    process: subprocess.Popen[bytes], output: Path, timeout: float | None, is_shown: bool
) -> int | None:
    """The exit status of a process, whose output is shown meanwhile; None if it takes too long."""
    end = None if timeout is None else time.monotonic() + timeout
    with output.open("rb") as printed:
        while True:
            # The shell ends, though a process that it has left behind keeps the output open.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_SECONDS)
            while is_shown and (new := printed.read(1 << 16)):
                sys.stderr.write(new.decode(errors="replace"))
                sys.stderr.flush()
            if process.returncode is not None:
                return process.returncode
            if end is not None and time.monotonic() > end:
                return None


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Make SIGTERM and SIGHUP interrupts for a block."""
    names = ("SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ours = [
        number
        for number in numbers
        if threading.current_thread() is threading.main_thread()
        and signal.getsignal(number) is signal.SIG_DFL
    ]
    for number in ours:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)
