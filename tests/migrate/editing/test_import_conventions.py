"""Which modules are there once their package is imported."""

from __future__ import annotations

from flaxoptim_compat.migrate.editing.import_plan import _COME_ALONG
from tests.support import processes
from tests.support.places import ROOT

# In a new process, where nothing else has imported them; flax, which imports jax, is the last.
CODE = """
import importlib, sys, types
for package, modules in {}.items():
    there = importlib.import_module(package)
    found = [getattr(there, each) for each in modules]
    assert all(isinstance(each, types.ModuleType) for each in found), package
"""


def test_modules_that_come_with_their_package() -> None:
    assert processes.output_of(["-c", CODE.format(_COME_ALONG)], ROOT) == ""
