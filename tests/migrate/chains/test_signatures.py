"""The signatures by which calls are read are those of the classes."""

from __future__ import annotations

import inspect
from typing import Any

from flaxoptim_compat import optim
from flaxoptim_compat.migrate.chains.signatures import REQUIRED, SIGNATURES


def test_signatures_are_those_of_the_classes() -> None:
    classes = {
        name
        for name, each in vars(optim).items()
        if inspect.isclass(each) and issubclass(each, optim.OptimizerDef)
    }
    assert classes - {"OptimizerDef", "MultiOptimizer"} == set(SIGNATURES)
    for name, known in SIGNATURES.items():
        found = inspect.signature(getattr(optim, name)).parameters
        assert list(found) == list(known), name
        for parameter, default in known.items():
            real: Any = found[parameter].default
            if parameter == "dtype_momentum":
                real = real.dtype.name
            assert real == (inspect.Parameter.empty if default is REQUIRED else default)
