"""Functions of jax, and methods of its arrays, that took other arguments."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.row import LostMember, OldCall
from flaxoptim_compat.legacy.text_table import rows

_FUNCTIONS = "flaxoptim_compat.legacy.calls.jax_functions:"

# Functions whose arguments have only other names or another order today. A row has the function,
# its old parameters as in OldCall, and its arguments today.
_TABLE = """
jax.numpy
  clip: a=arr / a_min=min a_max=max | out=- -> x, min=..., max=...
  reshape: a newshape=shape order -> a, shape=...
  # Since jax 0.12 no argument after the dtype is taken by its place.
  array: object dtype | copy order ndmin -> object, dtype, copy=...
  percentile quantile nanpercentile nanquantile: a q axis out overwrite_input method keepdims |
      interpolation=method -> a, q, method=...
  sort argsort: a axis | kind=None order -> a, axis
  compress: condition a axis | out -> condition, a, axis
  where: condition x y / * size fill_value -> condition, x, y
  save: file arr allow_pickle | fix_imports= -> file, arr, allow_pickle
  from_dlpack: x / -> x
  broadcast_to: arr=array shape -> array, shape
jax.lax
  dot: lhs rhs | precision preferred_element_type -> lhs, rhs, precision=...,
      preferred_element_type=...
  cond: pred true_fun false_fun *operands operand linear= -> pred, t, f, *operands
jax.lax.linalg
  cholesky: x | symmetrize_input -> x, symmetrize_input=...
  eig: x | compute_left_eigenvectors compute_right_eigenvectors -> x, compute_left_eigenvectors=...,
      compute_right_eigenvectors=...
  eigh: x | lower symmetrize_input -> x, lower=..., symmetrize_input=...
  qr: x | full_matrices -> x, full_matrices=...
  schur: x | compute_schur_vectors sort_eig_vals select_callable -> x, compute_schur_vectors=...,
      sort_eig_vals=..., select_callable=...
  svd: x | full_matrices compute_uv -> x, full_matrices=..., compute_uv=...
  triangular_solve: a b | left_side lower transpose_a conjugate_a unit_diagonal -> a, b,
      left_side=..., lower=..., transpose_a=..., conjugate_a=..., unit_diagonal=...
  lu_pivots_to_permutation: swaps=pivots m=permutation_size -> pivots, permutation_size
jax
  make_jaxpr: fun static_argnums axis_env return_shape | abstracted_axes=- -> fun, static_argnums,
      axis_env, return_shape
  pmap: fun axis_name * in_axes out_axes static_broadcasted_argnums devices backend axis_size
      donate_argnums global_arg_shapes=- -> fun, axis_name, ...
jax.scipy.special
  betaln: x=a y=b -> a, b
  exp1: x | module= -> x
jax.dtypes
  canonicalize_dtype: dtype allow_opaque_dtype=allow_extended_dtype -> dtype,
      allow_extended_dtype=...
jax.scipy.stats.gennorm
  cdf logpdf pdf: x p=beta -> x, beta
jax.Array
  argsort sort: self axis | kind=None order -> axis
  clip: self min max | out=- -> min, max
  copy: self | order=
