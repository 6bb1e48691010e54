"""The bar that shows on a terminal how far a command is."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest

from flaxoptim_compat.cli import progress as bars
from flaxoptim_compat.cli.progress import Progress

# Rich moves to the beginning of the line, and deletes it.
GONE = "\r\x1b[2K"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bars, "_DELAY", 0.0)


def pretend_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stderr, as it is captured for this very test, be a terminal."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")


def shown_until(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What stderr was sent, up to this."""
    shown = ""
    end = time.monotonic() + 20
    while text not in shown and time.monotonic() < end:
        shown += capsys.readouterr().err
        time.sleep(0.02)
    assert text in shown
    return shown


def test_there_is_no_bar_where_nobody_looks_nor_of_what_is_soon_done(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Progress("files") as progress:
        progress(1, 4, "lib/a.py")
        time.sleep(0.3)
    pretend_a_terminal(monkeypatch)
    monkeypatch.setattr(bars, "_DELAY", 100.0)
    with Progress("steps") as progress:
        progress(1, 10)
        progress(9, 10)
    assert capsys.readouterr().err == ""


def test_what_is_read_for_long_is_shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_a_terminal(monkeypatch)
    with Progress("files") as progress:
        progress(1, 4, "lib/a.py")
        # It is told nothing more, and begins by itself.
        assert "1/4" in shown_until("files lib/a.py", capsys)
        progress(2, 4, f"{'folder/' * 20}[bold]/b.py")
        # In one line: more than one could not be taken back.
        shown = shown_until("/folder/[bold]/b.py", capsys)
        assert "2/4" in shown and " files …" in shown and "\n" not in shown
    assert GONE in capsys.readouterr().err


@pytest.mark.parametrize(
    ("unit", "done", "total", "shown"),
    [("bytes", 10**6, 264 * 10**6, "1.0/264.0 MB"), ("steps", 30, 200, "30/200")],
)
def test_units(
    unit: Any,
    done: int,
    total: int,
    shown: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretend_a_terminal(monkeypatch)
    with Progress(unit) as progress:
        progress(done, total)
        shown_until(shown, capsys)


def test_an_error_takes_the_bar_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend_a_terminal(monkeypatch)

    def interrupted() -> None:
        with Progress("files") as progress:
            progress(1, 4)
            shown_until("1/4", capsys)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert GONE in capsys.readouterr().err
