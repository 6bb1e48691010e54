"""What is to be done about each change of a signature that is not served."""

from __future__ import annotations

import re
from typing import NamedTuple

from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from tests.legacy.calls.signature_changes import Change

SAME, DOCUMENTED = "the same in effect", "documented"


class Decision(NamedTuple):
    """Changes that one sentence is about.

    Attributes:
      outcome: whether old calls do the same, or the page says what to do.
      names: which functions, as a regular expression.
      whats: which of their changes, likewise.
      text: why it is the same, or what to do.
      shown: the functions, as the page shows them.
    """

    outcome: str
    names: str
    whats: str
    text: str
    shown: str = ""

    def is_about(self, change: Change) -> bool:
        """Whether it decides this change."""
        return bool(re.fullmatch(self.names, change.name) and re.fullmatch(self.whats, change.what))


_LAYERS = (
    "BatchNorm|Conv|ConvLocal|ConvTranspose|Dense|DenseGeneral|Dropout|Embed|GroupNorm|LayerNorm"
)

DECISIONS = (
    Decision(
        SAME, ".*", "dtype is None by default, was .*", "None is the same dtype, by jax_enable_x64"
    ),
    Decision(
        SAME, r"jax\.numpy\.einsum(_path)?", "optimize is .*", "the order of contraction is chosen"
    ),
    Decision(SAME, r"jax\.jit", "donate_argnums is None by default.*", "None donates nothing"),
    Decision(
        SAME,
        r"jax\.(numpy|Array)\.(arg)?sort",
        "kind is None by default.*",
        "all of them sort in the same, stable way",
    ),
    Decision(SAME, r"jax\.Array\.compress", "out is not .*", "this method raised an error always"),
    Decision(
        SAME, r"jax\.random\.t", "shape is None by default.*", "() was that of df, or an error"
    ),
    Decision(SAME, r"jax\.tree_util\.tree_reduce", "initializer is .*", "both say: not given"),
    Decision(
        SAME,
        r"jax\.numpy\.(load|logical_not|mask_indices|place|put)",
        ".* is needed|takes no more than these",
        "what took anything was checked inside, and needed the same",
    ),
    Decision(
        SAME,
        r"jax\.numpy\.can_cast|jax\.tree_util\.\w+Key|jax\.scipy\.stats\.gaussian_kde\.\w+"
        r"|jax\.sharding\.NamedSharding\.devices_indices_map",
        "is a (function|property) today",
        "the call is the same; it is written in C, or jitted, in one of the two",
    ),
    Decision(
        SAME, r"jax\.sharding\.Mesh\.size", "is gone", "an attribute of every mesh in place of it"
    ),
    Decision(
        SAME,
        r"jax\.core\.Tracer\.(block_until_ready|copy_to_host_async)",
        "is gone",
        "it was there to raise an AttributeError",
    ),
    Decision(
        SAME,
        r"jax\.numpy\.einsum_path",
        "subscripts is not taken by its name",
        "what is given in order after it leaves it no name",
    ),
    Decision(SAME, r"jax\.numpy\.linalg\.pinv", "rcond is rtol .*", "rtol is the same number"),
    Decision(
        SAME,
        r"flax\.linen\.partitioning\.variable_with_axes",
        "axes is None by default, .*",
        "it was needed",
    ),
    Decision(
        DOCUMENTED,
        rf"flax\.linen\.({_LAYERS})",
        "(parent|name) is .* by its place",
        "Give `name` and `parent` by their names: more settings stand before them.",
        "flax.linen.Dense(...) and the other layers",
    ),
    Decision(
        DOCUMENTED,
        r"flax\.linen\.(MultiHeadDotProduct|Self)Attention",
        ".* is .* by its place",
        "Give `bias_init` and what comes after it by their names.",
        "flax.linen.MultiHeadDotProductAttention(...), flax.linen.SelfAttention(...)",
    ),
    Decision(
        DOCUMENTED,
        r"flax\.(linen|core|core\.lift)\.(jit|checkpoint|remat|scan|vmap)",
        ".* is .* by its place",
        "Give what comes after `prevent_cse`, `static_argnums`, `data_transform` or `axis_name` by"
        " their names.",
        "flax.linen.jit, .remat, .scan and .vmap, and those of flax.core",
    ),
    Decision(
        DOCUMENTED,
        r"flax\.linen\.partitioning\.(scan_with_axes|vmap_with_axes|with_sharding_constraint)",
        ".* is .* by its place",
        "Give `axis_name`, `methods` and `fallback`, and what comes after them, by their names.",
        "flax.linen.partitioning.scan_with_axes, .vmap_with_axes, .with_sharding_constraint",
    ),
    Decision(
        DOCUMENTED,
        r"flax\.linen\.(BatchNorm\.)?tabulate",
        "(mutable|depth) is .*",
        "Give `mutable` and `depth` by their names; intermediates are left out unless"
        " `mutable=True`.",
        "flax.linen.tabulate, module.tabulate",
    ),
    Decision(
        DOCUMENTED,
        r"flax\.core\.Scope",
        "flags is debug_path by its place",
        "Give `flags` by its name.",
        "flax.core.Scope(...)",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.numpy\.linalg\.matrix_rank",
        "tol is rtol by its place",
        "Give `tol` by its name: the second argument is relative to the largest singular value.",
        "jax.numpy.linalg.matrix_rank(M, tol)",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.lax\.random_gamma_grad",
        "[ax] is not taken by its name",
        "Give both in order.",
        "jax.lax.random_gamma_grad(a=..., x=...)",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.numpy\.einsum",
        "_use_xeinsum is not taken by its name",
        "Leave `_use_xeinsum` out, and name no axes of a mapped function in the subscripts.",
        "jax.numpy.einsum(..., _use_xeinsum=True)",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.ShapeDtypeStruct\.named_shape",
        "is gone",
        "It was empty outside of `xmap`: leave it out.",
        "jax.ShapeDtypeStruct.named_shape",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.sharding\.NamedSharding\.is_compatible_aval",
        "is gone",
        "Call `check_compatible_aval(shape)`.",
        "jax.sharding.NamedSharding.is_compatible_aval",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.tree_util\.PyTreeDef\.make_from_node_data_and_children",
        "is gone",
        "Call `jax.tree_util.tree_structure` on such a tree.",
        "jax.tree_util.PyTreeDef.make_from_node_data_and_children",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.Device\.transfer_(to_infeed|from_outfeed)",
        "is gone",
        "Use `jax.experimental.io_callback`.",
        "device.transfer_to_infeed, device.transfer_from_outfeed",
    ),
    Decision(
        DOCUMENTED,
        r"jax\.experimental\.(jet\.weakref_lru_cache|multihost_utils\.ltg_batcher"
        r"|ode\.ravel_first_arg|rnn\.(rnn|lstm)_\w+)",
        ".*",
        "These are for the modules that they stand in; write your own.",
        "weakref_lru_cache, ltg_batcher, ravel_first_arg and lstm_fwd in jax.experimental",
    ),
)

