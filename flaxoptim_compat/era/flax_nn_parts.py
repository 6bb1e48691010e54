"""What the first version wrote for the modules of ``flax.nn``, into programs that may import it."""

from flaxoptim_compat.nn.attention import scan_in_dim as scan_in_dim
from flaxoptim_compat.nn.linear import default_embed_init as default_embed_init
from flaxoptim_compat.nn.linear import default_kernel_init as default_kernel_init
