"""msgpack files that are written here: flax restores them, byte for byte what it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat.checkpoint_files import CheckpointError, array_in_memory, write_checkpoint
from tests.support.checkpoint_trees import flax_bytes, written


def test_what_is_written_is_restored_by_flax(tmp_path: Path) -> None:
    state = {"params": {"kernel": jnp.ones((2, 3), jnp.bfloat16)}, "step": jnp.int32(3)}
    content = written(serialization.to_state_dict(state), tmp_path)
    restored = serialization.from_bytes(state, content)
    assert restored["params"]["kernel"].dtype == jnp.bfloat16
    assert int(restored["step"]) == 3


def test_arrays_in_any_layout_and_byte_order_are_written_in_flax_order(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tree = {
        "big": values.astype(">f4"),
        "columns": np.asfortranarray(values),
        "lazy": array_in_memory(values.transpose(2, 0, 1)),
        "reversed": values[::-1, :, ::2],
    }
    assert written(tree, tmp_path) == flax_bytes(
        {
            "big": values,
            "columns": values,
            "lazy": values.transpose(2, 0, 1),
            "reversed": values[::-1, :, ::2],
        }
    )


class Opaque:
    pass


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"a": {"b": Opaque()}}, "a/b is Opaque"),
        ({"a": (1, 2)}, "a is tuple"),
        ({"a": np.array([None])}, "a is an array of dtype object"),
        ({"a": np.array(["text"])}, "a is an array of dtype <U4"),
        ({"a": np.zeros(1, [("x", "f4")])}, r"a is an array of dtype \[\('x'"),
        ({"a": {1: 2}}, "a has an entry named 1. Names in a checkpoint must be texts"),
        ({"a": 2**64}, "cannot hold 18446744073709551616: Integer value out of range"),
        ({"a": -(2**63) - 1}, "cannot hold -9223372036854775809: Integer value"),
        ({"a": "\ud800"}, "surrogates not allowed"),
    ],
)
def test_what_msgpack_cannot_hold_is_refused(tree: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"Nothing was written: .*{problem}"):
        write_checkpoint(tmp_path / "written", tree, "msgpack")
    assert not list(tmp_path.iterdir())
