"""Parameters and selections for several optimizers in one optax.partition."""

from __future__ import annotations

import types

import jax.numpy as jnp
import numpy as np

BIASES = 'optim.ModelParamTraversal(lambda path, _: path.endswith("/bias"))'


def traversal(text: str) -> str:
    return f"optim.ModelParamTraversal({text})"


PARAMS = {
    "head": {
        "bias": jnp.linspace(-1.0, 1.0, 5),
        "kernel": jnp.linspace(0.1, 1.2, 12).reshape(3, 4),
    },
    "kept": jnp.asarray(np.array([-0.0, np.nan, np.inf, 1e-45, 2.0], np.float32)),
    "tail": {"kernel": jnp.linspace(-0.5, 0.5, 6).reshape(2, 3)},
}
SCOPE = {
    "cfg": types.SimpleNamespace(decay=0.03, beta=0.8),
    "is_bias": lambda path, value: path == "/head/bias" and value.ndim == 1,
}
