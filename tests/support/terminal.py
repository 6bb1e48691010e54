"""What the command shows where somebody sits before a terminal. Windows has none of these."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.places import ROOT


def on_a_terminal(
    arguments: Sequence[str], cwd: Path, stream: str, env: Mapping[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run ``flaxoptim-compat``, with a terminal as ``stdout`` or ``stderr``.

    Returns:
      The exit status, what the terminal was sent, and what went to the other stream.
    """
    ours, theirs = pty.openpty()
    with tempfile.TemporaryFile() as other, open(ours, "rb", buffering=0) as terminal:
        process = subprocess.Popen(
            [sys.executable, "-m", "flaxoptim_compat", *arguments],
            cwd=cwd,
            env={**os.environ, "PYTHONPATH": str(ROOT), **(env or {})},
            **{"stdout": other, "stderr": other, stream: theirs},
        )
        os.close(theirs)
        shown = b""
        # Linux calls it an error to read from a terminal that nobody writes to any more.
        with contextlib.suppress(OSError):
            while part := terminal.read(65536):
                shown += part
        status = process.wait()
        other.seek(0)
        return status, shown, other.read()
