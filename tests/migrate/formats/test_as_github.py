"""``flaxoptim-compat scan --format github``: annotations of GitHub."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scanned_folders import MAP, Scan, scanning_in


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scan:
    return scanning_in(tmp_path, capsys, monkeypatch)


def test_annotations_of_github(scan: Scan) -> None:
    status, lines = scan("--format", "github", **{"a,b:c%d": MAP, "z": "flax(\n"})
    assert status == 2
    assert lines[:2] == [
        "::warning file=a%2Cb%3Ac%25d.py,line=2,endLine=2,col=1,endColumn=13,title=FOC151"
        "::jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "::error file=z.py,title=not read::line 1: '(' was never closed",
    ]
