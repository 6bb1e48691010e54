"""``flaxoptim-compat scan --statistics``, which is text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.scanned_folders import MAP, Scan, scanning_in


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scan:
    return scanning_in(tmp_path, capsys, monkeypatch)


def test_statistics(scan: Scan) -> None:
    status, lines = scan("--statistics", a=MAP, b=MAP * 2 + "jax.tree_leaves(x)\n", c="1")
    assert status == 1
    assert lines[:4] == [
        "4  FOC151 removed-jax-names (--to shim: 4, --to optax: 4)",
        "",
        "b.py: 3 findings (3 FOC151)",
        "a.py: 1 finding (1 FOC151)",
    ]


def test_statistics_are_text(scan: Scan, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        scan("--statistics", "--format", "json")
    assert caught.value.code == 2
    assert "--statistics is text" in capsys.readouterr().err
