"""The line that shows on a terminal how far a command is."""

from __future__ import annotations

import itertools
import sys

import pytest

from flaxoptim_compat.cli.progress import Progress, steps


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
