"""Names that jax dropped, from its public modules and from its inside, which programs also used.

A name that is served from a private module of jax is the same object as before: a class, a table,
or a function with the arguments of jax 0.4.13.
"""

from __future__ import annotations

from flaxoptim_compat.legacy.names.table import entries

_TABLE = """
jax
  0.6.0 ~jax_trees: tree_map -> jax.tree.map
  0.3.16 ~jax_trees: tree_multimap=tree_map -> jax.tree.map
  0.6.0 jax.tree: tree_flatten=flatten tree_leaves=leaves tree_structure=structure
      tree_transpose=transpose tree_unflatten=unflatten
  0.6.0 jax.tree_util: treedef_is_leaf
  0.2.21 functools: partial
  0.3.3 jax.stages: Compiled Lowered
  0.4.16 jax.api_util: flatten_fun_nokwargs
  0.4.36 jax.extend.backend: clear_backends
  0.4.14 jax.core: ShapedArray
  0.4.34 ~jax_functions: xla_computation -> jax.jit(fun).lower(*args).compiler_ir('hlo')
  0.10.0 ~jax_functions: device_put_replicated device_put_sharded -> jax.device_put with a
      jax.sharding.NamedSharding
  0.2.12 ~jax_functions: custom_transforms defjvp defjvp_all -> jax.custom_jvp
  0.2.12 ~jax_functions: defvjp defvjp_all -> jax.custom_vjp
  # With these names a program can be imported; mask raises an error when it is called.
  0.3.16 ~jax_masking: mask -> padded arrays, with their lengths passed along
  0.3.18 ~jax_functions: soft_pmap -> jax.jit(jax.vmap(fun))
  0.4.17 jax.core abstract_arrays
  0.2.21 jax api
  0.4.24 jax.extend.linear_util linear_util
  0.4.24 jax.extend.random prng
  0.2.7 jax.extend.source_info_util source_info_util
  0.2.7 jax.lax.linalg lax_linalg
  # Modules that jax itself had imported.
  0.4.16 jax.interpreters.ad ad
  0.4.16 jax.interpreters.batching batching
  0.4.16 jax.interpreters.partial_eval partial_eval
  0.4.16 jax.interpreters.pxla pxla
  0.4.16 jax.interpreters.xla xla
  0.4.29 ~jax_config config -> the object jax.config
  0.8.0 era.jax_util util -> functions of your own
  0.2.6 jax._src.ad_util ad_util
  0.11.0 jax._src.cloud_tpu_init cloud_tpu_init
  0.4.16 jax._src.jaxpr_util jaxpr_util
jax.tree_util
  0.3.16 ~jax_trees: tree_multimap=tree_map -> jax.tree_util.tree_map
jax.ops
  0.3.2 ~jax_ops: index -> numpy.s_
  0.3.2 ~jax_ops: index_update -> x.at[index].set(y)
  0.3.2 ~jax_ops: index_add -> x.at[index].add(y)
  0.3.2 ~jax_ops: index_mul -> x.at[index].multiply(y)
  0.3.2 ~jax_ops: index_min -> x.at[index].min(y)
  0.3.2 ~jax_ops: index_max -> x.at[index].max(y)
jax.numpy
  0.4.14 jax: DeviceArray=Array
  0.4.16 jax.numpy: alltrue=all cumproduct=cumprod product=prod sometrue=any
  0.4.24 jax.numpy: row_stack=vstack trapz=trapezoid
  0.4.38 jax.numpy: round_=round
  0.4.24 ~numpy_names: NINF -> -jax.numpy.inf
  0.4.24 ~numpy_names: NZERO -> -0.0
  0.4.24 ~numpy_names: PZERO -> 0.0
  0.4.24 ~jax_functions: in1d -> jax.numpy.isin
  0.4.9 ~jax_functions: msort -> jax.numpy.sort(a, axis=0)
  0.10.0 ~jax_functions: fix -> jax.numpy.trunc
  0.4.24 ~numpy_types: issubsctype -> jax.numpy.issubdtype
  0.3.5 jax.numpy lax_numpy
jax.random
  0.4.24 jax: KeyArray=Array PRNGKeyArray=Array
  0.4.24 jax.extend.random: threefry_2x32 threefry2x32_p
  0.4.24 ~jax_functions: threefry2x32_key -> jax.random.PRNGKey(seed, impl='threefry2x32')
  0.4.31 ~jax_functions: shuffle -> jax.random.permutation(key, x, axis, independent=True)
jax.lax
  0.4.29 ~jax_functions: tie_in -> the second argument
  0.9.0 jax.numpy: zeros_like_array=zeros_like
  0.2.6 jax.lax lax lax_control_flow lax_parallel
  0.4.24 jax._src.lax.lax: naryop standard_naryop standard_unop unop
  0.4.24 jax._src.dtypes dtypes
jax.nn
  0.4.29 jax.nn: normalize=standardize
  0.2.6 jax.nn functions
jax.scipy.linalg
  0.4.24 jax.numpy: tril triu
jax.scipy.special
  0.10.0 ~jax_functions: sph_harm -> jax.scipy.special.sph_harm_y
jax.profiler
  0.3.15 jax.profiler: StepTraceContext=StepTraceAnnotation TraceContext=TraceAnnotation
      trace_function=annotate_function
jax.dlpack
  0.7.0 ~jax_functions: to_dlpack -> x.__dlpack__()
jax.dtypes
  0.2.13 jax.numpy: can_cast promote_types
jax.sharding
  0.4.8 jax.sharding: MeshPspecSharding=NamedSharding
  0.4.34 jax.sharding: XLACompatibleSharding=Sharding
jax.experimental
  0.4.11 jax.sharding: PartitionSpec
  0.9.0 era.x64_context: enable_x64 -> jax.enable_x64(True)
  0.9.0 era.x64_context: disable_x64 -> jax.enable_x64(False)
  0.3.2 jax.lax ann
  0.3.19 jax array
  0.3.19 jax.sharding sharding
  0.3.16 jax.example_libraries.optimizers optimizers
  0.3.16 jax.example_libraries.stax stax
  0.4.31 era.maps maps -> jax.sharding.Mesh
  0.4.7 era.global_device_array global_device_array -> jax.Array
  0.8.0 era.host_callback host_callback -> jax.debug.callback and jax.experimental.io_callback
  0.3.16 ~jax_loops loops -> jax.lax.fori_loop, while_loop and cond
  0.2.7 ~jax_optix optix -> optax, whose functions have the same names
  0.10.0 era.x64_context x64_context -> jax.enable_x64
jax.experimental.pjit
  0.4.11 jax.sharding: NamedSharding PartitionSpec
  0.4.24 jax.lax: with_sharding_constraint
jax.core
  0.4.24 jax.errors: TracerArrayConversionError TracerIntegerConversionError UnexpectedTracerError
  0.7.0 jax.errors: ConcretizationTypeError
  0.6.0 jax.extend.core: ClosedJaxpr Jaxpr JaxprEqn Literal Primitive Token Var jaxpr_as_fun
  0.2.0 jax.extend.core: TypedJaxpr=ClosedJaxpr
  0.10.0 jax.extend.core: AbstractToken mapped_aval subjaxprs unmapped_aval
  0.10.0 jax: get_aval=typeof
  0.11.0 jax.extend.core: DropVar Effect Effects check_jaxpr concrete_or_error find_top_trace
      jaxprs_in_params new_jaxpr_eqn no_effects primal_dtype_to_tangent_dtype valid_jaxtype
  0.11.0 jax.errors: InconclusiveDimensionOperation JaxprTypeError
  0.11.0 jax.ffi: abstract_token
  0.11.0 ~jax_core: gensym -> jax.extend.core.gensym()
  0.6.0 ~jax_core: raise_to_shaped -> jax.typeof
  0.7.0 ~jax_core: axis_frame -> jax.lax.axis_size
  0.4.24 era.jax_util: safe_map -> list(map(..., strict=True))
  0.4.24 era.jax_util: safe_zip -> list(zip(..., strict=True))
  0.4.24 era.jax_util: map=safe_map -> list(map(...))
  0.4.24 era.jax_util: zip=safe_zip -> list(zip(...))
  0.4.36 ~jax_core: MainTrace Sublevel cur_sublevel thread_local_state -> isinstance(x,
      jax.core.Tracer), which says whether a function is being traced
  0.3.15 ~jax_core: UnitVar unit unitvar -> a jaxpr without one
  0.3.0 ~jax_core: extract_call_jaxpr -> the parameter of the equation that is a jaxpr
  0.4.16 jax._src.core: canonicalize_dim dilate_dim divide_shape_sizes is_dim is_empty_shape
      same_referent stride_dim
  0.4.24 jax._src.core: tuple_delete tuple_insert
  0.4.29 jax._src.core: DimSize Shape
  0.4.31 jax._src.core: canonicalize_shape dimension_as_value
  0.4.34 jax._src.core: pp_aval pp_eqn pp_eqns pp_jaxpr pp_jaxpr_eqn_range pp_jaxpr_skeleton
      pp_jaxprs pp_kv_pair pp_kv_pairs pp_var pp_vars pp_eqn_rules
  0.4.38 jax._src.core: check_eqn check_type
  0.6.0 jax._src.core: AxisSize dedup_referents escaped_tracer_error full_lower get_referent
      join_effects leaked_tracer_error reset_trace_state typecompat EvalTrace
      TRACER_LEAK_DEBUGGER_WARNING InputType
  0.7.0 jax._src.core: trace_state_clean typecheck call_p closed_call_p typematch
  0.10.0 jax._src.core: call_impl
  0.11.0 jax._src.core: JaxprPpContext JaxprPpSettings OutputType aval_mapping_handlers
      concretization_function_error custom_typechecks is_constant_dim is_constant_shape
      literalable_types no_axis_name
  0.4.24 jax._src.dtypes dtypes
  0.4.24 jax._src.linear_util lu
  0.4.24 jax._src.pretty_printer pp
  0.4.24 jax._src.source_info_util source_info_util
  0.4.24 jax._src.traceback_util traceback_util
jax.interpreters.batching
  0.10.2 ~jax_core: not_mapped -> None
  0.4.24 jax._src.ad_util: zeros_like_p
  # The module deprecates Zero under another name, and so has lost this one already.
  0.7.1 jax._src.interpreters.batching: Zero
  0.9.0 jax._src.interpreters.batching: Array AxisSize BatchTrace BatchTracer Elt MapSpec Vmappable
      ZeroIfMapped batch_custom_jvp_subtrace batch_subtrace flatten_fun_for_vmap is_vmappable
      make_iota moveaxis to_elt from_elt_handlers make_iota_handlers spec_types to_elt_handlers
      vmappables zero_if_mapped FromEltHandler GetIdx MakeIotaHandler ToEltHandler
  0.10.0 jax._src.interpreters.batching: NotMapped
jax.interpreters.xla
  0.4.29 ~jax_translations: backend_specific_translations register_translation translations
      _translations=translations -> jax.interpreters.mlir.register_lowering
  0.3.16 ~jax_translations: lower_fun -> jax.interpreters.mlir.lower_fun
  0.4.1 ~jax_core: xla_call_p=jit_p -> the primitive of jax.jit, which is another in some releases
  0.4.36 era.xla_extension xe -> jax
  0.4.11 jax: Device DeviceArray=Array
  # A type for annotations of rules, which are functions.
  0.4.29 collections.abc: TranslationRule=Callable
  0.4.9 jax: _DeviceArray=Array
  0.4.24 jax.core: ShapedArray
  0.7.0 jax: abstractify=typeof
  0.8.0 jax.dtypes: canonicalize_dtype
  0.4.24 jax._src.core: AxisEnv
  0.7.0 jax._src.core: pytype_aval_mappings
  0.4.36 jax._src.xla_bridge xb
  0.4.36 jaxlib.xla_client xc -> jaxlib.xla_client (private to jax)
jax.interpreters.pxla
  0.4.16 ~jax_core: multi_host_supported_collectives -> any primitive
  0.4.11 jax.sharding: Mesh PartitionSpec
  0.4.14 jax: ShardedDeviceArray=Array
  0.4.16 jax._src.interpreters.pxla: ExecuteReplicated InputsHandler ResultsHandler
      UnloadedMeshExecutable tile_aval_nd untile_aval_nd array_types shard_arg_handlers
      PxlaResultHandler
  0.11.0 jax._src.interpreters.pxla: MeshExecutable global_result_handlers
  0.4.16 jax._src.sharding_impls: ArrayMappingOrAutoOrUnspecified
  0.11.0 jax._src.sharding_impls: ArrayMapping array_mapping_to_axis_resources
  0.11.0 jax._src.sharding: Index
  0.11.0 jax._src.mesh: MeshAxisName
  0.11.0 jax._src.op_shardings: op_sharding_to_indices
  0.4.16 jax._src.xla_bridge xb
jax.lib.xla_bridge
  0.2.21 jax: devices host_count=process_count host_id=process_index local_devices process_count
  0.2.21 era.xla_bridge: host_ids -> jax.process_indices
  0.2.21 era.xla_bridge: get_device_backend -> device.client
  0.4.3 jax: device_count local_device_count process_index
  0.4.38 jax: default_backend
  0.4.38 jaxlib.xla_client xla_client
jax.lib.xla_client
  0.4.38 era.xla_client: bfloat16 -> ml_dtypes.bfloat16
  0.4.38 jaxlib.xla_client: _xla
  0.5.0 jax: Device
  0.5.0 jax.errors: XlaRuntimeError=JaxRuntimeError
  0.6.0 jaxlib.xla_client: ArrayImpl -> jax.Array
  0.6.0 jax.lax: FftType
  0.6.0 jaxlib.xla_client: Shape XlaComputation
jax.lib.xla_extension
  0.6.0 jax.errors: XlaRuntimeError=JaxRuntimeError
  0.6.0 jaxlib.xla_client: ArrayImpl -> jax.Array
  0.7.0 jax: Device
jax.lib.xla_extension jaxlib.xla_extension
  0.4.3 era.xla_extension: CpuDevice -> device.platform == 'cpu'
  0.4.3 era.xla_extension: GpuDevice -> device.platform == 'gpu'
  0.4.3 era.xla_extension: TpuDevice -> device.platform == 'tpu'
jaxlib.xla_extension
  0.6.1 jax: Device
  # Gone in this release at the latest; the package index has no older wheels any more.
  0.4.13 jax: DeviceArray=Array
  0.6.1 jax.errors: XlaRuntimeError=JaxRuntimeError
# The module is empty in 0.7, and gone after it.
jax.util
  0.7.0 era.jax_util: safe_map -> list(map(..., strict=True))
  0.7.0 era.jax_util: safe_zip -> list(zip(..., strict=True))
  0.7.0 era.jax_util: unzip2 -> zip(*pairs)
  0.2.8 era.jax_util: unzip3 -> zip(*triples)
  0.2.22 functools: partial
  0.2.8 math: prod
  0.7.0 functools: wraps
  0.7.0 era.jax_util: split_dict split_list split_merge subvals wrap_name -> your own {}
  0.2.8 era.jax_util: canonicalize_axis ceil_of_ratio concatenate curry tuple_delete tuple_insert ->
      your own {}
jax.experimental.custom_partitioning
  0.4.31 jax.api_util: argnums_partial flatten_fun_nokwargs
  0.4.31 jax.errors: UnexpectedTracerError
jax.experimental.sparse.csr
  0.4.35 jax.typing: ArrayLike
jax.experimental.sparse.linalg
  0.7.0 scipy.sparse: csr_matrix
jax.experimental.jet jax.experimental.shard_map
  0.5.0 jax.api_util: shaped_abstractify
jax.experimental.shard_map
  0.5.1 jax.api_util: flatten_fun_nokwargs
  0.6.1 jax: pmap
  0.6.1 jax.core: Tracer
  0.6.1 jax.sharding: NamedSharding P=PartitionSpec PartitionSpec
  0.8.0 jax.sharding: Mesh
  0.6.1 jax.tree_util: KeyPath PyTreeDef keystr tree_flatten tree_leaves tree_map tree_structure
      tree_unflatten
  0.6.1 jax.experimental.multihost_utils: global_array_to_host_local_array
      host_local_array_to_global_array
  0.6.1 era.jax_util: split_list -> your own {}
  0.6.1 era.jax_util: unzip2 -> zip(*pairs)
  0.6.1 era.jax_util: map=safe_map -> list(map(...))
  0.6.1 era.jax_util: zip=safe_zip -> list(zip(...))
  0.4.36 era.jax_util: unzip3 -> zip(*triples)
  0.6.1 jax._src.shard_map: HashablePartial JaxType MaybeTracer NoFail ShardMapPrimitive
      ShardMapTrace ShardMapTracer SpecErrorType broadcast_prefix eager_rules generate_key_paths
      no_fail prefix_errors shard_map_p
  0.8.0 jax._src.shard_map: AxisName Specs
  0.4.36 jax._src.util: merge_lists
  0.6.1 jax._src.util: memoize partition_list
jax.tools
  0.9.2 ~jax_colab_tpu colab_tpu -> jax.devices('tpu')
jax.lib
  0.9.0 era.xla_bridge xla_bridge -> jax.extend.backend
  0.9.0 era.xla_client xla_client -> jaxlib.xla_client
  0.9.0 era.xla_extension xla_extension -> jax
jaxlib
  0.6.1 era.xla_extension xla_extension -> jax
jax.interpreters
  0.3.16 ~jax_masking masking -> padded arrays, with their lengths passed along
# From 0.4.35 to 0.7 the module was there, but with two other functions only, which just raised.
jax.experimental.host_callback
  0.4.35 era.host_callback: id_print -> jax.debug.print
  0.4.35 era.host_callback: barrier_wait -> jax.effects_barrier
jax.test_util
  0.3.8 ~jax_test_util: check_eq check_close -> numpy.testing.assert_allclose
  0.3.8 ~jax_test_case: JaxTestCase -> unittest.TestCase
  0.3.8 unittest: JaxTestLoader=TestLoader
  0.3.8 jax: device_under_test=default_backend
jax.interpreters.ad
  0.4.36 jax._src.ad_util: zeros_like_jaxval
  0.9.0 jax._src.ad_util: zeros_like_p
  0.4.36 jax._src.interpreters.ad: CustomVJPException
  0.9.0 jax._src.interpreters.ad: bilinear_transpose defjvp_zero jvp_jaxpr jvp_subtrace linear_jvp
      linear_transpose linear_transpose2 nonzero_tangent_outputs rearrange_binders standard_jvp
      standard_jvp2 traceable zero_jvp call_param_updaters call_transpose_param_updaters
      custom_lin_p
  0.10.0 jax._src.interpreters.ad: reducing_transposes
  0.4.26 jax._src.config config
  0.4.26 jax._src.source_info_util source_info_util
jax.interpreters.partial_eval
  0.5.0 jax._src.core: DebugInfo
  0.9.0 jax._src.interpreters.partial_eval: Const ConstVar DynamicJaxprTrace FreeVar Jaxpr
      JaxprEqnRecipe JaxprStackFrame JaxprTrace LambdaBinding TracerAsName TracerId
      JaxprTracerRecipe call_partial_eval_custom_rule closed_call_partial_eval_custom_rule
      make_jaxpr_effects move_binders_to_back move_binders_to_front partial_eval_jaxpr_custom
      partial_eval_jaxpr_nounits partial_eval_wrapper_nounits partition_pvals
      trace_to_subjaxpr_nounits trace_to_subjaxpr_nounits_fwd call_param_updaters
      call_partial_eval_rules const_fold_rules custom_staging_rules forwarding_rules ConstFoldRule
      DCERule ForwardingRule ParamsUpdater PartialEvalCustomResult PartialEvalCustomRule
      ResAvalUpdater close_jaxpr convert_constvars_jaxpr convert_invars_to_constvars
  0.9.0 jax._src.config config
jax.cloud_tpu_init
  0.10.0 jax._src.cloud_tpu_init: cloud_tpu_init
jax.experimental.sparse.api
  0.9.2 jax._src.core: Shape
jax.ad_checkpoint
  0.10.0 jax._src.ad_checkpoint: checkpoint remat
jax.custom_derivatives
  0.8.0 jax._src.custom_derivatives: custom_jvp_call_jaxpr_p
jax.experimental.compilation_cache.compilation_cache
  0.8.0 jax._src.compilation_cache: initialize_cache is_initialized
jax.interpreters.mlir
  0.6.0 jaxlib.mlir.dialects.func func_dialect -> jaxlib.mlir.dialects.func (private to jax)
  0.6.0 jaxlib.mlir.dialects.stablehlo hlo -> jaxlib.mlir.dialects.stablehlo (private to jax)
# Names that were private already, and that chex, treex, blackjax and others import.
jax._src.numpy.lax_numpy
  0.5.1 jax._src.numpy.scalar_types: _ScalarMeta
  0.4.7 jax: ndarray=Array
jax._src
  0.10.2 jax._src.random.prng prng
"""

_HOST_CALLBACK = "jax.experimental.host_callback"
_IS_EMPTY = "flaxoptim_compat.versions.of_jax:host_callback_is_empty"
ENTRIES = tuple(
    entry._replace(broken_if=_IS_EMPTY) if entry.name == _HOST_CALLBACK else entry
    for entry in entries(_TABLE)
)
