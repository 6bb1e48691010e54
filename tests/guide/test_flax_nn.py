"""The program on the page about flax.nn."""

from __future__ import annotations

from tests.support.pages import blocks
from tests.support.places import ROOT


def test_it_runs() -> None:
    (program,) = blocks((ROOT / "migration_guide" / "flax_nn.md").read_text(), "python")
    exec(program, {"__name__": "__main__"})
