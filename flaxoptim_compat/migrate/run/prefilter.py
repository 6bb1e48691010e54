"""Which files can name anything that is gone, told from their bytes alone."""

from __future__ import annotations

import functools
import re

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
# Entries that only an optimizer has in a checkpoint.
_ENTRY = re.compile(
    rb"""\[\s*['"](?:target|param_states|state['"]\s*\]\s*\[\s*['"]step)['"]\s*\]"""
)


def mentions_old_names(source: bytes) -> bool:
    """Whether a file may use a name or a method that is gone.

    Args:
      source: the content of the file.
    """
    if _MODULES.search(source) or mentions_optimizers(source):
        return True
    return b"numpy" in source and bool(_numpy_names().search(source))


def mentions_optimizers(source: bytes) -> bool:
    """Whether a file may have to do with optimizers of flax.optim.

    Args:
      source: the content of the file.
    """
    if _WORDS.search(source) or (_ENTRY.search(source) and mentions_checkpoints(source)):
        return True
    return asks_for_target(source) and bool(_OPTIMIZER.search(source))


def asks_for_target(source: bytes) -> bool:
    """Whether a file asks something for what optimizers have, and others as well.

    Args:
      source: the content of the file.
    """
    return bool(_TARGET.search(source))


def mentions_checkpoints(source: bytes) -> bool:
    """Whether a file may save or read checkpoints of flax.

    Args:
      source: the content of the file.
    """
    return b"flax" in source and bool(_CHECKPOINTS.search(source))


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
