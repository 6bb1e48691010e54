"""What to write in Linen for the names of ``flax.nn`` that are no others there."""

from __future__ import annotations

# What Flax called the package.
NN = ("flax.nn", "flax.deprecated.nn")

_CALLED_TWICE = (
    "flax.nn.{name}(inputs, ...) is flax.linen.{name}(...)(inputs), "
    "with use_bias= for bias={scale}."
)
_USE_SCALE = " and use_scale= for scale="
_CELL = (
    "flax.nn.{name}(carry, x) is cell = flax.linen.{now}({arguments}), then cell(carry, x), "
    "and the first carry is cell.initialize_carry(rng, x.shape)."
)
_CAPTURE = (
    "module.apply(variables, x, capture_intermediates=True, mutable=['intermediates']) returns "
    "the output and what the modules in it returned."
)
_RANDOM = (
    "call self.make_rng('dropout') in a flax.linen.Module, "
    "and pass rngs={'dropout': rng} to module.apply."
)
_STATE = (
    "state is part of the variables: "
    "y, changed = module.apply(variables, x, mutable=['batch_stats'])."
)
_INTERNAL = "it served the machinery of flax.nn, which Linen does without."

# What programs that move to Linen write, by the name in ``flax.nn`` or in one of its modules.
LINEN_INSTEAD_OF_NN = {
    "BatchNorm": (
        "flax.nn.BatchNorm(x, use_running_average=u) is "
        "flax.linen.BatchNorm(use_running_average=u)(x), with use_bias= for bias= and use_scale= "
        "for scale=. The averages are in the collection 'batch_stats' of the variables."
    ),
    "Collection": (
        "state is part of the variables: a flax.linen.Module makes it with "
        "self.variable('batch_stats', 'mean', init_fn), and it changes in "
        "module.apply(variables, x, mutable=['batch_stats'])."
    ),
    "Conv": _CALLED_TWICE.format(name="Conv", scale="")
    + " kernel_size is a tuple, also where it was a number.",
    "ConvLSTM": _CELL.format(
        name="ConvLSTM", now="ConvLSTMCell", arguments="features, kernel_size"
    ),
    "ConvTranspose": _CALLED_TWICE.format(name="ConvTranspose", scale="")
    + " kernel_size is a tuple, also where it was a number.",
    "Dense": _CALLED_TWICE.format(name="Dense", scale=""),
    "DenseGeneral": _CALLED_TWICE.format(name="DenseGeneral", scale=""),
    "Embed": (
        "flax.nn.Embed(inputs, num_embeddings, features) is "
        "embed = flax.linen.Embed(num_embeddings, features), then embed(inputs), "
        "and attend is a method of embed."
    ),
    "GRUCell": _CELL.format(name="GRUCell", now="GRUCell", arguments="features"),
    "GroupNorm": _CALLED_TWICE.format(name="GroupNorm", scale=_USE_SCALE),
    "LSTMCell": _CELL.format(name="LSTMCell", now="LSTMCell", arguments="features"),
    "LayerNorm": _CALLED_TWICE.format(name="LayerNorm", scale=_USE_SCALE),
    "Model": (
        "keep the module and its variables apart: variables = module.init(rng, x), then "
        "module.apply(variables, x). flax.training.checkpoints.convert_pre_linen renames the "
        "parameters of old checkpoints."
    ),
    "Module": (
        "subclass flax.linen.Module, turn the arguments of apply that configure it into annotated "
        "fields of the class, and rename apply to __call__, decorated with flax.linen.compact."
    ),
    "MultiHeadDotProductAttention": (
        "flax.nn.MultiHeadDotProductAttention(q, kv, num_heads=n) is "
        "flax.linen.MultiHeadDotProductAttention(num_heads=n)(q, kv). mask=, of which "
        "flax.linen.make_causal_mask and make_attention_mask make parts and combine_masks the "
        "whole, replaces causal_mask=, the padding masks and the segmentations; decode=True "
        "replaces cache=; use_bias= replaces bias=."
    ),
    "OptimizedLSTMCell": _CELL.format(
        name="OptimizedLSTMCell", now="OptimizedLSTMCell", arguments="features"
    ),
    "SelfAttention": (
        "flax.nn.SelfAttention(x, num_heads=n, causal_mask=True) is "
        "flax.linen.MultiHeadDotProductAttention(num_heads=n)(x, mask=mask), where "
        "mask = flax.linen.make_causal_mask(x[..., 0])."
    ),
    "capture_module_outputs": _CAPTURE,
    "dot_product_attention": (
        "flax.linen.dot_product_attention has bias as its fourth argument, where the old one had "
        "dtype, and attends over axis -3 only, where the old one attended over all axes between "
        "the first one and the heads, or over axis=."
    ),
    "dropout": (
        "flax.nn.dropout(x, rate, deterministic=d) is flax.linen.Dropout(rate, deterministic=d)(x) "
        "in a module, and the key is in rngs={'dropout': rng} of module.apply."
    ),
    "get_state": _STATE,
    "is_stochastic": "in a flax.linen.Module, self.has_rng('dropout') says so.",
    "make_rng": _RANDOM,
    "module": (
        "write a subclass of flax.linen.Module: the function becomes __call__, decorated with "
        "flax.linen.compact, and the arguments that configure it become annotated fields."
    ),
    "module_method": (
        "methods of a flax.linen.Module need no decorator: create in setup what several of them "
        "use, and call module.apply(variables, x, method=module.name_of_the_method)."
    ),
    "stateful": _STATE,
    "stochastic": (
        "nothing is random by context: pass rngs={'dropout': rng} to module.apply, "
        "and use flax.linen.Dropout, or self.make_rng('dropout'), in the module."
    ),
    # What only its modules had.
    "Cache": (
        "flax.linen.MultiHeadDotProductAttention(..., decode=True) keeps its cache in the "
        "collection 'cache' of the variables."
    ),
    "CallStack": _INTERNAL,
    "MODULE_CLASSMETHODS": _INTERNAL,
    "ModuleState": (
        "self.variable('batch_stats', 'mean', init_fn) in a flax.linen.Module returns what "
        "self.state did, with its value in .value."
    ),
    "RNNCellBase": (
        "subclass flax.linen.RNNCellBase, whose initialize_carry(self, rng, input_shape) is no "
        "static method, and which asks for a property num_feature_axes."
    ),
    "TransparentModule": _INTERNAL,
    "TruncatedModule": _CAPTURE,
    "classproperty": _INTERNAL,
    "collection_from_iterable": _INTERNAL,
    "is_stateful": (
        "in a flax.linen.Module, self.is_mutable_collection('batch_stats') says whether state "
        "can change."
    ),
    "iterate_collection": _INTERNAL,
    "make_padding_mask": (
        "flax.linen.make_attention_mask(query_mask, key_mask) makes the mask, with "
        "pairwise_fn=jnp.equal for segmentations."
    ),
}
