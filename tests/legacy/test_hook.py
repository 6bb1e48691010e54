"""Waiting for the first import of a program that concerns old names."""

from __future__ import annotations

import sys

import pytest

from flaxoptim_compat.legacy import hook


def test_waiting_twice_is_waiting_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    hook.start(era=False)
    hook.start(era=True)
    hook.start(era=False)
    (waiting,) = [each for each in sys.meta_path if isinstance(each, hook.Hook)]
    assert waiting.era
