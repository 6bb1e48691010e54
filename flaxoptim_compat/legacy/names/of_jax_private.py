"""Names that jax keeps in its private modules, where programs and packages still find them.

Each is what it was: a class, a table, or a function that takes what it took in jax 0.4.13.
"""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.groups import group


def _private(module: str, served_by: str, release: str, names: str) -> Iterator[Entry]:
    instead = f"{served_by}.{{}} (private to jax)"
    return group(module, served_by, f"jax {release}", names, instead)


def _module(name: str, served_by: str, gone_since: str) -> Entry:
    return Entry(name, served_by, gone_since, f"{served_by} (private to jax)")


# {(module, the private one that has the names): {the first release without them: the names}}
_NAMES = {
    ("jax.core", "jax._src.core"): {
        "0.4.16": (
            "canonicalize_dim dilate_dim divide_shape_sizes is_dim is_empty_shape same_referent"
            " stride_dim"
        ),
        "0.4.24": "tuple_delete tuple_insert",
        "0.4.29": "DimSize Shape",
        "0.4.31": "canonicalize_shape dimension_as_value",
        "0.4.34": (
            "pp_aval pp_eqn pp_eqns pp_jaxpr pp_jaxpr_eqn_range pp_jaxpr_skeleton pp_jaxprs"
            " pp_kv_pair pp_kv_pairs pp_var pp_vars pp_eqn_rules"
        ),
        "0.4.38": "check_eqn check_type",
        "0.6.0": (
            "AxisSize dedup_referents escaped_tracer_error full_lower get_referent join_effects"
            " leaked_tracer_error reset_trace_state typecompat EvalTrace"
            " TRACER_LEAK_DEBUGGER_WARNING InputType"
        ),
        "0.7.0": "trace_state_clean typecheck call_p closed_call_p typematch",
        "0.10.0": "call_impl",
        "0.11.0": (
            "JaxprPpContext JaxprPpSettings OutputType aval_mapping_handlers"
            " concretization_function_error custom_typechecks is_constant_dim is_constant_shape"
            " literalable_types no_axis_name"
        ),
    },
    ("jax.interpreters.ad", "jax._src.ad_util"): {
        "0.4.36": "zeros_like_jaxval",
        "0.9.0": "zeros_like_p",
    },
    ("jax.interpreters.ad", "jax._src.interpreters.ad"): {
        "0.4.36": "CustomVJPException",
        "0.9.0": (
            "bilinear_transpose defjvp_zero jvp_jaxpr jvp_subtrace linear_jvp linear_transpose"
            " linear_transpose2 nonzero_tangent_outputs rearrange_binders standard_jvp"
            " standard_jvp2 traceable zero_jvp call_param_updaters call_transpose_param_updaters"
            " custom_lin_p"
        ),
        "0.10.0": "reducing_transposes",
    },
    ("jax.interpreters.batching", "jax._src.ad_util"): {"0.4.24": "zeros_like_p"},
    ("jax.interpreters.batching", "jax._src.interpreters.batching"): {
        # It deprecates Zero by another name, and so has lost it already.
        "0.7.1": "Zero",
        "0.9.0": (
            "Array AxisSize BatchTrace BatchTracer Elt MapSpec Vmappable ZeroIfMapped"
            " batch_custom_jvp_subtrace batch_subtrace flatten_fun_for_vmap is_vmappable make_iota"
            " moveaxis to_elt from_elt_handlers make_iota_handlers spec_types to_elt_handlers"
            " vmappables zero_if_mapped FromEltHandler GetIdx MakeIotaHandler ToEltHandler"
        ),
        "0.10.0": "NotMapped",
    },
    ("jax.interpreters.partial_eval", "jax._src.core"): {"0.5.0": "DebugInfo"},
    ("jax.interpreters.partial_eval", "jax._src.interpreters.partial_eval"): {
        "0.9.0": (
            "Const ConstVar DynamicJaxprTrace FreeVar Jaxpr JaxprEqnRecipe JaxprStackFrame"
            " JaxprTrace LambdaBinding TracerAsName TracerId JaxprTracerRecipe"
            " call_partial_eval_custom_rule closed_call_partial_eval_custom_rule make_jaxpr_effects"
            " move_binders_to_back move_binders_to_front partial_eval_jaxpr_custom"
            " partial_eval_jaxpr_nounits partial_eval_wrapper_nounits partition_pvals"
            " trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd call_param_updaters"
            " call_partial_eval_rules const_fold_rules custom_staging_rules forwarding_rules"
            " ConstFoldRule DCERule ForwardingRule ParamsUpdater PartialEvalCustomResult"
            " PartialEvalCustomRule ResAvalUpdater close_jaxpr convert_constvars_jaxpr"
            " convert_invars_to_constvars"
        ),
    },
    ("jax.interpreters.pxla", "jax._src.interpreters.pxla"): {
        "0.4.16": (
            "ExecuteReplicated InputsHandler ResultsHandler UnloadedMeshExecutable tile_aval_nd"
            " untile_aval_nd array_types shard_arg_handlers PxlaResultHandler"
        ),
        "0.11.0": "MeshExecutable global_result_handlers",
    },
    ("jax.interpreters.pxla", "jax._src.sharding_impls"): {
        "0.4.16": "ArrayMappingOrAutoOrUnspecified",
        "0.11.0": "ArrayMapping array_mapping_to_axis_resources",
    },
    ("jax.interpreters.xla", "jax._src.core"): {
        "0.4.24": "AxisEnv",
        "0.7.0": "pytype_aval_mappings",
    },
    ("jax.interpreters.pxla", "jax._src.sharding"): {"0.11.0": "Index"},
    ("jax.interpreters.pxla", "jax._src.mesh"): {"0.11.0": "MeshAxisName"},
    ("jax.interpreters.pxla", "jax._src.op_shardings"): {"0.11.0": "op_sharding_to_indices"},
    # Jax keeps all of the module here but for its one function.
    ("jax.experimental.shard_map", "jax._src.shard_map"): {
        "0.6.1": (
            "HashablePartial JaxType MaybeTracer NoFail ShardMapPrimitive ShardMapTrace"
            " ShardMapTracer SpecErrorType broadcast_prefix eager_rules generate_key_paths no_fail"
            " prefix_errors shard_map_p"
        ),
        "0.8.0": "AxisName Specs",
    },
    ("jax.experimental.shard_map", "jax._src.util"): {
        "0.4.36": "merge_lists",
        "0.6.1": "memoize partition_list",
    },
    ("jax.lax", "jax._src.lax.lax"): {"0.4.24": "naryop standard_naryop standard_unop unop"},
    ("jax.cloud_tpu_init", "jax._src.cloud_tpu_init"): {"0.10.0": "cloud_tpu_init"},
    ("jax.experimental.sparse.api", "jax._src.core"): {"0.9.2": "Shape"},
    ("jax.ad_checkpoint", "jax._src.ad_checkpoint"): {"0.10.0": "checkpoint remat"},
    ("jax.custom_derivatives", "jax._src.custom_derivatives"): {"0.8.0": "custom_jvp_call_jaxpr_p"},
    ("jax.experimental.compilation_cache.compilation_cache", "jax._src.compilation_cache"): {
        "0.8.0": "initialize_cache is_initialized",
    },
}

