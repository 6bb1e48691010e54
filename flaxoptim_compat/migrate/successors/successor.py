"""The successor of a name that is gone: a name of today, or a stand-in of this package."""

from __future__ import annotations

import functools
from typing import NamedTuple

from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN, NN
from flaxoptim_compat.legacy.names.public import ERA, is_public, public

_LINEN = (
    "activation avg_pool celu elu gelu glu initializers leaky_relu log_sigmoid log_softmax max_pool"
    " pooling relu sigmoid silu soft_sign softmax softplus swish tanh"
)
_TREES = "flatten leaves map structure transpose unflatten"

# A function that hides the module of its name: only `from flax.nn.stochastic import` finds that.
_FUNCTION_AND_MODULE = ("flax.nn.stochastic", "flax.deprecated.nn.stochastic")
# {name that is gone: module:attribute of the same object}
PUBLIC: dict[str, str] = {
    # `import jax` is enough for jax.tree.
    **{f"jax.tree_{name}": f"jax:tree.{name}" for name in _TREES.split()},
    "jax.tree_multimap": "jax:tree.map",
    "jax.tree_util.tree_multimap": "jax.tree_util:tree_map",
    "jax.ops.index": "numpy:s_",
    "jax.config.config": "jax:config",
    # The module of Flax had no object `config`, unlike that of jax: the name stands for the module.
    "flax.config.config": "flax:config",
    "jax.experimental.maps.Mesh": "jax.sharding:Mesh",
    "jax.experimental.maps.mesh": "jax.sharding:Mesh",
    "jax.lib.xla_bridge.get_backend": "jax.extend.backend:get_backend",
    "jax.lib.xla_bridge.get_compile_options": "jax.extend.backend:get_compile_options",
    "jax.lib.xla_bridge.host_ids": "jax:process_indices",
    "jax.lib.xla_client.bfloat16": "ml_dtypes:bfloat16",
    "jax.lib.xla_extension.DeviceArray": "jax:Array",
    **{
        f"{module}.{name}": f"flax.linen:{name}"
        for module in ("flax.nn", "flax.deprecated.nn")
        for name in _LINEN.split()
    },
    **dict.fromkeys(_FUNCTION_AND_MODULE, "flaxoptim_compat.nn:stochastic"),
}

# {name that is gone: module:attribute that an import of it by name becomes}
IMPORTED: dict[str, str] = {
    **{f"jax.tree_{name}": f"jax.tree_util:tree_{name}" for name in _TREES.split()},
    "jax.tree_multimap": "jax.tree_util:tree_map",
}

TENSORBOARD = "flax.metrics.tensorboard"
# These modules are gone, but their package has an object of the same name.
OBJECTS_TODAY = frozenset({"flax.config", "jax.config"})
# Names that only unedited programs get: rewritten programs must not import their stand-ins.
ONLY_SERVED = frozenset(
    entry.name
    for entry in ENTRIES
    if entry.name not in PUBLIC.keys() | OBJECTS_TODAY and not is_public(entry.served_by)
)
# numpy 2 has this name again for another type, which a program of today may mean.
BACK = frozenset({"numpy.long"})
_ALL = {entry.name: entry for entry in ENTRIES}
_TABLE = {name: entry for name, entry in _ALL.items() if name not in OBJECTS_TODAY | BACK}
# The module that serves flax.nn, for rewritten programs too.
SERVED_NN = "flaxoptim_compat.nn"


class Successor(NamedTuple):
    """The name, or the advice, that takes the place of a name that is gone.

    Args:
      old: the full name that is gone; for a name in a module that is gone, that name.
      today: ``module:attribute``, or a module; "" if there is no such name.
      gone_since: the first release without the name.
      instead: the advice for people.
      imported: ``today`` for an import by name.
    """

    old: str
    today: str
    gone_since: str
    instead: str
    imported: str = ""

    @property
    def is_stand_in(self) -> bool:
        """True if the name of today is one of this package, which stands in for the old one."""
        return self.today.startswith((ERA, SERVED_NN))

    @property
    def dotted(self) -> str:
        """``today`` as it is written in a program that has imported all modules."""
        return self.today.replace(":", ".").removeprefix("builtins.")

    @property
    def what(self) -> str:
        """The old name in a sentence, with the release since which it is gone."""
        if self.old.startswith(TENSORBOARD):
            return f"{self.old}, which needs TensorFlow"
        return f"{self.old}, gone since {self.gone_since}" if self.gone_since else self.old


@functools.cache
def successor(name: str) -> Successor | None:
    """The successor of a full name, or of the longest beginning of it that is gone.

    Args:
      name: such as ``jax.tree_map`` or ``jax.api.jit.lower``.

    Returns:
      None if no part of the name is gone.
    """
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        known = _known(".".join(parts[:length]), parts[length : length + 1])
        if known is not None:
            return known
    return None


def name_of_today(name: str | None) -> str:
    """The name of today for a full name, which stays if it is not gone; "" for None.

    Args:
      name: such as ``jax.partial``.
    """
    known = successor(name) if name else None
    return known.dotted if known is not None else name or ""


def _known(name: str, inside: list[str]) -> Successor | None:
    entry = _TABLE.get(name)
    since = _gone_since(name)
    if name in GONE:
        return Successor(name, "", since, GONE[name])
    if name in ONLY_SERVED and entry is not None:
        return Successor(name, "", since, entry.replacement)
    if name in PUBLIC and not (inside and name in _FUNCTION_AND_MODULE):
        today = PUBLIC[name]
        shown = today.replace(":", ".")
        return Successor(name, today, since, shown, IMPORTED.get(name, today))
    if entry is None:
        return None
    if not entry.is_module or not inside:
        today = public(entry.served_by)
        return Successor(name, _reached(today), since, entry.replacement, today)
    return _inside(entry, inside[0])


def _inside(entry: LegacyName, attribute: str) -> Successor:
    """The successor of a name in a module that is gone."""
    name = f"{entry.name}.{attribute}"
    if entry.name.startswith(NN) and attribute in LINEN_INSTEAD_OF_NN:
        today = f"{entry.served_by}:{attribute}"
        advice = LINEN_INSTEAD_OF_NN[attribute].removesuffix(".")
        return Successor(name, today, entry.gone_since, advice, today)
    # The name may be gone from the serving module as well.
    deeper = successor(f"{entry.served_by}.{attribute}")
    if deeper is not None:
        return deeper._replace(old=name, gone_since=entry.gone_since)
    today = public(f"{entry.served_by}:{attribute}")
    served_itself = entry.replacement == entry.served_by
    instead = today.replace(":", ".") if served_itself else entry.replacement
    return Successor(name, _reached(today), entry.gone_since, instead, today)


def _reached(today: str) -> str:
    """A name in a module of numpy, reached from numpy itself, as ``numpy:exceptions.AxisError``."""
    module, colon, attribute = today.partition(":")
    if not colon or not module.startswith("numpy."):
        return today
    return f"numpy:{module.removeprefix('numpy.')}.{attribute}"


def _gone_since(name: str) -> str:
    """The release without a name, or without the module that had it."""
    while name:
        if name in _ALL:
            return _ALL[name].gone_since
        name = name.rpartition(".")[0]
    return ""
