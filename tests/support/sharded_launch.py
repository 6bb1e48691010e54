"""Starts the processes of one training run."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.support import compiling
from tests.support.places import ROOT
from tests.support.processes import output_of


def free_address() -> str:
    """An address of this machine that nobody uses, though somebody may be about to."""
    with socket.socket() as taken:
        taken.bind(("", 0))
        return f"127.0.0.1:{taken.getsockname()[1]}"


def run_together(program: Path, arguments: Sequence[str], folder: Path) -> str:
    """What the first process writes, of two that run a program on four devices each.

    Args:
      program: a Python file.
      arguments: of the program, where ``{address}`` stands for the address of the first process,
        and ``{number}`` for the number of each.
      folder: where the processes run.
    """
    address = free_address()
    variables = {**compiling.variables(devices=4), "PYTHONPATH": str(ROOT)}

    def process(number: int) -> str:
        given = [each.format(address=address, number=number) for each in arguments]
        return output_of([str(program), *given], folder, variables)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(process, number) for number in range(2)]
        # The first that fails says why; the other one may wait for it in vain.
        for each in as_completed(both):
            each.result()
    return both[0].result()
