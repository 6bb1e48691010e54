"""What has a program served from its start: the file of ``enable``, the hook, and variables."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.legacy import environment, hook, launching


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


def test_waiting_twice_is_waiting_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    hook.start(era=False)
    hook.start(era=True)
    hook.start(era=False)
    (waiting,) = [each for each in sys.meta_path if isinstance(each, hook.Hook)]
    assert waiting.era


def test_the_environment_of_the_program() -> None:
    given = {"PYTHONPATH": "/a", "OTHER": "1", hook.REPORT: "1:stale"}
    extended = launching.child_environment(given, ["my train.py"], era=False, names=3)
    assert extended["OTHER"] == "1"
    assert extended["PYTHONPATH"].split(os.pathsep)[:2] == [str(launching.STARTUP), "/a"]
    assert extended[hook.SERVE] == "optim"
    assert extended[hook.REPORT] == f"{os.getpid()}:3:my train.py"
    assert given == {"PYTHONPATH": "/a", "OTHER": "1", hook.REPORT: "1:stale"}
    quiet = launching.child_environment(given, ["-m", "x"], era=True, names=0)
    assert hook.REPORT not in quiet and quiet[hook.SERVE] == "era"
