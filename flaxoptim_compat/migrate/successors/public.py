"""What the tables of names do not say, because to serve a name is not to write another one.

``flaxoptim_compat.legacy.names`` says which object serves a name. Some of these objects have a
public name elsewhere, which is what a program should say.
"""

from __future__ import annotations

_LINEN = (
    "activation avg_pool celu elu gelu glu initializers leaky_relu log_sigmoid log_softmax max_pool"
    " pooling relu sigmoid silu soft_sign softmax softplus swish tanh"
)
_TREES = "flatten leaves map structure transpose unflatten"

# {name that is gone: module:attribute of the same object}
PUBLIC: dict[str, str] = {
    # `import jax` is enough for jax.tree.
    **{f"jax.tree_{name}": f"jax:tree.{name}" for name in _TREES.split()},
    "jax.tree_multimap": "jax:tree.map",
    "jax.tree_util.tree_multimap": "jax.tree_util:tree_map",
    "jax.ops.index": "numpy:s_",
    "jax.config.config": "jax:config",
    "jax.experimental.maps.Mesh": "jax.sharding:Mesh",
    "jax.experimental.maps.mesh": "jax.sharding:Mesh",
    "jax.lib.xla_bridge.get_backend": "jax.extend.backend:get_backend",
    "jax.lib.xla_bridge.get_compile_options": "jax.extend.backend:get_compile_options",
    "jax.lib.xla_client.bfloat16": "ml_dtypes:bfloat16",
    "jax.lib.xla_extension.DeviceArray": "jax:Array",
    **{
        f"{module}.{name}": f"flax.linen:{name}"
        for module in ("flax.nn", "flax.deprecated.nn")
        for name in _LINEN.split()
    },
    **{
        f"{module}.{part}.{name}": f"flax.linen.linear:{name}"
        for module in ("flax.nn", "flax.deprecated.nn")
        for part in ("attention", "base", "linear", "normalization", "recurrent", "utils")
        for name in ("default_embed_init", "default_kernel_init")
    },
}

# {name that is gone: module:attribute that an import of it by name becomes}
IMPORTED: dict[str, str] = {
    **{f"jax.tree_{name}": f"jax.tree_util:tree_{name}" for name in _TREES.split()},
    "jax.tree_multimap": "jax.tree_util:tree_map",
}

# Where the old name is in jax 0.7 to 0.9, and only the new one from 0.10 on: neither is right in
# all versions that this package supports.
NOT_EVERYWHERE: frozenset[str] = frozenset(
    f"jax.core.{name}" for name in ("AbstractToken", "mapped_aval", "subjaxprs", "unmapped_aval")
)
