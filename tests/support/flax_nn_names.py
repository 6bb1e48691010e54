"""The names that flax.nn had, in the package and in its modules."""

from __future__ import annotations


def names(text):
    return text.split()


# What flax 0.1.0 to 0.3.6 had, without what the modules imported for themselves.
IN_PACKAGE = names(
    """
    BatchNorm Collection Conv ConvLSTM ConvTranspose Dense DenseGeneral Embed GRUCell GroupNorm
    LSTMCell LayerNorm Model Module MultiHeadDotProductAttention OptimizedLSTMCell SelfAttention
    activation attention avg_pool base capture_module_outputs celu dot_product_attention dropout elu
    gelu get_state glu initializers is_stochastic leaky_relu linear log_sigmoid log_softmax make_rng
    max_pool module module_method normalization pooling recurrent relu sigmoid silu soft_sign
    softmax softplus stateful stochastic swish tanh utils
    """
)
ACTIVATIONS = names(
    """
    celu elu gelu glu hard_sigmoid hard_swish hard_tanh leaky_relu log_sigmoid log_softmax normalize
    relu relu6 selu sigmoid silu soft_sign softmax softplus swish tanh
    """
)
INITIALIZERS = names(
    """
    delta_orthogonal kaiming_normal kaiming_uniform lecun_normal lecun_uniform normal ones
    orthogonal uniform variance_scaling xavier_normal xavier_uniform zeros
    """
)
IN_PARTS = names(
    """
    Cache MultiHeadDotProductAttention SelfAttention dot_product_attention make_padding_mask
    scan_in_dim Collection MODULE_CLASSMETHODS Model Module ModuleState TransparentModule
    TruncatedModule capture_module_outputs collection_from_iterable get_state is_stateful
    iterate_collection module module_method stateful Conv ConvTranspose Dense DenseGeneral Embed
    default_embed_init default_kernel_init BatchNorm GroupNorm LayerNorm ConvLSTM GRUCell LSTMCell
    OptimizedLSTMCell RNNCellBase CallStack classproperty
    """
)
