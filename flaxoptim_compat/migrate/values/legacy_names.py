"""Names of flax.optim by what they are."""

from __future__ import annotations

import functools
import re

from flaxoptim_compat.migrate.names.surface import OPTIMIZERS

_MODULE = "flax.optim"
# So far a program may have come, with flaxoptim_compat in place of flax.
_TODAY = ("flaxoptim_compat.optim", "flaxoptim_compat")

DEFINITIONS = OPTIMIZERS | {"MultiOptimizer"}
# A class that is looked up by a name which is not known before the program runs.
COMPUTED = "flax.optim.<computed>"
BASE = "OptimizerDef"

# Methods and fields that only optimizers have.
TELLING = frozenset({"apply_gradient", "optimizer_def"})
# Fields that others have too: what the variable is called decides.
_AMBIGUOUS = frozenset({"target", "state"})
_CALLED_OPTIMIZER = re.compile(r"(^|_)(opt|optimizer)$")


def legacy_name(name: str) -> str | None:
    """The name in flax.optim, without its modules, such as ``Adam``; None for other names."""
    for module in (_MODULE, *_TODAY):
        if name.startswith(f"{module}."):
            return name.rpartition(".")[2]
    return None


def is_definition(name: str) -> bool:
    """Whether a full name is that of a class of definitions."""
    return legacy_name(name) in DEFINITIONS


def is_base(name: str) -> bool:
    """Whether a class with this base is a class of definitions."""
    return is_definition(name) or legacy_name(name) == BASE


def is_base_itself(name: str) -> bool:
    """Whether a full name is that of the class all definitions are derived from."""
    return legacy_name(name) == BASE


def is_optimizer(name: str) -> bool:
    """Whether a full name is that of the class of optimizers."""
    return legacy_name(name) == "Optimizer"


def is_traversal(name: str) -> bool:
    """Whether a full name is that of a traversal that selects parameters by their paths."""
    return name.rpartition(".")[2] == "ModelParamTraversal" and (
        legacy_name(name) is not None or name.startswith("flax.traverse_util.")
    )


def is_package(name: str) -> bool:
    """Whether a full name is that of flax.optim itself."""
    return name in (_MODULE, _TODAY[0])


@functools.cache
def makes_legacy(name: str) -> bool:
    """Whether calling what a full name means makes something of flax.optim."""
    return is_definition(name) or is_traversal(name) or name == COMPUTED


@functools.cache
def leads_to_flax_optim(name: str) -> bool:
    """Whether a full name is that of flax.optim, of something in it, or of what it is in."""
    return (
        name in ("flax", "flaxoptim_compat", "flax.traverse_util")
        or is_package(name)
        or legacy_name(name) is not None
        or is_traversal(name)
    )


def hints_at_optimizer(attribute: str, owner: str) -> bool:
    """Whether something is used as only optimizers are.

    Args:
      attribute: what it is asked for.
      owner: what it is called.
    """
    if attribute in TELLING:
        return True
    return attribute in _AMBIGUOUS and _CALLED_OPTIMIZER.search(owner) is not None
