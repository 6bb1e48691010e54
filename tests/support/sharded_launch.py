"""Starts the processes of one training run, and sees to it that they end.

As a program it is one of these processes: it runs the file of its first argument with the others,
and ends when whoever started it does.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support import compiling
from tests.support.places import ROOT

ADDRESS_TAKEN = "Failed to add port to server"


def free_address() -> str:
    """An address of this machine that nobody uses, though somebody may be about to."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def run_together(program: Path, arguments: Sequence[str], folder: Path, seconds: float) -> str:
    """What the first process writes, of two that run a program on four devices each.

    Args:
      program: a Python file.
      arguments: of the program, where ``{address}`` stands for the address of the first process,
        and ``{number}`` for the number of each.
      folder: where the processes run.
      seconds: how long they may take.

    Raises:
      AssertionError: one of them fails or takes too long; the message has what it wrote.
    """
    # Between looking for a free port and using it, another program may take it.
    for _ in range(3):
        address = free_address()
        outputs = [folder / f"process-{number}.txt" for number in range(2)]
        given = [
            [each.format(address=address, number=number) for each in arguments]
            for number in range(2)
        ]
        failed = _wait_for(program, given, outputs, seconds)
        texts = [output.read_text() for output in outputs]
        if not failed:
            return texts[0]
        if not any(ADDRESS_TAKEN in text for text in texts):
            break
    raise AssertionError("\n".join([failed, *texts]))


def _wait_for(
    program: Path, given: Sequence[Sequence[str]], outputs: Sequence[Path], seconds: float
) -> str:
    """Run the processes to the end of the last or the failure of the first; say what failed."""
    deadline = time.monotonic() + seconds
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(_process(program, arguments, output))
            for arguments, output in zip(given, outputs, strict=True)
        ]
        while time.monotonic() < deadline:
            codes = [process.poll() for process in processes]
            if any(codes):
                return f"The processes ended with {codes}."
            if None not in codes:
                return ""
            time.sleep(0.05)
    return f"The processes took more than {seconds} seconds."


@contextlib.contextmanager
def _process(
    program: Path, arguments: Sequence[str], output: Path
) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        **compiling.variables(devices=4),
        "PYTHONPATH": str(ROOT),
    }
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.sharded_launch", str(program), *arguments],
            cwd=output.parent,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        # All of its group: not even what the process itself may have started stays behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None
        process.stdin.close()


def _end_with_whoever_started_it() -> None:
    # Not sys.stdin: a thread that waits in it would be in the way of the interpreter's end.
    os.read(0, 1)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_whoever_started_it, daemon=True).start()
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
