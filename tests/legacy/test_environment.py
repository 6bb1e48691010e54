"""The file that has all programs of an environment served: versions, and other people's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flaxoptim_compat.legacy import environment


def test_old_versions_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "versions", lambda: {"jax": "0.4.13", "flax": None})
    found = " ".join(environment.conflicts(served=None))
    assert "jax 0.4.13 is older than 0.4.30, the oldest that is supported." in found
    assert "flax is not installed." in found


def test_programs_are_not_served_what_would_stop_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(environment, "hook_file", lambda: tmp_path / "x.pth")
    monkeypatch.setattr(environment, "versions", lambda: {"jax": "0.4.13", "flax": None})
    with pytest.raises(
        RuntimeError, match=r"^jax 0\.4\.13 is older than 0\.4\.30, .*/versions\.md\.$"
    ):
        environment.enable(era=True)
    assert not list(tmp_path.iterdir())


def test_a_foreign_file_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "hook_file", lambda: tmp_path / "x.pth")
    (tmp_path / "x.pth").write_text("mine")
    for action in (lambda: environment.enable(era=True), environment.disable):
        with pytest.raises(RuntimeError, match="does not come from flaxoptim-compat and stays"):
            action()
    assert (tmp_path / "x.pth").read_text() == "mine"
    assert [each.name for each in tmp_path.iterdir()] == ["x.pth"]


def test_a_failed_write_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "hook_file", lambda: tmp_path / "x.pth")
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        environment.enable(era=True)
    assert not list(tmp_path.iterdir())
