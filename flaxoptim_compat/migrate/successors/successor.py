"""Which name of today, or which stand-in of this package, takes the place of one that is gone."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.legacy.names.linen_instead_of_nn import LINEN_INSTEAD_OF_NN
from flaxoptim_compat.legacy.names.public import ERA, public

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
    "jax.experimental.maps.Mesh": "jax.sharding:Mesh",
    "jax.experimental.maps.mesh": "jax.sharding:Mesh",
    "jax.lib.xla_bridge.get_backend": "jax.extend.backend:get_backend",
    "jax.lib.xla_bridge.get_compile_options": "jax.extend.backend:get_compile_options",
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

# Where the old name is in jax 0.7 to 0.9, and only the new one from 0.10 on: neither is right in
# all versions that this package supports.
NOT_EVERYWHERE: frozenset[str] = frozenset(
    f"jax.core.{name}" for name in ("AbstractToken", "mapped_aval", "subjaxprs", "unmapped_aval")
)

_MACHINERY = "it belonged to the machinery of jax, which is made differently in every release"
_XMAP = "use jax.shard_map, or jax.jit with jax.sharding.NamedSharding"
_KEYS = "use jax.random.key or jax.random.PRNGKey, with impl= for another generator"
_CALLBACK = "use jax.experimental.io_callback or jax.debug.callback"
_NAMED_SHARDING = "use jax.sharding.NamedSharding"
_FROM_TREE_UTIL = "import it from jax.tree_util"
_PADDING = "pad the arrays, and pass their lengths along"
_OMNISTAGING = "there is no jax without omnistaging any more"
_INTERNAL = "it was of use to numpy itself only"
_ERRORS = "use numpy.errstate"
_TENSORFLOW = (
    "install tensorflow and tensorboard, or use tensorboardX.SummaryWriter, whose methods have"
    " other names"
)
_TEXT = "use numpy.genfromtxt with dtype=None"


def _of(module: str, names: str, advice: str) -> Iterator[tuple[str, str]]:
    for name in names.split():
        yield f"{module}.{name}", advice


# {name that is gone, or cannot be imported as it is: what to do about it}
GONE: dict[str, str] = dict(
    [
        *_of("jax", "curry", "use functools.partial"),
        *_of("jax", "mask", _PADDING),
        *_of("jax.interpreters", "masking", _PADDING),
        *_of("jax", "shapecheck", "use jax.eval_shape"),
        *_of("jax", "enable_custom_vjp_by_custom_transpose", _MACHINERY),
        *_of("jax", "spmd_mode", _NAMED_SHARDING),
        *_of("jax.config", "disable_omnistaging", _OMNISTAGING),
        *_of("jax.config.config", "disable_omnistaging", _OMNISTAGING),
        *_of("jax.abstract_arrays", "array_types", _MACHINERY),
        *_of("jax.dlpack", "SUPPORTED_DTYPES", "try numpy.from_dlpack or jax.dlpack.from_dlpack"),
        *_of("jax.prng", "PRNGImpl", _KEYS),
        *_of("jax.random", "default_prng_impl rbg_key unsafe_rbg_key", _KEYS),
        *_of("jax.sharding", "GSPMDSharding PmapSharding PositionalSharding", _NAMED_SHARDING),
        *_of("jax.tree_util", "AttributeKeyPathEntry", "use jax.tree_util.GetAttrKey"),
        *_of("jax.tree_util", "GetitemKeyPathEntry", "use jax.tree_util.DictKey or SequenceKey"),
        *_of("jax.tree_util", "register_keypaths", "use jax.tree_util.register_pytree_with_keys"),
        *_of("jax.tree_util", "build_tree", "use jax.tree.unflatten"),
        *_of(
            "jax.example_libraries.optimizers", "register_pytree_node tree_flatten", _FROM_TREE_UTIL
        ),
        *_of("jax.example_libraries.optimizers", "tree_map tree_unflatten", _FROM_TREE_UTIL),
        *_of("jax.experimental.multihost_utils", "tree_map", _FROM_TREE_UTIL),
        *_of("jax.experimental.multihost_utils", "pjit", "import it from jax.experimental.pjit"),
        *_of("jax.experimental.maps", "xmap xmap_p serial_loop SerialLoop EMPTY_ENV", _XMAP),
        *_of("jax.experimental.maps", "make_xmap_callable", _XMAP),
        *_of("jax.experimental.pjit", "AUTO", "use jax.sharding.AxisType.Auto"),
        *_of("jax.experimental.pjit", "ParsedPartitionSpec hashable_pytree pjit_p", _MACHINERY),
        *_of("jax.experimental.pjit", "get_array_mapping parse_flatten_op_sharding", _MACHINERY),
        *_of(
            "jax.experimental.host_callback",
            "CallbackException FLAGS TapFunctionException XlaBuilder XlaDevice XlaLocalClient XlaOp"
            " XlaShape config id_p id_tap_dep_p outside_call_p stop_outfeed_receiver",
            _CALLBACK,
        ),
        *_of("jax.lax", "infeed infeed_p outfeed outfeed_p", _CALLBACK),
        *_of("jax.lax", "pdot", "use jax.lax.psum of jax.lax.dot_general"),
        *_of("jax.lax", "xeinsum", "use jax.numpy.einsum and jax.lax.psum"),
        *_of(
            "jax.lax",
            "naryop naryop_dtype_rule random_gamma_grad_p scan_bind standard_primitive"
            " standard_abstract_eval unop unop_dtype_rule",
            _MACHINERY,
        ),
        *_of("jax.util", "HashableFunction as_hashable_function cache toposort", "write your own"),
        *_of(
            "numpy",
            "ALLOW_THREADS BUFSIZE CLIP ERR_CALL ERR_DEFAULT ERR_IGNORE ERR_LOG ERR_PRINT ERR_RAISE"
            " ERR_WARN FLOATING_POINT_SUPPORT MAY_SHARE_BOUNDS MAY_SHARE_EXACT RAISE"
            " SHIFT_DIVIDEBYZERO SHIFT_INVALID SHIFT_OVERFLOW SHIFT_UNDERFLOW UFUNC_BUFSIZE_DEFAULT"
            " UFUNC_PYVALS_NAME WRAP add_newdoc_ufunc get_array_wrap kernel_version numarray"
            " oldnumeric",
            _INTERNAL,
        ),
        *_of("numpy", "FPE_DIVIDEBYZERO FPE_INVALID FPE_OVERFLOW FPE_UNDERFLOW", _ERRORS),
        *_of("numpy", "geterrobj seterrobj", _ERRORS),
        *_of("numpy", "MAXDIMS", "it is 64 today; it was 32"),
        *_of("numpy", "compat", "it was there for Python 2"),
        *_of("numpy", "deprecate deprecate_with_doc", "use warnings.warn"),
        *_of("numpy", "fastCopyAndTranspose", "use a.T.copy()"),
        *_of("numpy", "lookfor source who", "it was there for interactive sessions"),
        *_of("numpy", "recfromcsv recfromtxt", _TEXT),
        *_of("numpy", "set_numeric_ops", "use a subclass with __array_ufunc__"),
        *_of("numpy", "set_string_function", "use numpy.set_printoptions"),
        *_of("flax.metrics", "tensorboard", _TENSORFLOW),
    ]
)

TENSORBOARD = "flax.metrics.tensorboard"
# As modules they are gone, but their package has an object by that name.
OBJECTS_TODAY = frozenset({"jax.config"})
# numpy 2 has one again, which is another type; a program that runs with it may well mean that.
BACK = frozenset({"numpy.long"})
_ALL = {entry.name: entry for entry in ENTRIES}
_TABLE = {name: entry for name, entry in _ALL.items() if name not in OBJECTS_TODAY | BACK}
NN = ("flax.nn", "flax.deprecated.nn")
# What serves them, also for programs that were rewritten.
SERVED_NN = "flaxoptim_compat.nn"


class Successor(NamedTuple):
    """What takes the place of a name.

    Args:
      old: the full name that is gone; of a module that is gone, with the name inside of it.
      today: ``module:attribute``, or just a module; empty if nothing does.
      gone_since: the first release without it.
      instead: what to do about it, for people.
      imported: ``today`` for an import by name.
    """

    old: str
    today: str
    gone_since: str
    instead: str
    imported: str = ""

    @property
    def is_stand_in(self) -> bool:
        """Whether it is one of this package."""
        return self.today.startswith((ERA, SERVED_NN))

    @property
    def dotted(self) -> str:
        """``today`` as it is written in a program that has imported all modules."""
        return self.today.replace(":", ".").removeprefix("builtins.")

    @property
    def what(self) -> str:
        """What the name is, for people."""
        if self.old.startswith(TENSORBOARD):
            return f"{self.old}, which needs TensorFlow"
        return f"{self.old}, gone since {self.gone_since}" if self.gone_since else self.old


@functools.cache
def successor(name: str) -> Successor | None:
    """What takes the place of a full name, or of the first part of it that is gone.

    Args:
      name: such as ``jax.tree_map`` or ``jax.api.jit.lower``.

    Returns:
      None if nothing of it is gone.
    """
    parts = name.split(".")
    for length in range(len(parts), 1, -1):
        known = _known(".".join(parts[:length]), parts[length : length + 1])
        if known is not None:
            return known
    return None


def _known(name: str, inside: list[str]) -> Successor | None:
    entry = _TABLE.get(name)
    since = _gone_since(name)
    if name in GONE:
        return Successor(name, "", since, GONE[name])
    if name in NOT_EVERYWHERE and entry is not None:
        return Successor(name, "", since, f"{entry.replacement}, which is there since {since}")
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


def _inside(entry: Entry, attribute: str) -> Successor:
    """What takes the place of a name in a module that is gone."""
    name = f"{entry.name}.{attribute}"
    if entry.name.startswith(NN) and attribute in LINEN_INSTEAD_OF_NN:
        today = f"{entry.served_by}:{attribute}"
        return Successor(name, today, entry.gone_since, _advice(attribute), today)
    # It may be one that is gone from the other module as well.
    deeper = successor(f"{entry.served_by}.{attribute}")
    if deeper is not None:
        return deeper._replace(old=name, gone_since=entry.gone_since)
    today = public(f"{entry.served_by}:{attribute}")
    served_itself = entry.replacement == entry.served_by
    instead = today.replace(":", ".") if served_itself else entry.replacement
    return Successor(name, _reached(today), entry.gone_since, instead, today)


def _reached(today: str) -> str:
    """``numpy:exceptions.AxisError``: who has imported numpy has its modules as well."""
    module, colon, attribute = today.partition(":")
    if not colon or not module.startswith("numpy."):
        return today
    return f"numpy:{module.removeprefix('numpy.')}.{attribute}"


def _advice(attribute: str) -> str:
    return LINEN_INSTEAD_OF_NN[attribute].removesuffix(".")


def _gone_since(name: str) -> str:
    """The release without a name, or without the module that had it."""
    while name:
        if name in _ALL:
            return _ALL[name].gone_since
        name = name.rpartition(".")[0]
    return ""
