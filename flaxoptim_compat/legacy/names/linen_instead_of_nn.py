"""The advice for names of ``flax.nn`` that Linen has in another form."""

from __future__ import annotations

from flaxoptim_compat.legacy.text_table import rows

# Flax's names for the package.
NN = ("flax.nn", "flax.deprecated.nn")

# Names in ``flax.nn`` or in one of its modules, and the code for programs that move to Linen, with
# ``{}`` for the name.
_TABLE = """
names
  BatchNorm -> flax.nn.BatchNorm(x, use_running_average=u) is
      flax.linen.BatchNorm(use_running_average=u)(x), with use_bias= for bias= and use_scale= for
      scale=. The averages are in the collection 'batch_stats' of the variables.
  Collection -> state is part of the variables: a flax.linen.Module makes it with
      self.variable('batch_stats', 'mean', init_fn), and it changes in module.apply(variables, x,
      mutable=['batch_stats']).
  Conv ConvTranspose -> flax.nn.{}(inputs, ...) is flax.linen.{}(...)(inputs), with use_bias= for
      bias=. kernel_size is a tuple, also where it was a number.
  ConvLSTM -> flax.nn.ConvLSTM(carry, x) is cell = flax.linen.ConvLSTMCell(features, kernel_size),
      then cell(carry, x), and the first carry is cell.initialize_carry(rng, x.shape).
  Dense DenseGeneral -> flax.nn.{}(inputs, ...) is flax.linen.{}(...)(inputs), with use_bias= for
      bias=.
  Embed -> flax.nn.Embed(inputs, num_embeddings, features) is embed =
      flax.linen.Embed(num_embeddings, features), then embed(inputs), and attend is a method of
      embed.
  GRUCell LSTMCell OptimizedLSTMCell -> flax.nn.{}(carry, x) is cell = flax.linen.{}(features), then
      cell(carry, x), and the first carry is cell.initialize_carry(rng, x.shape).
  GroupNorm LayerNorm -> flax.nn.{}(inputs, ...) is flax.linen.{}(...)(inputs), with use_bias= for
      bias= and use_scale= for scale=.
  Model -> keep the module and its variables apart: variables = module.init(rng, x), then
      module.apply(variables, x). flax.training.checkpoints.convert_pre_linen renames the parameters
      of old checkpoints.
  Module -> subclass flax.linen.Module, turn the arguments of apply that configure it into annotated
      fields of the class, and rename apply to __call__, decorated with flax.linen.compact.
  MultiHeadDotProductAttention -> flax.nn.MultiHeadDotProductAttention(q, kv, num_heads=n) is
      flax.linen.MultiHeadDotProductAttention(num_heads=n)(q, kv). mask=, of which
      flax.linen.make_causal_mask and make_attention_mask make parts and combine_masks the whole,
      replaces causal_mask=, the padding masks and the segmentations; decode=True replaces cache=;
      use_bias= replaces bias=.
  SelfAttention -> flax.nn.SelfAttention(x, num_heads=n, causal_mask=True) is
      flax.linen.MultiHeadDotProductAttention(num_heads=n)(x, mask=mask), where mask =
      flax.linen.make_causal_mask(x[..., 0]).
  capture_module_outputs TruncatedModule -> module.apply(variables, x, capture_intermediates=True,
      mutable=['intermediates']) returns the output and what the modules in it returned.
  dot_product_attention -> flax.linen.dot_product_attention has bias as its fourth argument, where
      the old one had dtype, and attends over axis -3 only, where the old one attended over all axes
      between the first one and the heads, or over axis=.
  dropout -> flax.nn.dropout(x, rate, deterministic=d) is flax.linen.Dropout(rate,
      deterministic=d)(x) in a module, and the key is in rngs={'dropout': rng} of module.apply.
  get_state stateful -> state is part of the variables: y, changed = module.apply(variables, x,
      mutable=['batch_stats']).
  is_stochastic -> in a flax.linen.Module, self.has_rng('dropout') says so.
  make_rng -> call self.make_rng('dropout') in a flax.linen.Module, and pass rngs={'dropout': rng}
      to module.apply.
  module -> write a subclass of flax.linen.Module: the function becomes __call__, decorated with
      flax.linen.compact, and the arguments that configure it become annotated fields.
  module_method -> methods of a flax.linen.Module need no decorator: create in setup what several of
      them use, and call module.apply(variables, x, method=module.name_of_the_method).
  stochastic -> nothing is random by context: pass rngs={'dropout': rng} to module.apply, and use
      flax.linen.Dropout, or self.make_rng('dropout'), in the module.
  Cache -> flax.linen.MultiHeadDotProductAttention(..., decode=True) keeps its cache in the
      collection 'cache' of the variables.
  CallStack MODULE_CLASSMETHODS TransparentModule classproperty collection_from_iterable
      iterate_collection -> the machinery of flax.nn used the name, and Linen does without.
  ModuleState -> self.variable('batch_stats', 'mean', init_fn) in a flax.linen.Module returns what
      self.state did, with its value in .value.
  RNNCellBase -> subclass flax.linen.RNNCellBase, whose initialize_carry(self, rng, input_shape) is
      no static method, and which asks for a property num_feature_axes.
  is_stateful -> in a flax.linen.Module, self.is_mutable_collection('batch_stats') says whether
      state can change.
  make_padding_mask -> flax.linen.make_attention_mask(query_mask, key_mask) makes the mask, with
      pairwise_fn=jnp.equal for segmentations.
"""
LINEN_INSTEAD_OF_NN: dict[str, str] = {}
for _, _row in rows(_TABLE):
    _names, _, _today = _row.partition(" -> ")
    LINEN_INSTEAD_OF_NN |= {name: _today.replace("{}", name) for name in _names.split()}
