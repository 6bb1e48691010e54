"""A patch on a terminal is in colours."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT
from tests.support.rewriting_folders import OLD


def test_colours_on_a_terminal(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    (tmp_path / "a.py").write_text(OLD + f"# {'long ' * 60}\n")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "flaxoptim_compat", "rewrite", "a.py", "--to", "shim"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm", "COLUMNS": "80"},
        stdout=theirs,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait() == 1
    text = shown.decode().replace("\r\n", "\n")
    assert "\033[31m-from flax import optim\033[0m\n" in text
    assert "\033[32m+from flaxoptim_compat import optim\033[0m\n" in text
