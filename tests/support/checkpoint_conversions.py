"""Converting checkpoints as the command does, and comparing what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import serialization

from flaxoptim_compat.checkpoint_conversion.between_files import convert_checkpoint
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings


def written(path: Path, tree: Any) -> Path:
    """A msgpack file as flax writes it."""
    path.write_bytes(serialization.to_bytes(tree))
    return path


def converted(source: Path, to: Any, fits: Any = None, **settings: Any) -> bytes:
    """The bytes of the msgpack file that a checkpoint is converted to."""
    destination = source.with_name(f"{source.name}.{to}")
    convert_checkpoint(source, destination, ConversionSettings(to, **settings), fits=fits)
    return destination.read_bytes()


def with_moments(optimizer: Any, step: int = 2) -> Any:
    """The optimizer after so many steps as far as it tells, with moments that are all different."""
    states = jax.tree.map(_waves, optimizer.state.param_states)
    return optimizer.replace(
        state=optimizer.state.replace(step=jnp.asarray(step, jnp.int32), param_states=states)
    )


def _waves(leaf: Any) -> Any:
    if leaf.shape == (1,):
        return leaf  # what Adafactor has no use for stays 0
    return jnp.abs(jnp.sin(jnp.arange(leaf.size, dtype=leaf.dtype) + 0.5)).reshape(leaf.shape)


def with_rate(content: bytes, rate: float) -> bytes:
    """A converted msgpack file with this learning rate for NaN."""
    tree = serialization.msgpack_restore(content)
    _set_rate(tree, rate)
    return serialization.msgpack_serialize(tree, in_place=True)


def _set_rate(node: Any, rate: float) -> None:
    if not isinstance(node, dict):
        return
    for name, child in node.items():
        if name == "hyperparams":
            assert np.isnan(child["learning_rate"]) and child["learning_rate"].dtype == np.float32
            child["learning_rate"] = np.asarray(rate, np.float32)
        else:
            _set_rate(child, rate)
