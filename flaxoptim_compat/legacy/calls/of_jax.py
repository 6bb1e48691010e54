"""Functions of jax, and methods of its arrays, that took other arguments."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.row import Call, Lost

_FUNCTIONS = "flaxoptim_compat.legacy.calls.jax_functions:"
_ARRAYS = "flaxoptim_compat.legacy.calls.arrays:"


def _renamed(name: str, took: str, today: str) -> Call:
    return Call(name, took, f"{name}({today})")


NUMPY = (
    _renamed("jax.numpy.clip", "a=arr / a_min=min a_max=max | out=-", "x, min=..., max=..."),
    _renamed("jax.numpy.reshape", "a newshape=shape order", "a, shape=..."),
    # Since jax 0.12 nothing after the dtype is taken by its place.
    _renamed("jax.numpy.array", "object dtype | copy order ndmin", "object, dtype, copy=..."),
    *(
        _renamed(
            f"jax.numpy.{name}",
            "a q axis out overwrite_input method keepdims | interpolation=method",
            "a, q, method=...",
        )
        for name in ("percentile", "quantile", "nanpercentile", "nanquantile")
    ),
    _renamed("jax.numpy.sort", "a axis | kind=None order", "a, axis"),
    _renamed("jax.numpy.argsort", "a axis | kind=None order", "a, axis"),
    _renamed("jax.numpy.compress", "condition a axis | out", "condition, a, axis"),
    _renamed("jax.numpy.where", "condition x y / * size fill_value", "condition, x, y"),
    _renamed("jax.numpy.save", "file arr allow_pickle | fix_imports=", "file, arr, allow_pickle"),
    _renamed("jax.numpy.from_dlpack", "x /", "x"),
    _renamed("jax.numpy.broadcast_to", "arr=array shape", "array, shape"),
)

LAX = (
    _renamed(
        "jax.lax.dot",
        "lhs rhs | precision preferred_element_type",
        "lhs, rhs, precision=..., preferred_element_type=...",
    ),
    _renamed(
        "jax.lax.cond", "pred true_fun false_fun *operands operand linear=", "pred, t, f, *operands"
    ),
)

LINEAR_ALGEBRA = tuple(
    _renamed(
        f"jax.lax.linalg.{name}",
        f"{arrays} | {options}",
        ", ".join([*arrays.split(), *(f"{each}=..." for each in options.split())]),
    )
    for name, arrays, options in (
        ("cholesky", "x", "symmetrize_input"),
        ("eig", "x", "compute_left_eigenvectors compute_right_eigenvectors"),
        ("eigh", "x", "lower symmetrize_input"),
        ("qr", "x", "full_matrices"),
        ("schur", "x", "compute_schur_vectors sort_eig_vals select_callable"),
        ("svd", "x", "full_matrices compute_uv"),
        ("triangular_solve", "a b", "left_side lower transpose_a conjugate_a unit_diagonal"),
    )
)

_WITH_SOFTMAX = (
    *("jax.nn", "jax.example_libraries.stax"),
    *("flax.linen", "flax.linen.activation", "flax.core.nn"),
)

TRANSFORMATIONS = (
    Call(
        "jax.checkpoint jax.remat",
        "fun | concrete= prevent_cse policy * static_argnums",
        "jax.checkpoint(fun, static_argnums=...)",
    ),
    Call(
        "jax.jit",
        "fun / | in_shardings out_shardings static_argnums static_argnames donate_argnums"
        " keep_unused device backend inline abstracted_axes=-",
        "jax.jit(fun, static_argnums=..., ...)",
        by=f"{_FUNCTIONS}jit",
        old_if=f"{_FUNCTIONS}has_numbers_first",
    ),
    _renamed(
        "jax.make_jaxpr",
        "fun static_argnums axis_env return_shape | abstracted_axes=-",
        "fun, static_argnums, axis_env, return_shape",
    ),
    _renamed(
        "jax.pmap",
        "fun axis_name * in_axes out_axes static_broadcasted_argnums devices backend axis_size"
        " donate_argnums global_arg_shapes=-",
        "fun, axis_name, ...",
    ),
    Call(
        "jax.experimental.pjit.pjit",
        "fun in_shardings out_shardings in_axis_resources=in_shardings"
        " out_axis_resources=out_shardings static_argnums static_argnames donate_argnums"
        " keep_unused device backend inline abstracted_axes=-",
        "jax.jit(fun, in_shardings=..., out_shardings=...)",
    ),
    Call(
        "jax.ShapeDtypeStruct.__init__",
        "self shape dtype | named_shape= sharding",
        "jax.ShapeDtypeStruct(shape, dtype, sharding=...)",
    ),
)

OTHER = (
    _renamed(
        "jax.lax.linalg.lu_pivots_to_permutation",
        "swaps=pivots m=permutation_size",
        "pivots, permutation_size",
    ),
    _renamed("jax.scipy.special.betaln", "x=a y=b", "a, b"),
    *(
        Call(
            " ".join(f"{module}.{name}" for module in _WITH_SOFTMAX) + more,
            "x axis where | initial=",
            f"jax.nn.{name}(x, axis, where)",
        )
        for name, more in (
            ("softmax", ""),
            ("log_softmax", " jax.example_libraries.stax.logsoftmax"),
        )
    ),
    _renamed("jax.scipy.special.exp1", "x | module=", "x"),
    Call(
        "jax.dlpack.from_dlpack",
        "dlpack=external_array backend=",
        "jax.dlpack.from_dlpack(x), of an array",
        by=f"{_FUNCTIONS}from_dlpack",
        old_if=f"{_FUNCTIONS}is_a_capsule",
    ),
    _renamed(
        "jax.dtypes.canonicalize_dtype",
        "dtype allow_opaque_dtype=allow_extended_dtype",
        "dtype, allow_extended_dtype=...",
    ),
    Call(
        "jax.scipy.linalg.solve",
        "a b sym_pos= lower overwrite_a overwrite_b debug check_finite | assume_a",
        "jax.scipy.linalg.solve(a, b, assume_a='pos')",
        by=f"{_FUNCTIONS}solve",
    ),
    *(
        _renamed(f"jax.scipy.stats.gennorm.{name}", "x p=beta", "x, beta")
        for name in ("cdf", "logpdf", "pdf")
    ),
)

VALUES = (
    Call(
        "jax.random.fold_in",
        "key data",
        "jax.random.fold_in(key, data % 2**32)",
        by=f"{_FUNCTIONS}fold_in",
        old_if=f"{_FUNCTIONS}is_negative",
    ),
    Call(
        "jax.tree_util.tree_map",
        "f tree *rest is_leaf",
        "jax.tree.map(f, tree, *rest, is_leaf=lambda x: x is None), and have f return None for it",
        by=f"{_FUNCTIONS}tree_map",
        old_if=f"{_FUNCTIONS}has_none_for_something",
    ),
    Call(
        "jax.Array.__float__ jax.Array.__int__ jax.Array.__complex__",
        "self",
        "float(x.item())",
        by=f"{_FUNCTIONS}as_scalar",
        old_if=f"{_FUNCTIONS}has_one_number",
    ),
    Call(
        "jax.Array.__bool__",
        "self",
        "x.size > 0 and bool(x)",
        by=f"{_FUNCTIONS}false",
        old_if=f"{_FUNCTIONS}has_no_number",
    ),
)

OF_ARRAYS = (
    _renamed("jax.Array.argsort", "self axis | kind=None order", "axis"),
    _renamed("jax.Array.sort", "self axis | kind=None order", "axis"),
    _renamed("jax.Array.clip", "self min max | out=-", "min, max"),
    _renamed("jax.Array.copy", "self | order=", ""),
)

ENTRIES: tuple[Call, ...] = (
    *NUMPY,
    *LAX,
    *LINEAR_ALGEBRA,
    *TRANSFORMATIONS,
    *OTHER,
    *VALUES,
    *OF_ARRAYS,
)

_CONCRETE = "flaxoptim_compat.versions.of_jax:array_types"
ALL_ARRAYS = f"{_ARRAYS}all_arrays"
_DEVICE = "next(iter(x.devices()))"

METHODS: tuple[Lost, ...] = (
    Lost("jax.Array.to_py()", f"{_ARRAYS}to_py", _CONCRETE, "numpy.asarray(x)"),
    Lost("jax.Array.device_buffer", f"{_ARRAYS}device_buffer", _CONCRETE, "x.addressable_data(0)"),
    Lost(
        "jax.Array.device_buffers",
        f"{_ARRAYS}device_buffers",
        _CONCRETE,
        "[shard.data for shard in x.addressable_shards]",
    ),
    # Since jax 0.4.31 an array has its device, which is called; before it has a method.
    Lost("jax.Array.device()", f"{_ARRAYS}itself", f"{_ARRAYS}devices", _DEVICE, "__call__"),
    Lost("jax.Array.device()", f"{_ARRAYS}device", f"{_ARRAYS}without_device", _DEVICE),
    Lost("jax.Array.broadcast()", f"{_ARRAYS}broadcast", ALL_ARRAYS, "jax.lax.broadcast(x, sizes)"),
    Lost(
        "jax.Array.broadcast_in_dim()",
        f"{_ARRAYS}broadcast_in_dim",
        ALL_ARRAYS,
        "jax.lax.broadcast_in_dim(x, shape, broadcast_dimensions)",
    ),
    Lost("jax.Array.split()", f"{_ARRAYS}split", ALL_ARRAYS, "jax.numpy.split(x, indices)"),
)
