"""Names that jax dropped: functions, classes and constants of modules that are still there."""

from __future__ import annotations

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names import of_jax_internals, of_jax_modules, of_jax_private
from flaxoptim_compat.legacy.names.groups import ERA, group, stand_ins

TREES = (
    *stand_ins("jax", "jax_trees", "jax 0.6.0", {"tree_map": "jax.tree.map"}),
    *stand_ins("jax", "jax_trees", "jax 0.3.16", {"tree_multimap=tree_map": "jax.tree.map"}),
    *stand_ins(
        "jax.tree_util",
        "jax_trees",
        "jax 0.3.16",
        {"tree_multimap=tree_map": "jax.tree_util.tree_map"},
    ),
    *group(
        "jax",
        "jax.tree",
        "jax 0.6.0",
        "tree_flatten=flatten tree_leaves=leaves tree_structure=structure"
        " tree_transpose=transpose tree_unflatten=unflatten",
    ),
    Entry("jax.treedef_is_leaf", "jax.tree_util:treedef_is_leaf", "jax 0.6.0"),
)

TRANSFORMATIONS = (
    Entry("jax.partial", "functools:partial", "jax 0.2.21"),
    *group("jax", "jax.stages", "jax 0.3.3", "Compiled Lowered"),
    *group("jax", "jax.api_util", "jax 0.4.16", "flatten_fun_nokwargs"),
    Entry("jax.clear_backends", "jax.extend.backend:clear_backends", "jax 0.4.36"),
    Entry("jax.ShapedArray", "jax.core:ShapedArray", "jax 0.4.14"),
    *stand_ins(
        "jax",
        "jax_xla_computation",
        "jax 0.4.34",
        {"xla_computation": "jax.jit(fun).lower(*args).compiler_ir('hlo')"},
    ),
    *stand_ins(
        "jax",
        "jax_device_put",
        "jax 0.10.0",
        {
            "device_put_replicated device_put_sharded": (
                "jax.device_put with a jax.sharding.NamedSharding"
            )
        },
    ),
    *stand_ins(
        "jax",
        "jax_custom_transforms",
        "jax 0.2.12",
        {
            "custom_transforms defjvp defjvp_all": "jax.custom_jvp",
            "defvjp defvjp_all": "jax.custom_vjp",
        },
    ),
)

# Of these a program can be imported, and run as far as it does without.
MAPPED = (
    *stand_ins(
        "jax",
        "jax_masking",
        "jax 0.3.16",
        {"mask": "padded arrays, with their lengths passed along"},
    ),
    *stand_ins("jax", "jax_soft_pmap", "jax 0.3.18", {"soft_pmap": "jax.jit(jax.vmap(fun))"}),
)

INDEXED_UPDATES = (
    *stand_ins(
        "jax.ops",
        "jax_ops",
        "jax 0.3.2",
        {
            "index": "numpy.s_",
            "index_update": "x.at[index].set(y)",
            "index_add": "x.at[index].add(y)",
            "index_mul": "x.at[index].multiply(y)",
            "index_min": "x.at[index].min(y)",
            "index_max": "x.at[index].max(y)",
        },
    ),
)

NUMPY = (
    Entry("jax.numpy.DeviceArray", "jax:Array", "jax 0.4.14"),
    *group(
        "jax.numpy",
        "jax.numpy",
        "jax 0.4.16",
        "alltrue=all cumproduct=cumprod product=prod sometrue=any",
    ),
    *group("jax.numpy", "jax.numpy", "jax 0.4.24", "row_stack=vstack trapz=trapezoid"),
    *group("jax.numpy", "jax.numpy", "jax 0.4.38", "round_=round"),
    *stand_ins(
        "jax.numpy",
        "numpy_names",
        "jax 0.4.24",
        {"NINF": "-jax.numpy.inf", "NZERO": "-0.0", "PZERO": "0.0"},
    ),
    *stand_ins("jax.numpy", "jax_numpy", "jax 0.4.24", {"in1d": "jax.numpy.isin"}),
    *stand_ins("jax.numpy", "jax_numpy", "jax 0.4.9", {"msort": "jax.numpy.sort(a, axis=0)"}),
    *stand_ins("jax.numpy", "jax_numpy", "jax 0.10.0", {"fix": "jax.numpy.trunc"}),
    *stand_ins("jax.numpy", "numpy_types", "jax 0.4.24", {"issubsctype": "jax.numpy.issubdtype"}),
)

RANDOM = (
    *group("jax.random", "jax", "jax 0.4.24", "KeyArray=Array PRNGKeyArray=Array"),
    *group("jax.random", "jax.extend.random", "jax 0.4.24", "threefry_2x32 threefry2x32_p"),
    *stand_ins(
        "jax.random",
        "jax_random",
        "jax 0.4.24",
        {"threefry2x32_key": "jax.random.PRNGKey(seed, impl='threefry2x32')"},
    ),
    *stand_ins(
        "jax.random",
        "jax_random",
        "jax 0.4.31",
        {"shuffle": "jax.random.permutation(key, x, axis, independent=True)"},
    ),
)

OTHER = (
    *stand_ins("jax.lax", "jax_lax", "jax 0.4.29", {"tie_in": "the second argument"}),
    Entry("jax.lax.zeros_like_array", "jax.numpy:zeros_like", "jax 0.9.0"),
    Entry("jax.nn.normalize", "jax.nn:standardize", "jax 0.4.29"),
    *group("jax.scipy.linalg", "jax.numpy", "jax 0.4.24", "tril triu"),
    *stand_ins(
        "jax.scipy.special",
        "jax_scipy",
        "jax 0.10.0",
        {"sph_harm": "jax.scipy.special.sph_harm_y"},
    ),
    *group(
        "jax.profiler",
        "jax.profiler",
        "jax 0.3.15",
        "StepTraceContext=StepTraceAnnotation TraceContext=TraceAnnotation"
        " trace_function=annotate_function",
    ),
    *stand_ins("jax.dlpack", "jax_dlpack", "jax 0.7.0", {"to_dlpack": "x.__dlpack__()"}),
    *group("jax.dtypes", "jax.numpy", "jax 0.2.13", "can_cast promote_types"),
    Entry("jax.sharding.MeshPspecSharding", "jax.sharding:NamedSharding", "jax 0.4.8"),
    Entry("jax.sharding.XLACompatibleSharding", "jax.sharding:Sharding", "jax 0.4.34"),
    Entry("jax.experimental.PartitionSpec", "jax.sharding:PartitionSpec", "jax 0.4.11"),
    *stand_ins(
        "jax.experimental",
        ERA + "x64_context",
        "jax 0.9.0",
        {"enable_x64": "jax.enable_x64(True)", "disable_x64": "jax.enable_x64(False)"},
    ),
    *group("jax.experimental.pjit", "jax.sharding", "jax 0.4.11", "NamedSharding PartitionSpec"),
    Entry(
        "jax.experimental.pjit.with_sharding_constraint",
        "jax.lax:with_sharding_constraint",
        "jax 0.4.24",
    ),
)

ENTRIES: tuple[Entry, ...] = (
    *TREES,
    *TRANSFORMATIONS,
    *MAPPED,
    *INDEXED_UPDATES,
    *NUMPY,
    *RANDOM,
    *OTHER,
    *of_jax_internals.ENTRIES,
    *of_jax_modules.ENTRIES,
    *of_jax_private.ENTRIES,
)
