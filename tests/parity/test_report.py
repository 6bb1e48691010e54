"""A comparison in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from flaxoptim_compat.parity import ParityError
from flaxoptim_compat.parity.report import check
from tests.support import parity_reports
from tests.support.parity_reports import report, track


@pytest.mark.parametrize(
    ("suffix", "start"),
    [
        (".html", b"<!DOCTYPE html>\n"),
        (".json", b'{"format": "flaxoptim_compat.parity/1"'),
        (".txt", b"The two runs PART at step 6 of 20, in dense/kernel."),
        (".png", b"\x89PNG\r\n\x1a\n"),
        (".svg", b'<?xml version="1.0"'),
    ],
)
def test_the_suffix_says_the_form(suffix: str, start: bytes, tmp_path: Path) -> None:
    path = tmp_path / f"report{suffix}"
    check(path)
    parity_reports.small().save(path)
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["report", "report.pdf", ".html", "report.HTML"])
def test_another_suffix(name: str, tmp_path: Path) -> None:
    known = r"\.html, \.json, \.txt, \.png, \.svg"
    for attempt in (check, parity_reports.small().save):
        with pytest.raises(ParityError, match=f"ends with its form, one of {known}"):
            attempt(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(ParityError, match=r"There is no directory .*nowhere\. Make it first\."):
        check(tmp_path / "nowhere" / "report.html")
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(ParityError, match=r"folder\.html is a directory\. Name a file\."):
        check(tmp_path / "folder.html")


def test_a_name_with_half_a_character(tmp_path: Path) -> None:
    # As Python reads the name of a file that is not in UTF-8.
    found = report(track("w\udce9", 1e-3))
    for suffix in (".html", ".json", ".txt"):
        found.save(tmp_path / f"report{suffix}")
        assert "udce9" in (tmp_path / f"report{suffix}").read_bytes().decode()
