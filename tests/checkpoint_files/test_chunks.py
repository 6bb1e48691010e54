"""Arrays that flax splits into chunks are split, and joined, as it does."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat.checkpoint_files import StoredArray, chunks, open_checkpoint
from tests.support.checkpoint_trees import contents, described, flax_bytes, loaded, rewritten


@pytest.mark.parametrize("largest", [16, 24, 100])
def test_large_arrays_are_split_as_flax_does(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CHUNK_SIZE", largest)
    monkeypatch.setattr(chunks, "LARGEST_CHUNK", largest)
    tree = {
        "double": np.arange(15, dtype=np.float64).reshape(3, 5),
        "half": np.arange(12).astype(jnp.bfloat16).reshape(2, 1, 6),
        "just": np.zeros(largest, np.uint8),
        "list": [np.ones(30)],
        "small": np.ones(2, np.float32),
    }
    content = flax_bytes(tree)
    assert rewritten(content, tmp_path) == content
    with open_checkpoint(tmp_path / "written") as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        whole = checkpoint.tree["double"]
        assert isinstance(whole, StoredArray)
        assert (whole.shape, whole.nbytes) == ((3, 5), 120)
        assert described(loaded(checkpoint.tree)) == described(tree)
    (tmp_path / "root").write_bytes(flax_bytes(tree["double"]))
    assert described(contents(tmp_path / "root")) == described(tree["double"])