# What these modules had imported for themselves.
MODULES = (
    _module("jax.core.dtypes", "jax._src.dtypes", "jax 0.4.24"),
    _module("jax.core.lu", "jax._src.linear_util", "jax 0.4.24"),
    _module("jax.core.pp", "jax._src.pretty_printer", "jax 0.4.24"),
    _module("jax.core.source_info_util", "jax._src.source_info_util", "jax 0.4.24"),
    _module("jax.core.traceback_util", "jax._src.traceback_util", "jax 0.4.24"),
    _module("jax.interpreters.ad.config", "jax._src.config", "jax 0.4.26"),
    _module("jax.interpreters.ad.source_info_util", "jax._src.source_info_util", "jax 0.4.26"),
    _module("jax.interpreters.mlir.func_dialect", "jaxlib.mlir.dialects.func", "jax 0.6.0"),
    _module("jax.interpreters.mlir.hlo", "jaxlib.mlir.dialects.stablehlo", "jax 0.6.0"),
    _module("jax.interpreters.partial_eval.config", "jax._src.config", "jax 0.9.0"),
    _module("jax.interpreters.pxla.xb", "jax._src.xla_bridge", "jax 0.4.16"),
    _module("jax.interpreters.xla.xb", "jax._src.xla_bridge", "jax 0.4.36"),
    _module("jax.interpreters.xla.xc", "jaxlib.xla_client", "jax 0.4.36"),
    _module("jax.ad_util", "jax._src.ad_util", "jax 0.2.6"),
    _module("jax.cloud_tpu_init", "jax._src.cloud_tpu_init", "jax 0.11.0"),
    _module("jax.jaxpr_util", "jax._src.jaxpr_util", "jax 0.4.16"),
    _module("jax.lax.dtypes", "jax._src.dtypes", "jax 0.4.24"),
)

# These were private already, and chex, treex, blackjax and their like have them at import.
FURTHER_DOWN = (
    *_private("jax._src.numpy.lax_numpy", "jax._src.numpy.scalar_types", "0.5.1", "_ScalarMeta"),
    *group("jax._src.numpy.lax_numpy", "jax", "jax 0.4.7", "ndarray=Array"),
    _module("jax._src.prng", "jax._src.random.prng", "jax 0.10.2"),
)

ENTRIES: tuple[Entry, ...] = (
    *(
        entry
        for (module, served_by), gone in _NAMES.items()
        for release, names in gone.items()
        for entry in _private(module, served_by, release, names)
    ),
    *MODULES,
    *FURTHER_DOWN,
)
