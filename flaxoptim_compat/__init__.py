"""flax.optim on today's jax, flax and optax, and a way out of it.

PYTEST_DONT_REWRITE: ``run`` and ``enable`` load this package before pytest, which would warn of it.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from typing import Any

    from flaxoptim_compat import era as era
    from flaxoptim_compat import optim as optim
    from flaxoptim_compat import parity as parity
    from flaxoptim_compat.bridge.compiled import compiled_steps as compiled_steps
    from flaxoptim_compat.bridge.strictness import strict as strict
    from flaxoptim_compat.deprecation import (
        FlaxOptimDeprecationWarning as FlaxOptimDeprecationWarning,
    )
    from flaxoptim_compat.deprecation import (
        FlaxOptimLeniencyWarning as FlaxOptimLeniencyWarning,
    )
    from flaxoptim_compat.legacy.installing import install as install
    from flaxoptim_compat.legacy.installing import installed as installed
    from flaxoptim_compat.legacy.installing import uninstall as uninstall
    from flaxoptim_compat.optim import *  # noqa: F403
    from flaxoptim_compat.optim.dual_state import DualTrainState as DualTrainState
    from flaxoptim_compat.optim.dual_state import dual as dual
    from flaxoptim_compat.optim.from_optax import from_optax as from_optax
    from flaxoptim_compat.optim.optax_source import optax_source as optax_source
    from flaxoptim_compat.optim.to_nnx import from_nnx as from_nnx
    from flaxoptim_compat.optim.to_nnx import to_nnx as to_nnx
    from flaxoptim_compat.optim.to_optax import to_optax as to_optax

__version__ = "0.1.0"

# {name that flax.optim does not have: its module}. The names of flax.optim are in the catalogue.
_HOMES = {
    "DualTrainState": "optim.dual_state",
    "FlaxOptimDeprecationWarning": "deprecation",
    "FlaxOptimLeniencyWarning": "deprecation",
    "compiled_steps": "bridge.compiled",
    "dual": "optim.dual_state",
    "from_nnx": "optim.to_nnx",
    "from_optax": "optim.from_optax",
    "install": "legacy.installing",
    "installed": "legacy.installing",
    "optax_source": "optim.optax_source",
    "strict": "bridge.strictness",
    "to_nnx": "optim.to_nnx",
    "to_optax": "optim.to_optax",
    "uninstall": "legacy.installing",
}
_ROOMS = ("era", "optim", "parity")


# Importing this package imports no jax: the command line answers at once, and a program may still
# set up jax's environment variables afterwards.
def __getattr__(name: str) -> Any:
    if name == "__all__":
        return _names()
    import importlib

    is_room = name in _ROOMS
    home = name if is_room else _HOMES.get(name) or ("optim" if name in _names() else "")
    if not home:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message, name=name, obj=sys.modules[__name__])
    try:
        module = importlib.import_module(f"flaxoptim_compat.{home}")
        return module if is_room else getattr(module, name)
    except (ImportError, AttributeError) as error:
        from flaxoptim_compat.versions.allowed import refuse_old

        refuse_old(error)
        raise


def _names() -> list[str]:
    from flaxoptim_compat.catalogue import MODULES, PUBLIC

    return [*_HOMES, *_ROOMS, *MODULES, *PUBLIC]


def __dir__() -> list[str]:
    return sorted({*globals(), *_names()})


def load_ipython_extension(shell: Any) -> None:
    """``%load_ext flaxoptim_compat`` in a notebook: ``install(era=True)``."""
    del shell
    __getattr__("install")(era=True)


def unload_ipython_extension(shell: Any) -> None:
    """``%unload_ext flaxoptim_compat``: ``uninstall()``."""
    del shell
    __getattr__("uninstall")()
