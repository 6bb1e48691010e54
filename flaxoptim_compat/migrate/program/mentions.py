"""Which files can name anything that is gone, told from their bytes alone."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.legacy.names.gone_for_good import GONE

_MODULES = re.compile(rb"\b(?:flax|jax|jaxlib|flaxoptim_compat)\b")
# The words of flax.optim are enough: another file of the program may have imported it.
_WORDS = re.compile(
    rb"\b(?:optim|apply_gradient|compute_gradient|param_states|optimizer_def|OptimizerDef"
    rb"|OptimizerState|MultiOptimizer|ModelParamTraversal|DynamicScale|hyper_params"
    rb"|restore_state)\b|# FOC\d{3}: "
)
_OPTIMIZER = re.compile(rb"optim", re.IGNORECASE)
_TARGET = re.compile(rb"\.\s*(?:target|state\s*\.\s*step)\b")
_CHECKPOINTS = re.compile(rb"\b(?:checkpoints|serialization)\b")
# Entries that only an optimizer has in a checkpoint, and paths through them.
ENTRY = (
    r"""['"](?:[\w/]*/)?(?:target|param_states)(?:/[\w/]*)?['"]"""
    r"""|\[\s*['"]state['"]\s*\]\s*\[\s*['"]step['"]\s*\]"""
)
_ENTRY = re.compile(ENTRY.encode())
# What runs files that no import names.
RUNS_OTHERS = r"\b(?:import_module|__import__|module_from_spec|run_path|run_module)\b"
_RUNS_OTHERS = re.compile(RUNS_OTHERS.encode())


class Mentions(NamedTuple):
    """What a file may have to do with.

    Args:
      optimizers: optimizers of flax.optim.
      checkpoints: saving or reading checkpoints of flax.
      others: running files that no import names.
    """

    optimizers: bool = False
    checkpoints: bool = False
    others: bool = False


def mentions_in(source: bytes) -> Mentions:
    """What a file may have to do with.

    Args:
      source: the content of the file.
    """
    checkpoints = b"flax" in source and bool(_CHECKPOINTS.search(source))
    # The plain words first, because finding these takes no time.
    entries = checkpoints and (b"target" in source or b"state" in source)
    optimizers = (
        bool(_WORDS.search(source))
        or (entries and bool(_ENTRY.search(source)))
        or (bool(_TARGET.search(source)) and bool(_OPTIMIZER.search(source)))
    )
    return Mentions(optimizers, checkpoints, bool(_RUNS_OTHERS.search(source)))


def mentions_old_names(source: bytes, mentions: Mentions) -> bool:
    """Whether a file may use a name or a method that is gone.

    Args:
      source: the content of the file.
      mentions: what it may have to do with.
    """
    if mentions.optimizers or _MODULES.search(source):
        return True
    return b"numpy" in source and bool(_numpy_names().search(source))


def mentions_in_gin(source: bytes) -> bool:
    """Whether a file of gin may name something of flax.optim.

    Args:
      source: the content of the file.
    """
    return bool(_MODULES.search(source)) and b"optim" in source


@functools.cache
def _numpy_names() -> re.Pattern[bytes]:
    gone = (*(each.name for each in ENTRIES), *GONE)
    names = {name.rpartition(".")[2] for name in gone if name.startswith("numpy.")}
    inside = "|".join(sorted(names))
    text = rf"\.\s*(?:{inside})\b|\bfrom\s+numpy\b|\bimport_module\b|\bgetattr\b"
    return re.compile(text.encode())
