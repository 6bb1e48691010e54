"""``flaxoptim-compat scan --statistics``: how many findings there are, and where."""

from __future__ import annotations

import pytest

from tests.support.scanned_folders import MAP, Scan


def test_statistics(scan: Scan) -> None:
    status, lines = scan(
        "--statistics", a=MAP, b=MAP * 2 + "jax.tree_leaves(x)\nx.jax.core.Primitive\n", c="1"
    )
    assert status == 1
    assert lines == [
        "found  code    name               --to shim  --to optax",
        "    4  FOC151  removed-jax-names          4           4",
        "",
        "b.py: 3 findings (3 FOC151)",
        "a.py: 1 finding (1 FOC151)",
        "4 findings in 2 of 3 files.",
        "2 files parsed, 1 without names that are gone, 0 not read, 0 names not understood.",
    ]
    assert scan("--statistics", "--select", "FOC2")[1][0] == "0 findings in 0 of 3 files."


def test_statistics_are_text(scan: Scan, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        scan("--statistics", "--format", "json")
    assert caught.value.code == 2
    assert "--statistics prints text" in capsys.readouterr().err
