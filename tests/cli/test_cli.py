"""``flaxoptim-compat`` by itself."""

from __future__ import annotations

import pytest

from flaxoptim_compat.cli import main


def test_without_a_subcommand_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out
