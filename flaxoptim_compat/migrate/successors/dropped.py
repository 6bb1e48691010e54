"""Names that jax and numpy dropped for good, and what flax has only beside TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

_MACHINERY = "it belonged to the machinery of jax, which is made differently in every release"
_XMAP = "use jax.shard_map, or jax.jit with jax.sharding.NamedSharding"
_KEYS = "use jax.random.key or jax.random.PRNGKey, with impl= for another generator"
_CALLBACK = "use jax.experimental.io_callback or jax.debug.callback"
_NAMED_SHARDING = "use jax.sharding.NamedSharding"
_TREES = "import it from jax.tree_util"
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
        *_of("jax.example_libraries.optimizers", "register_pytree_node tree_flatten", _TREES),
        *_of("jax.example_libraries.optimizers", "tree_map tree_unflatten", _TREES),
        *_of("jax.experimental.multihost_utils", "tree_map", _TREES),
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