"""


def _of(module: str, row: str) -> list[OldCall]:
    names, _, arguments = row.partition(": ")
    took, _, today = arguments.partition(" -> ")
    functions = [f"{module}.{name}" for name in names.split()]
    return [OldCall(function, took, f"{function}({today})") for function in functions]


_WITH_SOFTMAX = (
    *("jax.nn", "jax.example_libraries.stax"),
    *("flax.linen", "flax.linen.activation", "flax.core.nn"),
)

ENTRIES: tuple[OldCall, ...] = (
    *(call for module, row in rows(_TABLE) for call in _of(module, row)),
    OldCall(
        "jax.checkpoint jax.remat",
        "fun | concrete= prevent_cse policy * static_argnums",
        "jax.checkpoint(fun, static_argnums=...)",
    ),
    OldCall(
        "jax.jit",
        "fun / | in_shardings out_shardings static_argnums static_argnames donate_argnums"
        " keep_unused device backend inline abstracted_axes=-",
        "jax.jit(fun, static_argnums=..., ...)",
        by=f"{_FUNCTIONS}jit",
        old_if=f"{_FUNCTIONS}has_numbers_first",
    ),
    OldCall(
        "jax.experimental.pjit.pjit",
        "fun in_shardings out_shardings in_axis_resources=in_shardings"
        " out_axis_resources=out_shardings static_argnums static_argnames donate_argnums"
        " keep_unused device backend inline abstracted_axes=-",
        "jax.jit(fun, in_shardings=..., out_shardings=...)",
    ),
    OldCall(
        "jax.ShapeDtypeStruct.__init__",
        "self shape dtype | named_shape= sharding",
        "jax.ShapeDtypeStruct(shape, dtype, sharding=...)",
    ),
    *(
        OldCall(
            " ".join(f"{module}.{name}" for module in _WITH_SOFTMAX) + more,
            "x axis where | initial=",
            f"jax.nn.{name}(x, axis, where)",
        )
        for name, more in (
            ("softmax", ""),
            ("log_softmax", " jax.example_libraries.stax.logsoftmax"),
        )
    ),
    OldCall(
        "jax.dlpack.from_dlpack",
        "dlpack=external_array backend=",
        "jax.dlpack.from_dlpack(x), of an array",
        by=f"{_FUNCTIONS}from_dlpack",
        old_if=f"{_FUNCTIONS}is_a_capsule",
    ),
    OldCall(
        "jax.scipy.linalg.solve",
        "a b sym_pos= lower overwrite_a overwrite_b debug check_finite | assume_a",
        "jax.scipy.linalg.solve(a, b, assume_a='pos')",
        by=f"{_FUNCTIONS}solve",
    ),
    OldCall(
        "jax.random.fold_in",
        "key data",
        "jax.random.fold_in(key, data % 2**32)",
        by=f"{_FUNCTIONS}fold_in",
        old_if=f"{_FUNCTIONS}is_negative",
    ),
    OldCall(
        "jax.tree_util.tree_map",
        "f tree *rest is_leaf",
        "jax.tree.map(f, tree, *rest, is_leaf=lambda x: x is None), and have f return None for it",
        by=f"{_FUNCTIONS}tree_map",
        old_if=f"{_FUNCTIONS}has_none_for_something",
    ),
    OldCall(
        "jax.Array.__float__ jax.Array.__int__ jax.Array.__complex__",
        "self",
        "float(x.item())",
        by=f"{_FUNCTIONS}as_scalar",
        old_if=f"{_FUNCTIONS}has_one_number",
    ),
    OldCall(
        "jax.Array.__bool__",
        "self",
        "x.size > 0 and bool(x)",
        by=f"{_FUNCTIONS}false",
        old_if=f"{_FUNCTIONS}has_no_number",
    ),
)

_CONCRETE = "flaxoptim_compat.versions.of_jax:array_types"
ALL_ARRAYS = f"{_FUNCTIONS}all_arrays"
_DEVICE = "next(iter(x.devices()))"

METHODS: tuple[LostMember, ...] = (
    LostMember("jax.Array.to_py()", "numpy:asarray", _CONCRETE, "numpy.asarray(x)"),
    LostMember(
        "jax.Array.device_buffer", f"{_FUNCTIONS}device_buffer", _CONCRETE, "x.addressable_data(0)"
    ),
    LostMember(
        "jax.Array.device_buffers",
        f"{_FUNCTIONS}device_buffers",
        _CONCRETE,
        "[shard.data for shard in x.addressable_shards]",
    ),
    # Since jax 0.4.31 `device` is an attribute, whose value can be called here; before, a method.
    LostMember(
        "jax.Array.device()", f"{_FUNCTIONS}itself", f"{_FUNCTIONS}devices", _DEVICE, "__call__"
    ),
    LostMember("jax.Array.device()", f"{_FUNCTIONS}device", f"{_FUNCTIONS}without_device", _DEVICE),
    LostMember(
        "jax.Array.broadcast()", "jax.lax:broadcast", ALL_ARRAYS, "jax.lax.broadcast(x, sizes)"
    ),
    LostMember(
        "jax.Array.broadcast_in_dim()",
        "jax.lax:broadcast_in_dim",
        ALL_ARRAYS,
        "jax.lax.broadcast_in_dim(x, shape, broadcast_dimensions)",
    ),
    LostMember("jax.Array.split()", "jax.numpy:split", ALL_ARRAYS, "jax.numpy.split(x, indices)"),
)