# What the page says of changes before jax 0.4.13 and flax 0.5.3, which are not in the record.
OLDER = (
    (
        "jax.numpy.square(x=...), jax.numpy.power(x1=..., x2=...) and the like",
        "Give what such a function is applied to element by element in order, not by name.",
    ),
    (
        "jax.jacfwd(fun, argnums, holomorphic), and of jacrev and hessian",
        "Give `holomorphic` and `allow_int` by their names: `has_aux` stands before them.",
    ),
    (
        "jax.nn.initializers.variance_scaling(..., in_axis, out_axis, dtype)",
        "Give `dtype` by its name: `batch_axis` stands before it.",
    ),
    (
        "flax.linen.Dense(features, use_bias, dtype, precision) and the other layers",
        "Give what comes after `dtype` by its name: `param_dtype` stands before it.",
    ),
    (
        "flax.linen.dot_product_attention(query, key, value, bias, broadcast_dropout)",
        "Give what comes after `bias` by its name: `mask` stands before it.",
    ),
)

_ROWS = {
    name.removesuffix(".__init__"): {each.name for each in row.parameters}
    for row in ENTRIES
    for name in row.names.split()
}
_LOST = {row.old.removesuffix("()") for row in METHODS}


def is_served(change: Change) -> bool:
    """Whether a row of the tables is about what has changed."""
    name = change.name.replace("jax.core.Tracer.", "jax.Array.")
    if " by default, " in change.what:
        return False
    return name in _LOST or change.what.split()[0] in _ROWS.get(change.name, ())


def decision_about(change: Change) -> Decision | None:
    """What is decided about a change that is not served; None if nothing is."""
    return next((each for each in DECISIONS if each.is_about(change)), None)
