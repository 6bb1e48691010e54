"""flax.optim on today's jax, flax and optax, and a way out of it.

PYTEST_DONT_REWRITE: ``run`` and ``enable`` load this package before pytest, which would warn of it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat import optim, parity
    from flaxoptim_compat.bridge.compiled import compiled_steps
    from flaxoptim_compat.deprecation import FlaxOptimDeprecationWarning
    from flaxoptim_compat.legacy.installing import install, installed, uninstall
    from flaxoptim_compat.optim import (
        LAMB,
        LARS,
        AdaBelief,
        Adadelta,
        Adafactor,
        Adagrad,
        Adam,
        DynamicScale,
        GradientDescent,
        ModelParamTraversal,
        Momentum,
        MultiOptimizer,
        Optimizer,
        OptimizerDef,
        OptimizerState,
        RMSProp,
        WeightNorm,
        adabelief,
        adadelta,
        adafactor,
        adagrad,
        adam,
        base,
        dynamic_scale,
        lamb,
        lars,
        momentum,
        rmsprop,
        sgd,
        weight_norm,
    )
    from flaxoptim_compat.optim.from_optax import from_optax
    from flaxoptim_compat.optim.optax_source import optax_source
    from flaxoptim_compat.optim.to_optax import to_optax

__version__ = "0.1.0"

__all__ = [
    "LAMB",
    "LARS",
    "AdaBelief",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "DynamicScale",
    "FlaxOptimDeprecationWarning",
    "GradientDescent",
    "ModelParamTraversal",
    "Momentum",
    "MultiOptimizer",
    "Optimizer",
    "OptimizerDef",
    "OptimizerState",
    "RMSProp",
    "WeightNorm",
    "adabelief",
    "adadelta",
    "adafactor",
    "adagrad",
    "adam",
    "base",
    "compiled_steps",
    "dynamic_scale",
    "from_optax",
    "install",
    "installed",
    "lamb",
    "lars",
    "momentum",
    "optax_source",
    "optim",
    "parity",
    "rmsprop",
    "sgd",
    "to_optax",
    "uninstall",
    "weight_norm",
]

# The names that are not those of flax.optim, and the modules that they are in.
_HOMES = {
    "FlaxOptimDeprecationWarning": "deprecation",
    "compiled_steps": "bridge.compiled",
    "from_optax": "optim.from_optax",
    "install": "legacy.installing",
    "installed": "legacy.installing",
    "optax_source": "optim.optax_source",
    "to_optax": "optim.to_optax",
    "uninstall": "legacy.installing",
}


# Importing this package imports no jax: the command line answers at once, and a program may still
# set up jax's environment variables afterwards.
def __getattr__(name: str) -> Any:
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    import importlib

    if name in ("optim", "parity"):
        return importlib.import_module(f"flaxoptim_compat.{name}")
    home = _HOMES.get(name, "optim")
    return getattr(importlib.import_module(f"flaxoptim_compat.{home}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext flaxoptim_compat`` in a notebook: ``install(era=True)``."""
    del shell
    __getattr__("install")(era=True)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext flaxoptim_compat``: ``uninstall()``."""
    del shell
    __getattr__("uninstall")()
