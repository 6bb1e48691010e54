"""Which modules are there once their package is imported."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.editing.import_plan import _COME_ALONG
from tests.support import processes
from tests.support.places import ROOT


@pytest.mark.parametrize("package", _COME_ALONG)
def test_modules_that_come_with_their_package(package: str) -> None:
    """In a new process, where nothing else has imported them."""
    modules = [f"{package}.{each}" for each in _COME_ALONG[package]]
    code = f"import {package}, types\nassert all(isinstance(m, types.ModuleType) for m in ["
    assert processes.output_of(["-c", f"{code}{', '.join(modules)}])"], ROOT) == ""
