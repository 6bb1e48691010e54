"""Processes that are killed at a random moment: the next one finds all as before, or all done.

``python -m tests.attack.kills FOLDER`` reads seeds, a line each, and answers each with a line. A
process of its own: what it forks must have no threads, of which jax starts some.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.attack.attempts import Broken, command, names_in
from tests.support.places import DATA, ROOT

_PROGRAM = DATA / "linen_programs"
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


class Kills:
    """Each attempt starts something that writes, kills it, and does it again.

    Args:
      folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=ROOT,
            text=True,
        )

    def attempt(self, source: random.Random) -> str:
        """Ask the process for one."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(f"{source.random()}\n")
        self._server.stdin.flush()
        answer = self._server.stdout.readline().strip()
        word, _, what = answer.partition(": ")
        if word != "fine":
            raise Broken(what or "the process that kills has ended")
        return what

    def close(self) -> None:
        """End the process."""
        assert self._server.stdin is not None
        with self._server:
            self._server.stdin.close()


class _Rewriting:
    """``rewrite --write`` of several files, which are all old or all new in the end."""

    def __init__(self, target: str) -> None:
        self._target = target
        self.name = f"rewrite --to {target}"

    def prepare(self, folder: Path) -> None:
        shutil.copytree(_PROGRAM, folder / "program")

    def do(self, folder: Path) -> int:
        return command("rewrite", folder / "program", "--to", self._target, "--write")

    def found(self, folder: Path) -> dict[str, bytes]:
        program = folder / "program"
        return {str(path): path.read_bytes() for path in sorted(program.rglob("*.py"))}

    def rest(self, folder: Path) -> set[str]:
        return names_in(folder / "program") - names_in(_PROGRAM)


class _Writing:
    """A checkpoint, which is there whole or not at all."""

    name = "write a checkpoint"

    def prepare(self, folder: Path) -> None:
        pass

    def do(self, folder: Path) -> int:
        import numpy as np

        from flaxoptim_compat.checkpoint_files import array_in_memory, write_checkpoint

        with contextlib.suppress(FileNotFoundError):
            (folder / "out").unlink()
        arrays = {str(number): array_in_memory(np.full(100_000, number)) for number in range(20)}
        write_checkpoint(folder / "out", arrays, "msgpack")
        return 0

    def found(self, folder: Path) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in folder.glob("out")}

    def rest(self, folder: Path) -> set[str]:
        return {name for name in names_in(folder) - {"out"} if not name.startswith("unfinished-")}


_Doing = _Rewriting | _Writing


def _killed(folder: Path, doing: _Doing, seconds: float, number: signal.Signals) -> bool:
    """Start it in a process, kill that after so many seconds, and return whether it had ended."""
    child = _in_a_process(lambda: doing.do(folder))
    time.sleep(seconds)
    ended, _ = os.waitpid(child, os.WNOHANG)
    if ended:
        return True
    os.kill(child, number)
    os.waitpid(child, 0)
    return False


def _in_a_process(function: Callable[[], int]) -> int:
    child = os.fork()
    if child:
        return child
    with open(os.devnull, "w") as nothing:
        # Behind the output, by which this process answers.
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        try:
            os._exit(function())
        except BaseException:
            os._exit(3)


def _done(folder: Path, doing: _Doing) -> float:
    """Do it without a kill, and return how long that took."""
    began = time.monotonic()
    _, status = os.waitpid(_in_a_process(lambda: doing.do(folder)), 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise Broken(f"{doing.name}: exit status {status} in {folder}")
    return time.monotonic() - began


def _attempt(folder: Path, doing: _Doing, source: random.Random) -> str:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    doing.prepare(folder)
    before = doing.found(folder)
    seconds = _done(folder, doing)
    after = doing.found(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    doing.prepare(folder)
    times = 0
    # The one that puts back is killed as well.
    for _ in range(source.choice([1, 1, 2, 3])):
        number = source.choice(_SIGNALS)
        times += not _killed(folder, doing, source.random() * seconds * 1.1, number)
    between = doing.found(folder)
    if isinstance(doing, _Writing) and between not in (before, after):
        raise Broken(f"half a file in {folder}")
    _done(folder, doing)
    if doing.found(folder) != after or doing.rest(folder):
        raise Broken(f"{doing.name}: does not recover, see {folder}; {sorted(doing.rest(folder))}")
    how = "as before" if between == before else "done" if between == after else "mixed"
    return f"{doing.name}, killed {times} times, {how}"


def _serve(folder: Path) -> None:
    every: list[_Doing] = [_Rewriting("shim"), _Rewriting("optax"), _Writing()]
    for doing in every:  # The first time they import.
        (folder / "first").mkdir()
        doing.prepare(folder / "first")
        doing.do(folder / "first")
        shutil.rmtree(folder / "first")
    for line in sys.stdin:
        source = random.Random(line)
        try:
            print(f"fine: {_attempt(folder / 'inside', source.choice(every), source)}", flush=True)
        except Exception as error:
            print(f"broken: {type(error).__name__}: {error}", flush=True)


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
