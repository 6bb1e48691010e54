"""``flaxoptim-compat scan --format github``: annotations of GitHub."""

from __future__ import annotations

from tests.support.scanned_folders import HELD, MAP, Scan


def test_annotations_of_github(scan: Scan) -> None:
    status, lines = scan("--format", "github", **{"a,b:c%d": MAP, "z": "flax(\n"})
    assert status == 2
    assert lines[:2] == [
        "::warning file=a%2Cb%3Ac%25d.py,line=2,endLine=2,col=1,endColumn=13,title=FOC151"
        "::jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "::error file=z.py,title=not read::line 1: '(' was never closed",
    ]


def test_what_holds_optimizers(scan: Scan) -> None:
    _, lines = scan("--format", "github", a=HELD)
    assert lines[-4:] == [
        "::notice file=a.py,line=7,endLine=7,col=18,endColumn=27,title=holds optimizers back"
        "::1 optimizer, made in a.py:6: `get_target(optimizer)` may give an optimizer to a function"
        " whose code is not seen. Run with --verify to find out.",
        "5 findings in 1 of 1 file.",
        "1 file parsed, 0 without names that are gone, 0 not read, 0 names not understood.",
        "0 of 1 optimizer becomes a TrainState, 1 stays.",
    ]
