"""Waits, at the start of an interpreter, for the modules whose classes are observed.

It runs in every process of an observed command, before any other code, so it imports no jax.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

# The folders that each observed process writes into: where it uses optimizers, and what they do.
USES = "FLAXOPTIM_COMPAT_OBSERVE"
NUMBERS = "FLAXOPTIM_COMPAT_NUMBERS"
# If this is set too, the run is a control, which tells how roundings grow.
NUDGED = "FLAXOPTIM_COMPAT_NUDGED"
# The copy of a folder that each process keeps to, as ``copied_folder.CopiedFolder`` says it.
COPY = "FLAXOPTIM_COMPAT_COPY"


def _record_uses(_: ModuleType) -> None:
    from flaxoptim_compat.observation import uses

    uses.attach(os.environ[USES])


def _record_states(module: ModuleType) -> None:
    from flaxoptim_compat.observation import record
    from flaxoptim_compat.observation.probing import Prober

    record.attach(module, os.environ[NUMBERS], Prober)
    if os.environ.get(NUDGED):
        from flaxoptim_compat.observation import control

        control.attach(module)


# {a variable: (what gets these modules once they are imported, the modules)}
_TOLD = {
    USES: (_record_uses, ("flaxoptim_compat.optim.base",)),
    NUMBERS: (
        _record_states,
        (
            "flaxoptim_compat.optim.base",
            "flaxoptim_compat.optim.optimizer",
            "flax.training.train_state",
            "flax.nnx.training.optimizer",
            "flax.nnx.transforms.compilation",
        ),
    ),
}


def start_from_environment() -> None:
    """Watch for the modules to observe, if the environment says that this process is observed."""
    told: dict[str, list[Callable[[ModuleType], None]]] = {}
    for variable, (tell, modules) in _TOLD.items():
        for module in modules if os.environ.get(variable) else ():
            told.setdefault(module, []).append(tell)
    before = None
    if os.environ.get(COPY):
        from flaxoptim_compat.observation import guard

        before = guard.start(os.environ[COPY])
    if told or before is not None:
        from flaxoptim_compat.observation.record import ImportWatch

        sys.meta_path.insert(0, ImportWatch(told, before))
