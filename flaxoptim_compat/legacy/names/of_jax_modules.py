"""Modules that jax dropped, and names of the modules that only left behind an empty shell."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import ERA, STAND_INS, group, stand_ins

MOVED = (
    Entry("jax.abstract_arrays", "jax.core", "jax 0.4.17"),
    Entry("jax.api", "jax", "jax 0.2.21"),
    Entry("jax.linear_util", "jax.extend.linear_util", "jax 0.4.24"),
    Entry("jax.prng", "jax.extend.random", "jax 0.4.24"),
    Entry("jax.source_info_util", "jax.extend.source_info_util", "jax 0.2.7"),
    Entry("jax.lax_linalg", "jax.lax.linalg", "jax 0.2.7"),
    Entry("jax.lax.lax", "jax.lax", "jax 0.2.6"),
    Entry("jax.lax.lax_control_flow", "jax.lax", "jax 0.2.6"),
    Entry("jax.lax.lax_parallel", "jax.lax", "jax 0.2.6"),
    Entry("jax.nn.functions", "jax.nn", "jax 0.2.6"),
    Entry("jax.numpy.lax_numpy", "jax.numpy", "jax 0.3.5"),
    Entry("jax.experimental.ann", "jax.lax", "jax 0.3.2"),
    Entry("jax.experimental.array", "jax", "jax 0.3.19"),
    Entry("jax.experimental.sharding", "jax.sharding", "jax 0.3.19"),
    Entry("jax.experimental.optimizers", "jax.example_libraries.optimizers", "jax 0.3.16"),
    Entry("jax.experimental.stax", "jax.example_libraries.stax", "jax 0.3.16"),
)

# As jax itself had imported them.
OF_JAX_ITSELF = (
    Entry("jax.ad", "jax.interpreters.ad", "jax 0.4.16"),
    Entry("jax.batching", "jax.interpreters.batching", "jax 0.4.16"),
    Entry("jax.partial_eval", "jax.interpreters.partial_eval", "jax 0.4.16"),
    Entry("jax.pxla", "jax.interpreters.pxla", "jax 0.4.16"),
    Entry("jax.xla", "jax.interpreters.xla", "jax 0.4.16"),
)

STOOD_IN_FOR = (
    Entry("jax.config", STAND_INS + "jax_config", "jax 0.4.29", "the object jax.config"),
    Entry("jax.util", ERA + "jax_util", "jax 0.8.0", "functions of your own"),
    Entry(
        "jax.tools.colab_tpu",
        STAND_INS + "jax_colab_tpu",
        "jax 0.9.2",
        "nothing: jax finds TPUs by itself",
    ),
    Entry("jax.lib.xla_bridge", ERA + "xla_bridge", "jax 0.9.0", "jax.extend.backend"),
    Entry("jax.lib.xla_client", ERA + "xla_client", "jax 0.9.0", "jaxlib.xla_client"),
    Entry("jax.lib.xla_extension", ERA + "xla_extension", "jax 0.9.0", "jax"),
    Entry("jaxlib.xla_extension", ERA + "xla_extension", "jaxlib 0.6.1", "jax"),
    Entry("jax.experimental.maps", ERA + "maps", "jax 0.4.31", "jax.sharding.Mesh"),
    Entry(
        "jax.experimental.global_device_array",
        ERA + "global_device_array",
        "jax 0.4.7",
        "jax.Array",
    ),
    Entry(
        "jax.experimental.host_callback",
        ERA + "host_callback",
        "jax 0.8.0",
        "jax.debug.callback and jax.experimental.io_callback",
        broken_if="flaxoptim_compat.versions.of_jax:host_callback_is_empty",
    ),
    Entry(
        "jax.interpreters.masking",
        STAND_INS + "jax_masking",
        "jax 0.3.16",
        "padded arrays, with their lengths passed along",
    ),
    Entry(
        "jax.experimental.loops",
        STAND_INS + "jax_loops",
        "jax 0.3.16",
        "jax.lax.fori_loop, while_loop and cond",
    ),
    Entry(
        "jax.experimental.optix",
        STAND_INS + "jax_optix",
        "jax 0.2.7",
        "optax, whose functions have the same names",
    ),
    Entry("jax.experimental.x64_context", ERA + "x64_context", "jax 0.10.0", "jax.enable_x64"),
)

# From 0.4.35 to 0.7 the module was there, but with two other functions only, which just raised.
HOST_CALLBACK = (
    *stand_ins(
        "jax.experimental.host_callback",
        ERA + "host_callback",
        "jax 0.4.35",
        {"id_print": "jax.debug.print", "barrier_wait": "jax.effects_barrier"},
    ),
)

TEST_UTIL = (
    *stand_ins(
        "jax.test_util",
        "jax_test_util",
        "jax 0.3.8",
        {"check_eq check_close": "numpy.testing.assert_allclose"},
    ),
    *stand_ins("jax.test_util", "jax_test_case", "jax 0.3.8", {"JaxTestCase": "unittest.TestCase"}),
    *group("jax.test_util", "unittest", "jax 0.3.8", "JaxTestLoader=TestLoader"),
    *group("jax.test_util", "jax", "jax 0.3.8", "device_under_test=default_backend"),
)

ENTRIES: tuple[Entry, ...] = (*MOVED, *OF_JAX_ITSELF, *STOOD_IN_FOR, *HOST_CALLBACK, *TEST_UTIL)
