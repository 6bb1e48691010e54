"""Names that jax dropped from the modules below its public ones, where programs met them too."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import ERA, group, stand_ins

# The same helpers, wherever programs took them from.
_OF_UTIL = {
    "safe_map": "list(map(..., strict=True))",
    "safe_zip": "list(zip(..., strict=True))",
    "map=safe_map": "list(map(...))",
    "zip=safe_zip": "list(zip(...))",
    "unzip2": "zip(*pairs)",
    "unzip3": "zip(*triples)",
}


def _of_util(module: str, gone_since: str, *names: str) -> Iterator[Entry]:
    return stand_ins(module, ERA + "jax_util", gone_since, {name: _OF_UTIL[name] for name in names})


CORE = (
    *group(
        "jax.core",
        "jax.errors",
        "jax 0.4.24",
        "TracerArrayConversionError TracerIntegerConversionError UnexpectedTracerError",
    ),
    Entry("jax.core.ConcretizationTypeError", "jax.errors:ConcretizationTypeError", "jax 0.7.0"),
    *group(
        "jax.core",
        "jax.extend.core",
        "jax 0.6.0",
        "ClosedJaxpr Jaxpr JaxprEqn Literal Primitive Token Var jaxpr_as_fun",
    ),
    Entry("jax.core.TypedJaxpr", "jax.extend.core:ClosedJaxpr", "jax 0.2.0"),
    *group(
        "jax.core",
        "jax.extend.core",
        "jax 0.10.0",
        "AbstractToken mapped_aval subjaxprs unmapped_aval",
    ),
    Entry("jax.core.get_aval", "jax:typeof", "jax 0.10.0"),
    *group(
        "jax.core",
        "jax.extend.core",
        "jax 0.11.0",
        "DropVar Effect Effects check_jaxpr concrete_or_error find_top_trace jaxprs_in_params"
        " new_jaxpr_eqn no_effects primal_dtype_to_tangent_dtype valid_jaxtype",
    ),
    *group("jax.core", "jax.errors", "jax 0.11.0", "InconclusiveDimensionOperation JaxprTypeError"),
    Entry("jax.core.abstract_token", "jax.ffi:abstract_token", "jax 0.11.0"),
    *stand_ins("jax.core", "jax_core", "jax 0.11.0", {"gensym": "jax.extend.core.gensym()"}),
    *stand_ins("jax.core", "jax_core", "jax 0.6.0", {"raise_to_shaped": "jax.typeof"}),
    *stand_ins("jax.core", "jax_core", "jax 0.7.0", {"axis_frame": "jax.lax.axis_size"}),
    *_of_util("jax.core", "jax 0.4.24", "safe_map", "safe_zip", "map=safe_map", "zip=safe_zip"),
    *stand_ins(
        "jax.core",
        "jax_core",
        "jax 0.4.36",
        {
            "MainTrace Sublevel cur_sublevel thread_local_state": (
                "isinstance(x, jax.core.Tracer), which says whether a function is being traced"
            )
        },
    ),
    *stand_ins(
        "jax.core",
        "jax_core",
        "jax 0.3.15",
        {"UnitVar unit unitvar": "nothing: no jaxpr has one"},
    ),
    *stand_ins(
        "jax.core",
        "jax_core",
        "jax 0.3.0",
        {"extract_call_jaxpr": "the parameter of the equation that is a jaxpr"},
    ),
)

INTERPRETERS = (
    *stand_ins("jax.interpreters.batching", "jax_core", "jax 0.10.2", {"not_mapped": "None"}),
    *stand_ins(
        "jax.interpreters.xla",
        "jax_translations",
        "jax 0.4.29",
        {
            "backend_specific_translations register_translation translations"
            " _translations=translations": "jax.interpreters.mlir.register_lowering"
        },
    ),
    *stand_ins(
        "jax.interpreters.xla",
        "jax_translations",
        "jax 0.3.16",
        {"lower_fun": "jax.interpreters.mlir.lower_fun"},
    ),
    *stand_ins(
        "jax.interpreters.xla",
        "jax_core",
        "jax 0.4.1",
        {"xla_call_p=jit_p": "the primitive of jax.jit, which is another in some releases"},
    ),
    Entry("jax.interpreters.xla.xe", ERA + "xla_extension", "jax 0.4.36", "jax"),
    *stand_ins(
        "jax.interpreters.pxla",
        "jax_core",
        "jax 0.4.16",
        {"multi_host_supported_collectives": "nothing: all primitives are supported"},
    ),
    *group("jax.interpreters.xla", "jax", "jax 0.4.11", "Device DeviceArray=Array"),
    # A rule was annotated with it: any function that can be called so was one.
    *group("jax.interpreters.xla", "collections.abc", "jax 0.4.29", "TranslationRule=Callable"),
    Entry("jax.interpreters.xla._DeviceArray", "jax:Array", "jax 0.4.9"),
    Entry("jax.interpreters.xla.ShapedArray", "jax.core:ShapedArray", "jax 0.4.24"),
    Entry("jax.interpreters.xla.abstractify", "jax:typeof", "jax 0.7.0"),
    Entry("jax.interpreters.xla.canonicalize_dtype", "jax.dtypes:canonicalize_dtype", "jax 0.8.0"),
    *group("jax.interpreters.pxla", "jax.sharding", "jax 0.4.11", "Mesh PartitionSpec"),
    Entry("jax.interpreters.pxla.ShardedDeviceArray", "jax:Array", "jax 0.4.14"),
)

_DEVICES = {
    "CpuDevice": "device.platform == 'cpu'",
    "GpuDevice": "device.platform == 'gpu'",
    "TpuDevice": "device.platform == 'tpu'",
}

LIB = (
    *group(
        "jax.lib.xla_bridge",
        "jax",
        "jax 0.2.21",
        "devices host_count=process_count host_id=process_index local_devices process_count",
    ),
    *stand_ins(
        "jax.lib.xla_bridge",
        ERA + "xla_bridge",
        "jax 0.2.21",
        {"host_ids": "jax.process_indices", "get_device_backend": "device.client"},
    ),
    *group(
        "jax.lib.xla_bridge", "jax", "jax 0.4.3", "device_count local_device_count process_index"
    ),
    Entry("jax.lib.xla_bridge.default_backend", "jax:default_backend", "jax 0.4.38"),
    Entry("jax.lib.xla_bridge.xla_client", "jaxlib.xla_client", "jax 0.4.38"),
    *stand_ins(
        "jax.lib.xla_client", ERA + "xla_client", "jax 0.4.38", {"bfloat16": "ml_dtypes.bfloat16"}
    ),
    Entry("jax.lib.xla_client._xla", "jaxlib.xla_client:_xla", "jax 0.4.38"),
    Entry("jax.lib.xla_client.Device", "jax:Device", "jax 0.5.0"),
    Entry("jax.lib.xla_client.XlaRuntimeError", "jax.errors:JaxRuntimeError", "jax 0.5.0"),
    Entry("jax.lib.xla_client.ArrayImpl", "jaxlib.xla_client:ArrayImpl", "jax 0.6.0", "jax.Array"),
    Entry("jax.lib.xla_client.FftType", "jax.lax:FftType", "jax 0.6.0"),
    *group("jax.lib.xla_client", "jaxlib.xla_client", "jax 0.6.0", "Shape XlaComputation"),
    Entry("jax.lib.xla_extension.XlaRuntimeError", "jax.errors:JaxRuntimeError", "jax 0.6.0"),
    Entry(
        "jax.lib.xla_extension.ArrayImpl", "jaxlib.xla_client:ArrayImpl", "jax 0.6.0", "jax.Array"
    ),
    Entry("jax.lib.xla_extension.Device", "jax:Device", "jax 0.7.0"),
    Entry("jaxlib.xla_extension.Device", "jax:Device", "jaxlib 0.6.1"),
    # Gone by then; the index has no older wheels any more.
    Entry("jaxlib.xla_extension.DeviceArray", "jax:Array", "jaxlib 0.4.13"),
    *stand_ins("jax.lib.xla_extension", ERA + "xla_extension", "jax 0.4.3", _DEVICES),
    *stand_ins("jaxlib.xla_extension", ERA + "xla_extension", "jaxlib 0.4.3", _DEVICES),
    Entry("jaxlib.xla_extension.XlaRuntimeError", "jax.errors:JaxRuntimeError", "jaxlib 0.6.1"),
)

# The module jax.util is empty in 0.7, and gone after it.
UTIL = (
    *_of_util("jax.util", "jax 0.7.0", "safe_map", "safe_zip", "unzip2"),
    *_of_util("jax.util", "jax 0.2.8", "unzip3"),
    *group("jax.util", "functools", "jax 0.2.22", "partial"),
    *group("jax.util", "math", "jax 0.2.8", "prod"),
    *group("jax.util", "functools", "jax 0.7.0", "wraps"),
    *stand_ins(
        "jax.util",
        ERA + "jax_util",
        "jax 0.7.0",
        {"split_dict split_list split_merge subvals wrap_name": "your own {}"},
    ),
    *stand_ins(
        "jax.util",
        ERA + "jax_util",
        "jax 0.2.8",
        {
            "canonicalize_axis ceil_of_ratio concatenate curry tuple_delete tuple_insert": (
                "your own {}"
            )
        },
    ),
)

_SHARD_MAP = "jax.experimental.shard_map"
# What modules of jax.experimental had imported for themselves.
EXPERIMENTAL = (
    *group(
        "jax.experimental.custom_partitioning",
        "jax.api_util",
        "jax 0.4.31",
        "argnums_partial flatten_fun_nokwargs",
    ),
    *group(
        "jax.experimental.custom_partitioning", "jax.errors", "jax 0.4.31", "UnexpectedTracerError"
    ),
    *group("jax.experimental.sparse.csr", "jax.typing", "jax 0.4.35", "ArrayLike"),
    *group("jax.experimental.sparse.linalg", "scipy.sparse", "jax 0.7.0", "csr_matrix"),
    *group("jax.experimental.jet", "jax.api_util", "jax 0.5.0", "shaped_abstractify"),
    *group(_SHARD_MAP, "jax.api_util", "jax 0.5.0", "shaped_abstractify"),
    *group(_SHARD_MAP, "jax.api_util", "jax 0.5.1", "flatten_fun_nokwargs"),
    *group(_SHARD_MAP, "jax", "jax 0.6.1", "pmap"),
    *group(_SHARD_MAP, "jax.core", "jax 0.6.1", "Tracer"),
    *group(_SHARD_MAP, "jax.sharding", "jax 0.6.1", "NamedSharding P=PartitionSpec PartitionSpec"),
    *group(_SHARD_MAP, "jax.sharding", "jax 0.8.0", "Mesh"),
    *group(
        _SHARD_MAP,
        "jax.tree_util",
        "jax 0.6.1",
        "KeyPath PyTreeDef keystr tree_flatten tree_leaves tree_map tree_structure tree_unflatten",
    ),
    *group(
        _SHARD_MAP,
        "jax.experimental.multihost_utils",
        "jax 0.6.1",
        "global_array_to_host_local_array host_local_array_to_global_array",
    ),
    *stand_ins(_SHARD_MAP, ERA + "jax_util", "jax 0.6.1", {"split_list": "your own {}"}),
    *_of_util(_SHARD_MAP, "jax 0.6.1", "unzip2", "map=safe_map", "zip=safe_zip"),
    *_of_util(_SHARD_MAP, "jax 0.4.36", "unzip3"),
)

ENTRIES: tuple[Entry, ...] = (*CORE, *INTERPRETERS, *LIB, *UTIL, *EXPERIMENTAL)
