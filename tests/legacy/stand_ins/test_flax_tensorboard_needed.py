"""The writer of event files stands in where TensorFlow or TensorBoard is missing."""

from __future__ import annotations

import importlib.util
import sys
import types

import pytest

from flaxoptim_compat.legacy.stand_ins.flax_tensorboard_needed import is_needed


@pytest.mark.parametrize("missing", ["tensorflow", "tensorboard", ""])
def test_it_is_needed_if_something_is_missing(missing, monkeypatch):
    found = types.SimpleNamespace()
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == missing else found
    )
    assert is_needed() == bool(missing)


def test_a_module_made_by_hand_is_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    monkeypatch.setitem(sys.modules, "tensorboard", types.ModuleType("tensorboard"))
    assert not is_needed()
