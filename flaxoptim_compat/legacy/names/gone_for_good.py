"""Names that are gone for good, with advice for each.

Names from the inside of jax, which is made differently today, have no stand-in: a program that
takes part in tracing is written for one version.
"""

from __future__ import annotations

from flaxoptim_compat.legacy.text_table import rows

# {word in the table: the advice in several rows}
_ADVICE = {
    "MACHINERY": (
        "the name belonged to the machinery of jax, which is made differently in every release"
    ),
    "SHARDED_JIT": "use jax.jit with in_shardings= and out_shardings=",
    "KEYS": "use jax.random.key or jax.random.PRNGKey, with impl= for another generator",
    "CALLBACK": "use jax.experimental.io_callback or jax.debug.callback",
    "NAMED_SHARDING": "use jax.sharding.NamedSharding",
    "FROM_TREE_UTIL": "import the name from jax.tree_util",
    "GLOBAL_DEVICE_ARRAYS": "there are no GlobalDeviceArrays any more",
    "DOTTED": "look variables up by their keys, as in nested dicts",
}

# The names of each module that are gone, or cannot be imported unchanged.
_TABLE = """
jax
  curry -> use functools.partial
  shapecheck -> use jax.eval_shape
  enable_custom_vjp_by_custom_transpose custom_transpose -> MACHINERY
  spmd_mode -> NAMED_SHARDING
  invertible -> write the inverse, and use jax.custom_vjp
jax.config jax.config.config
  disable_omnistaging -> omnistaging cannot be switched off any more
jax.abstract_arrays
  array_types -> MACHINERY
jax.dlpack
  SUPPORTED_DTYPES -> try numpy.from_dlpack or jax.dlpack.from_dlpack
jax.prng
  PRNGImpl -> KEYS
jax.random
  default_prng_impl rbg_key unsafe_rbg_key -> KEYS
jax.sharding
  GSPMDSharding PmapSharding PositionalSharding -> NAMED_SHARDING
jax.tree_util
  AttributeKeyPathEntry -> use jax.tree_util.GetAttrKey
  GetitemKeyPathEntry -> use jax.tree_util.DictKey or SequenceKey
  register_keypaths -> use jax.tree_util.register_pytree_with_keys
  build_tree -> use jax.tree.unflatten
jax.example_libraries.optimizers
  register_pytree_node tree_flatten tree_map tree_unflatten -> FROM_TREE_UTIL
jax.experimental.multihost_utils
  tree_map -> FROM_TREE_UTIL
  pjit -> import the name from jax.experimental.pjit
jax.experimental.maps
  xmap xmap_p serial_loop SerialLoop EMPTY_ENV make_xmap_callable AxisName ResourceSet ->
      use jax.shard_map, or jax.jit with jax.sharding.NamedSharding
jax.experimental.mesh_utils
  logger -> use logging.getLogger
jax.experimental.shard_map
  AxisNames o process_env_traces register_rule register_standard -> MACHINERY
  HashableFunction as_hashable_function -> write your own
jax.experimental.sparse.transform
  popattr -> use getattr and delattr
  setnewattr -> use hasattr and setattr
jax.experimental.pjit
  AUTO -> use jax.sharding.AxisType.Auto
  ParsedPartitionSpec hashable_pytree pjit_p get_array_mapping parse_flatten_op_sharding ->
      MACHINERY
jax.experimental.host_callback
  CallbackException DType FLAGS TapFunctionException XlaBuilder XlaDevice XlaLocalClient XlaOp
      XlaShape config id_p id_tap_dep_p logger outside_call_p stop_outfeed_receiver -> CALLBACK
jax.lax
  infeed infeed_p outfeed outfeed_p -> CALLBACK
  pdot -> use jax.lax.psum of jax.lax.dot_general
  xeinsum -> use jax.numpy.einsum and jax.lax.psum
  naryop_dtype_rule random_gamma_grad_p scan_bind standard_primitive standard_abstract_eval
      unop_dtype_rule -> MACHINERY
jax.core
  extend_axis_env_nd maybe_find_leaked_tracers traverse_jaxpr_params diff_dim diff_shape
      dilate_shape greater_equal_dim greater_equal_shape has_opaque_dtype is_opaque_dtype
      is_special_dim_size same_shape_sizes stride_shape sum_dim sum_shapes symbolic_equal_one_of_dim
      symbolic_equal_shape as_hashable_function token NamedShape as_named_shape join_named_shapes
      symbolic_equal_dim ConcreteArray NameGatheringSubst ThreadLocalState TraceStack TraceState
      apply_todos call_bind_with_continuation do_subst_axis_names_jaxpr extend_axis_env
      jaxpr_uses_outfeed map_bind map_bind_with_continuation new_base_main new_main new_sublevel
      outfeed_primitives primitive_uses_outfeed process_env_traces_call process_env_traces_map
      raise_as_much_as_possible stash_axis_env subst_axis_names subst_axis_names_eqn
      subst_axis_names_jaxpr subst_axis_names_var used_axis_names check_valid_jaxtype JaxprDebugInfo
      InDBIdx MapPrimitive OutDBIdx concrete_aval lattice_join raise_to_shaped_mappings
      str_eqn_compact substitute_vars_in_output_ty used_axis_names_jaxpr DShapedArray UnshapedArray
      CallPrimitive call -> MACHINERY
jax.custom_derivatives
  custom_vjp_call_jaxpr_p -> MACHINERY
jax.interpreters.ad
  backward_pass closed_backward_pass call_transpose instantiate_zeros_aval recast_to_float0
      replace_float0s CustomJVPException unpair_pval vjp f_jvp_traceable jvp_subtrace_aux jvpfun
      map_transpose nonzero_outputs -> MACHINERY
jax.interpreters.batching
  add_batched batch_jaxpr2 batch batch_custom_vjp_bwd batch_jaxpr batch_jaxpr_axes from_elt
      matchaxis Pile PileAxis PileTy pile_axis zeros_like_batched spmd_axis_primitive_batchers
      IndexedAxisSize RaggedAxis BatchingRule vtile -> MACHINERY
  broadcast_batcher -> use batching.defbroadcasting(primitive)
  vectorized_batcher -> use batching.defvectorized(primitive)
  reducer_batcher -> use batching.defreducer(primitive, identity)
jax.interpreters.mlir
  ReplicaAxisContext xla_computation_to_mlir_module flatten_lowering_ir_args dense_bool_elements ->
      MACHINERY
jax.interpreters.partial_eval
  trace_to_jaxpr abstract_eval_fun new_eqn_recipe tracers_to_jaxpr DimensionHandlerTracer
      trace_to_subjaxpr_nounits_dyn extend_jaxpr_stack trace_to_jaxpr_final trace_to_jaxpr_final2
      trace_to_subjaxpr trace_to_subjaxpr_dynamic trace_to_subjaxpr_dynamic2 arg_info_all debug_info
      debug_info_final result_info sig_info trivial_ctx call_padding_rule def_trivial_padding
      pad_jaxpr padding_rules AbstractedAxesSpec AbstractedAxisName BoundedAxisSize
      convert_envvars_to_constvars infer_lambda_input_type instantiate_const_at
      partial_eval_jaxpr_custom_rule_not_implemented recipe_to_eqn trace_to_jaxpr_dynamic2 ->
      MACHINERY
jax.interpreters.pxla
  shard_args lower_sharding_computation Chunked MapTracer NoSharding PmapExecutable Replicated
      ShardedAxis ShardingSpec Unstacked parallel_callable spec_to_indices xla_pmap_p AUTO
      AvalDimSharding EmapInfo MapTrace MeshDimAssignment OpShardingType ParallelCallableInfo
      PmapComputation ReplicaInfo SPMDBatchTrace ShardInfo TileManual TileVectorize TilingMethod
      UnloadedPmapExecutable WeakRefList custom_resource_typing_rules device_put find_replicas
      full_to_shard_p local_aval_to_result_handler local_avals_to_results_handler
      local_result_handlers lower_mesh_computation lower_parallel_callable make_sharded_device_array
      maybe_extend_axis_env new_mesh_sharding_specs replicate resource_typecheck shard_aval
      shard_aval_handlers shard_to_full_p sharding_spec_sharding_proto spmd_primitive_batchers
      stage_parallel_callable vtile_by_mesh vtile_manual wrap_name xla_pmap xla_pmap_impl
      xla_pmap_impl_lazy mesh_sharding_specs shard_arg are_op_shardings_equal
      is_op_sharding_replicated global_aval_to_result_handler -> MACHINERY
jax.interpreters.xla
  axis_groups check_backend_matches parameter register_collective_primitive
      register_initial_style_primitive sharding_to_proto xla_shape_handlers ConcreteArray
      backend_compile TranslationContext XlaOp xla_destructure -> MACHINERY
jax.custom_transpose
  custom_transpose -> MACHINERY
jax.interpreters
  sharded_jit -> SHARDED_JIT
  invertible_ad -> write the inverse, and use jax.custom_vjp
jax.experimental
  sharded_jit -> SHARDED_JIT
  gda_serialization -> use jax.experimental.array_serialization
  callback -> use jax.make_jaxpr, and evaluate its equations
jax.tools.colab_tpu
  message -> the text was about the TPUs of Colab before jax 0.4
jax.jaxpr_util
  print_histogram vars_by_fanout -> write your own
jax.util
  HashableFunction as_hashable_function cache toposort -> write your own
numpy
  ALLOW_THREADS BUFSIZE CLIP ERR_CALL ERR_DEFAULT ERR_IGNORE ERR_LOG ERR_PRINT ERR_RAISE ERR_WARN
      FLOATING_POINT_SUPPORT MAY_SHARE_BOUNDS MAY_SHARE_EXACT RAISE SHIFT_DIVIDEBYZERO SHIFT_INVALID
      SHIFT_OVERFLOW SHIFT_UNDERFLOW UFUNC_BUFSIZE_DEFAULT UFUNC_PYVALS_NAME WRAP add_newdoc_ufunc
      get_array_wrap kernel_version numarray oldnumeric -> only numpy itself used the name
  FPE_DIVIDEBYZERO FPE_INVALID FPE_OVERFLOW FPE_UNDERFLOW geterrobj seterrobj ->
      use numpy.errstate
  MAXDIMS -> the limit is 64 today, and was 32
  compat -> the module was for Python 2
  deprecate deprecate_with_doc -> use warnings.warn
  fastCopyAndTranspose -> use a.T.copy()
  lookfor source who -> the function was for interactive sessions
  recfromcsv recfromtxt -> use numpy.genfromtxt with dtype=None
  set_numeric_ops -> use a subclass with __array_ufunc__
  set_string_function -> use numpy.set_printoptions
flax.metrics
  tensorboard -> install tensorflow and tensorboard, or use tensorboardX.SummaryWriter, whose
      methods have other names
flax.core flax.core.tracers
  trace_level -> MACHINERY
flax.errors
  GDACheckpointingRequiredError GDARestoreTargetRequiredError -> GLOBAL_DEVICE_ARRAYS
flax.training.checkpoints
  GDA_PH -> GLOBAL_DEVICE_ARRAYS
flax.core.lift
  Axis -> write Optional[int]
  ScanAxis -> write int
flax.linen
  dotgetter -> DOTTED
flax.linen.dotgetter
  DotGetter is_leaf -> DOTTED
"""

GONE: dict[str, str] = {}
for _module, _row in rows(_TABLE):
    _names, _, _advice = _row.partition(" -> ")
    for _name in _names.split():
        GONE[f"{_module}.{_name}"] = _ADVICE.get(_advice, _advice)
# The modules that had one of these names.
MODULES = frozenset(_module for _module, _ in rows(_TABLE))
