"""The names of flax.optim: each that there was is served."""

from __future__ import annotations

import importlib

import pytest

from flaxoptim_compat.migrate.names.surface import served
from tests.migrate.names.legacy_surface import full_names


def test_every_served_name_is_there(every_name: list[str]) -> None:
    for name in every_name:
        new = served(name)
        assert new is not None
        module, _, attribute = new.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


@pytest.fixture
def every_name() -> list[str]:
    return full_names()
