"""The line that shows on a terminal how far a command is."""

from __future__ import annotations

import itertools
import re
import sys
import time

import pytest

from flaxoptim_compat.cli.progress import FileProgress, Progress, steps


def test_what_is_soon_done_needs_no_progress_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = itertools.count(10.0, 0.4)
    monkeypatch.setattr("time.monotonic", lambda: next(clock))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with Progress(steps, delay=1.0) as progress:
        progress(1, 10)
        progress(2, 10)
        assert capsys.readouterr().err == ""
        progress(4, 10)
    assert capsys.readouterr().err == (
        "\r\033[K[############..................] step 4 of 10, 2 s left\r\033[K"
    )


def test_what_is_read_for_long_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with FileProgress(delay=0.0) as progress:
        progress(1, 4, "lib/a.py")
        shown = ""
        while "a.py" not in shown:
            shown += capsys.readouterr().err
            time.sleep(0.02)
        progress(2, 4, f"{'folder/' * 20}b.py and 3 with it")
        while "b.py" not in shown:
            shown += capsys.readouterr().err
            time.sleep(0.02)
    shown += capsys.readouterr().err
    lines = shown.split("\r\033[K")
    assert lines[1] == "[########......................] 1 of 4 files, lib/a.py"
    assert re.fullmatch(r"\[#{15}\.{15}\] 2 of 4 files, \.\.\..*/b\.py and 3 with it", lines[-2])
    # A line that goes on in a second one could not be taken back.
    assert all(len(line) < 80 for line in lines)
    assert lines[-1] == ""


def test_there_is_no_line_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with FileProgress(delay=0.0) as progress:
        progress(1, 4, "lib/a.py")
        time.sleep(0.3)
    assert capsys.readouterr().err == ""
