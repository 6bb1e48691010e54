"""Orbax directories written here: orbax and flax restore them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
from flax.training import checkpoints, orbax_utils

from flaxoptim_compat.checkpoint_files import CheckpointError, write_checkpoint
from tests.support.checkpoint_trees import DTYPES, array_of, contents, described
from tests.support.orbax_states import state, state_dict, template


def restore_with_standard(path: Path, like: Any) -> Any:
    with ocp.StandardCheckpointer() as checkpointer:
        return checkpointer.restore(path, like)


def restore_as_a_step(path: Path, like: Any) -> Any:
    shutil.copytree(path, path.parent / "steps" / "7" / "default")
    with ocp.CheckpointManager(path.parent / "steps") as manager:
        return manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(like))


WAYS: dict[str, Callable[[Path, Any], Any]] = {
    "PyTreeCheckpointer": lambda path, like: ocp.PyTreeCheckpointer().restore(path, item=like),
    "PyTreeCheckpointer with arguments": lambda path, like: ocp.PyTreeCheckpointer().restore(
        path, item=like, restore_args=orbax_utils.restore_args_from_target(like)
    ),
    "StandardCheckpointer": restore_with_standard,
    "StandardCheckpointer, abstract": lambda path, like: restore_with_standard(
        path, jax.tree.map(ocp.utils.to_shape_dtype_struct, like)
    ),
    "CheckpointManager": restore_as_a_step,
    "flax": checkpoints.restore_checkpoint,
}


@pytest.mark.parametrize("empty", [{}, None], ids=["empty", "none"])
@pytest.mark.parametrize("way", WAYS)
def test_orbax_restores_what_is_written_into_a_train_state(
    way: str, empty: Any, tmp_path: Path
) -> None:
    if way == "flax" and not hasattr(checkpoints, "ORBAX_METADATA_FILENAME"):
        pytest.skip("before flax 0.9 it knows a directory of orbax by two other files")
    write_checkpoint(tmp_path / "x", state_dict(empty), "orbax")
    restored = WAYS[way](tmp_path / "x", template())
    assert jax.tree.structure(restored) == jax.tree.structure(template())
    assert int(restored.step) == 1
    for ours, theirs in zip(jax.tree.leaves(restored), jax.tree.leaves(state()), strict=True):
        assert jnp.result_type(ours) == jnp.result_type(theirs)
        assert np.asarray(ours).tobytes() == np.asarray(theirs).tobytes()


@pytest.mark.parametrize("sequences", [True, False])
def test_numbered_names_are_those_of_a_list_or_names(tmp_path: Path, sequences: bool) -> None:
    tree = {"numbered": {"0": {"w": np.ones(2)}, "1": {"w": np.zeros(2)}}}
    write_checkpoint(tmp_path / "x", tree, "orbax", sequences=sequences)
    assert described(contents(tmp_path / "x")) == described(tree)
    restored = ocp.PyTreeCheckpointer().restore(tmp_path / "x")["numbered"]
    assert type(restored) is (list if sequences else dict)
    assert restored[0 if sequences else "0"]["w"].tolist() == [1.0, 1.0]


def test_orbax_restores_every_kind_of_leaf(tmp_path: Path) -> None:
    tree = {
        "arrays": {name: array_of(name, (2, 3)) for name in DTYPES},
        "complex": 1 + 2j,
        "empty": {},
        "fraction": 2.5,
        "list": [np.ones(2), 3],
        "none": None,
        "shapes": {str(n): array_of("float32", (2,) * n) for n in range(4)},
        "text": "Straße",
        "truth": True,
        "with/slash": {"b/c": np.ones(2)},
    }
    numbered = {**tree, "list": {"1": 3, "0": np.ones(2)}}
    write_checkpoint(tmp_path / "x", numbered, "orbax")
    assert described(contents(tmp_path / "x")) == described(numbered)
    restored = ocp.PyTreeCheckpointer().restore(tmp_path / "x")
    restored["shapes"] = dict(zip("0123", restored["shapes"], strict=True))
    assert described(restored) == described(tree)


def test_a_numpy_scalar_stays_one(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "x", {"rate": np.float32(0.5)}, "orbax")
    assert described(contents(tmp_path / "x")) == described({"rate": np.float32(0.5)})


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"a": {"b": np.zeros((0, 3))}}, r"a/b is an array of shape \(0, 3\), which has no values"),
        ({"a": array_of("float8_e4m3")}, "a is an array of dtype float8_e4m3"),
        ({"a": np.zeros(2, np.longdouble)}, "a is an array of dtype "),
        ({"a": b"bytes"}, "a is bytes"),
        ({"a": 2**63}, "a is the integer 9223372036854775808"),
        ({"a": {"b": np.ones(1)}, "a.b": np.ones(1)}, r"a\.b is an array with a name of that kind"),
        ({"../../a": np.ones(1)}, r"\.\./\.\./a is an array with a name of that kind"),
        ({"/a": np.ones(1)}, "/a is an array with a name of that kind"),
        ({"a": {"": np.ones(1)}, "b/": {"": np.ones(1)}}, "an array with a name of that kind"),
        ({}, "orbax holds arrays by names"),
        (np.ones(2), "orbax holds arrays by names"),
        ({"a": np.array([None])}, "a is an array of dtype object"),
    ],
    ids=str,
)
def test_what_orbax_cannot_hold_is_refused(tree: Any, problem: str, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    with pytest.raises(CheckpointError, match=f"Nothing was written: .*{problem}"):
        write_checkpoint(tmp_path / "here" / "x", tree, "orbax")
    assert [path.name for path in tmp_path.rglob("*")] == ["here"]
