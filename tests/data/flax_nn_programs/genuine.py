"""Run a program with the genuine flax.nn 0.3.4, flax.optim 0.5.3 and the names of their time.

It is the other side of a comparison, so it takes nothing from flaxoptim_compat.
"""

from __future__ import annotations

import sys
from types import ModuleType

import flax

from tests.data.legacy_programs import genuine as of_optim
from tests.support.oracle.genuine_nn import genuine_nn


def install_flax_nn() -> None:
    """Put it under both of its names."""
    nn = genuine_nn()
    deprecated = ModuleType("flax.deprecated")
    deprecated.nn = flax.nn = nn  # type: ignore[attr-defined]
    flax.deprecated = sys.modules["flax.deprecated"] = deprecated  # type: ignore[attr-defined]
    for name, module in list(sys.modules.items()):
        if name == nn.__name__ or name.startswith(f"{nn.__name__}."):
            for package in ("flax.nn", "flax.deprecated.nn"):
                sys.modules[package + name.removeprefix(nn.__name__)] = module


if __name__ == "__main__":
    install_flax_nn()
    of_optim.main(sys.argv[1:])
