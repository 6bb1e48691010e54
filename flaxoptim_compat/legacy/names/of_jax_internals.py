"""Names that jax dropped from the modules below its public ones, where programs met them too."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import STAND_INS, group

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
    *group("jax.core", STAND_INS + "jax_core", "jax 0.6.0", "raise_to_shaped", "jax.typeof"),
    *group("jax.core", STAND_INS + "jax_core", "jax 0.7.0", "axis_frame", "jax.lax.axis_size"),
    *group(
        "jax.core", STAND_INS + "jax_util", "jax 0.4.24", "safe_map", "list(map(..., strict=True))"
    ),
    *group(
        "jax.core", STAND_INS + "jax_util", "jax 0.4.24", "safe_zip", "list(zip(..., strict=True))"
    ),
)

XLA = (
    *group("jax.interpreters.xla", "jax", "jax 0.4.11", "Device DeviceArray=Array"),
    Entry("jax.interpreters.xla._DeviceArray", "jax:Array", "jax 0.4.9"),
    Entry("jax.interpreters.xla.ShapedArray", "jax.core:ShapedArray", "jax 0.4.24"),
    Entry("jax.interpreters.xla.abstractify", "jax:typeof", "jax 0.7.0"),
    Entry("jax.interpreters.xla.canonicalize_dtype", "jax.dtypes:canonicalize_dtype", "jax 0.8.0"),
    *group("jax.interpreters.pxla", "jax.sharding", "jax 0.4.11", "Mesh PartitionSpec"),
    Entry("jax.interpreters.pxla.ShardedDeviceArray", "jax:Array", "jax 0.4.14"),
)

LIB = (
    *group(
        "jax.lib.xla_bridge",
        "jax",
        "jax 0.2.21",
        "devices host_count=process_count host_id=process_index host_ids=process_indices"
        " local_devices process_count",
    ),
    Entry(
        "jax.lib.xla_bridge.get_device_backend",
        STAND_INS + "jax_xla_bridge:get_device_backend",
        "jax 0.2.21",
        "device.client",
    ),
    *group(
        "jax.lib.xla_bridge", "jax", "jax 0.4.3", "device_count local_device_count process_index"
    ),
    Entry("jax.lib.xla_bridge.default_backend", "jax:default_backend", "jax 0.4.38"),
    Entry("jax.lib.xla_bridge.xla_client", "jaxlib.xla_client", "jax 0.4.38"),
    *group(
        "jax.lib.xla_client",
        STAND_INS + "jax_xla_client",
        "jax 0.4.38",
        "bfloat16",
        "ml_dtypes.bfloat16",
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
    *group("jaxlib.xla_extension", "jax", "jaxlib 0.6.1", "Device DeviceArray=Array"),
    Entry("jaxlib.xla_extension.XlaRuntimeError", "jax.errors:JaxRuntimeError", "jaxlib 0.6.1"),
)

# The module jax.util is empty in 0.7, and gone after it.
UTIL = (
    *group(
        "jax.util", STAND_INS + "jax_util", "jax 0.7.0", "safe_map", "list(map(..., strict=True))"
    ),
    *group(
        "jax.util", STAND_INS + "jax_util", "jax 0.7.0", "safe_zip", "list(zip(..., strict=True))"
    ),
    *group("jax.util", STAND_INS + "jax_util", "jax 0.7.0", "unzip2", "zip(*pairs)"),
    *group("jax.util", STAND_INS + "jax_util", "jax 0.2.8", "unzip3", "zip(*triples)"),
    *group("jax.util", "functools", "jax 0.2.22", "partial"),
    *group("jax.util", "math", "jax 0.2.8", "prod"),
    *group("jax.util", "functools", "jax 0.7.0", "wraps"),
    *group(
        "jax.util",
        STAND_INS + "jax_util",
        "jax 0.7.0",
        "split_dict split_list split_merge subvals wrap_name",
        "your own {}",
    ),
    *group(
        "jax.util",
        STAND_INS + "jax_util",
        "jax 0.2.8",
        "canonicalize_axis ceil_of_ratio concatenate curry tuple_delete tuple_insert",
        "your own {}",
    ),
)

ENTRIES: tuple[Entry, ...] = (*CORE, *XLA, *LIB, *UTIL)
