"""Reading many files in several processes, which end with the one that started them."""

from __future__ import annotations

import collections
import os
import pickle
import selectors
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import BinaryIO, cast

from flaxoptim_compat.migrate.examination import Examined, Task, examine
from flaxoptim_compat.migrate.files import FoundFile
from flaxoptim_compat.migrate.reports import FileReport

# Starting a process takes as long as reading some hundred files that name nothing.
_FILES_PER_WORKER = 300
_CHUNK = 32
# -P keeps Python from importing modules of the folder that is being read. A process that is
# started so ends when the pipe does, however the other end of it ended.
_START = """
import os, pickle, sys
try:
    sys.path[:] = pickle.load(sys.stdin.buffer)
except EOFError:
    os._exit(0)
from flaxoptim_compat.migrate.workers import serve
serve()
"""

Progress = Callable[[int, int], None]
_Chunk = Sequence[tuple[int, FoundFile]]


def examine_all(files: Sequence[FoundFile], task: Task, progress: Progress) -> list[Examined]:
    """Examine files, in several processes if there are many; the result has their order.

    Args:
      files: where they are.
      task: what the run is to do.
      progress: is told how many files are done, and of how many.
    """
    count = min(_cores(), len(files) // _FILES_PER_WORKER)
    if count > 1:
        return _Workers(files, task, progress).results(count)
    results: list[Examined] = []
    for file in files:
        results.append(examine(file, task))
        progress(len(results), len(files))
    return results


def _cores() -> int:
    # Not every system can say which ones this process may use.
    allowed = getattr(os, "sched_getaffinity", None)
    return len(allowed(0)) if allowed is not None else os.cpu_count() or 1


class _Worker:
    """One process that examines what it is sent."""

    def __init__(self, task: Task) -> None:
        self.chunk: _Chunk = ()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # Ctrl-C is for the process that started this one, which then ends it.
            process_group=0,
        )
        self.output = cast(BinaryIO, self._process.stdout)
        self._send(sys.path)
        self._send(task)

    def give(self, chunk: _Chunk) -> None:
        self.chunk = chunk
        self._send([file for _, file in chunk])

    def _send(self, what: object) -> None:
        pipe = cast(BinaryIO, self._process.stdin)
        pickle.dump(what, pipe)
        pipe.flush()

    def end(self) -> None:
        self._process.kill()
        # Closes the pipes and waits.
        self._process.communicate()


class _Workers:
    """Several processes, and the files that wait for one."""

    def __init__(self, files: Sequence[FoundFile], task: Task, progress: Progress) -> None:
        numbered = list(enumerate(files))
        self._waiting: collections.deque[_Chunk] = collections.deque(
            numbered[start : start + _CHUNK] for start in range(0, len(files), _CHUNK)
        )
        self._results: dict[int, Examined] = {}
        self._total = len(files)
        self._task = task
        self._progress = progress
        self._selector = selectors.DefaultSelector()
        self._workers: list[_Worker] = []

    def results(self, count: int) -> list[Examined]:
        try:
            for _ in range(count):
                self._start_worker()
            while len(self._results) < self._total:
                for key, _ in self._selector.select():
                    self._receive(key.data)
                self._progress(len(self._results), self._total)
        finally:
            self._selector.close()
            for worker in self._workers:
                worker.end()
        return [self._results[number] for number in range(self._total)]

    def _start_worker(self) -> None:
        worker = _Worker(self._task)
        self._workers.append(worker)
        self._selector.register(worker.output, selectors.EVENT_READ, worker)
        self._give_next(worker)

    def _give_next(self, worker: _Worker) -> None:
        if self._waiting:
            worker.give(self._waiting.popleft())
        else:
            self._selector.unregister(worker.output)

    def _receive(self, worker: _Worker) -> None:
        try:
            found: list[Examined] = pickle.load(worker.output)
        except EOFError:
            self._replace(worker)
            return
        for (number, _), each in zip(worker.chunk, found, strict=True):
            self._results[number] = each
        self._give_next(worker)

    def _replace(self, worker: _Worker) -> None:
        """One file has ended the process, as very deep nesting can: find out which."""
        self._selector.unregister(worker.output)
        if len(worker.chunk) == 1:
            ((number, file),) = worker.chunk
            report = FileReport(file, unread=[(None, "Python breaks down when it parses this")])
            self._results[number] = Examined(report)
        else:
            self._waiting.extendleft([each] for each in reversed(worker.chunk))
        self._start_worker()


def serve() -> None:
    """Be a worker: examine what comes in on stdin until there is no more."""
    tasks, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # Whatever is printed is not a result.
    os.dup2(2, 1)
    try:
        task = pickle.load(tasks)
        while True:
            files = pickle.load(tasks)
            pickle.dump([examine(file, task) for file in files], results)
            results.flush()
    except (EOFError, BrokenPipeError):
        # The other end is gone; exiting would complain that the rest cannot be written.
        os._exit(0)
