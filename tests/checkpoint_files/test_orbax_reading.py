"""Orbax directories: what orbax, flax and T5X wrote is read, and damage is an error in words."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp
import pytest
import tensorstore
from flax import serialization
from flax.training import checkpoints
from jax.sharding import NamedSharding, PartitionSpec

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    open_checkpoint,
    write_checkpoint,
)
from tests.support.checkpoint_trees import array_of, contents, described
from tests.support.meshes import mesh_of
from tests.support.optimizer_checkpoints import checkpointing_with_orbax
from tests.support.orbax_states import save_pytree, state, state_dict
from tests.support.processes import start


def save_standard(path: Path) -> Path:
    with ocp.StandardCheckpointer() as checkpointer:
        checkpointer.save(path, state())
    return path


def save_steps(path: Path, arguments: Any) -> Path:
    with ocp.CheckpointManager(path) as manager:
        for step in (9, 10):
            manager.save(step, args=arguments)
        manager.wait_until_finished()
    return path


def save_by_flax(path: Path) -> Path:
    with checkpointing_with_orbax(True):
        checkpoints.save_checkpoint(str(path), state(), 10)
    return path


# Orbax 0.6, of the time of jax 0.4.30.
OF_OLD = version("orbax-checkpoint").startswith("0.6.")
LAYOUTS: dict[str, Callable[[Path], Path]] = {
    "database": save_pytree,
    "folders": functools.partial(save_pytree, use_ocdbt=False),
    "zarr3": functools.partial(save_pytree, use_zarr3=True),
    "zarr3 in folders": functools.partial(save_pytree, use_zarr3=True, use_ocdbt=False),
    "standard": save_standard,
    "by flax": save_by_flax,
    "steps": lambda path: save_steps(path, ocp.args.StandardSave(state())),
    "steps of items": lambda path: save_steps(
        path,
        ocp.args.Composite(
            state=ocp.args.PyTreeSave(state()), settings=ocp.args.JsonSave({"seed": 0})
        ),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_orbax_wrote_is_read(layout: str, tmp_path: Path) -> None:
    if layout in ("by flax", "steps of items") and OF_OLD:
        pytest.skip("the functions that write this layout are newer")
    path = LAYOUTS[layout](tmp_path / "x")
    assert described(contents(path)) == described(state_dict())


def test_every_kind_of_leaf_that_orbax_writes(tmp_path: Path) -> None:
    tree = {
        "a/b": np.ones(2),
        "complex": np.complex64(1 + 2j),
        "empty": {},
        "list": [np.ones(2), 3],
        "none": None,
        "scalar": np.float32(2),
        "text": "Straße",
        "truth": True,
        "tuple": (1.5, ()),
    }
    ocp.PyTreeCheckpointer().save(tmp_path / "x", tree)
    assert described(contents(tmp_path / "x")) == described(
        {
            **tree,
            "list": {"0": np.ones(2), "1": 3},
            # Orbax 0.6 has written None for an empty tuple.
            "tuple": {"0": 1.5, "1": None if OF_OLD else {}},
        }
    )


def test_arrays_that_were_sharded_are_whole(tmp_path: Path) -> None:
    mesh = mesh_of((4,), ("x",))
    values = jnp.arange(32.0).reshape(8, 4)
    sharding = NamedSharding(mesh, PartitionSpec("x"))
    ocp.PyTreeCheckpointer().save(tmp_path / "x", {"w": jax.device_put(values, sharding)})
    assert described(contents(tmp_path / "x")) == described({"w": np.asarray(values)})


def zarr(directory: Path, name: str, values: Any, compressor: Any = None) -> dict[str, Any]:
    """Write an array as T5X and early versions of orbax did, and return what says where it is."""
    spec = {
        "driver": "zarr",
        "kvstore": {"driver": "file", "path": str(directory / name)},
        "metadata": {"compressor": compressor, "shape": values.shape, "chunks": [2] * values.ndim},
    }
    store = tensorstore.open(
        spec, dtype=tensorstore.dtype(values.dtype), create=True, open=True
    ).result()
    store.write(values).result()
    written = store.spec(minimal_spec=False).to_json()
    written["kvstore"]["path"] = f"{name}/"
    assert isinstance(written, dict)
    return written


def test_early_layout_with_the_tree_in_msgpack(tmp_path: Path) -> None:
    kernel, bias = np.arange(15.0).reshape(3, 5), array_of("bfloat16", (5,))
    zarr(tmp_path, "params.Dense_0.kernel", kernel)
    zarr(tmp_path, "params.Dense_0.bias", bias)
    tree = {
        "params": {
            "Dense_0": {
                "bias": "PLACEHOLDER://params.Dense_0.bias",
                "kernel": "PLACEHOLDER://params.Dense_0.kernel",
            }
        },
        "opt_state": {"0": {}, "1": None},
        "small": np.ones(2),
        "step": 5,
    }
    (tmp_path / "checkpoint").write_bytes(serialization.msgpack_serialize(tree))
    assert described(contents(tmp_path)) == described(
        {**tree, "params": {"Dense_0": {"bias": bias, "kernel": kernel}}}
    )


def test_layout_with_small_arrays_in_msgpack_and_metadata(tmp_path: Path) -> None:
    path = save_pytree(tmp_path / "x", use_ocdbt=False)
    metadata = json.loads((path / "_METADATA").read_text())
    metadata["tree_metadata"]["('step',)"]["value_metadata"]["skip_deserialize"] = True
    (path / "_METADATA").write_text(json.dumps(metadata))
    shutil.rmtree(path / "step")
    with pytest.raises(CheckpointError, match=r"_METADATA is damaged: .*KeyError: 'step'"):
        contents(path)
    (path / "checkpoint").write_bytes(serialization.msgpack_serialize({"step": 1}))
    assert described(contents(path)) == described(state_dict())


@pytest.mark.parametrize("outside", [False, True], ids=["files", "google's storage"])
def test_t5x_checkpoints(outside: bool, tmp_path: Path) -> None:
    """T5X leaves tensorstore's description of an array in its msgpack file."""
    directory = tmp_path / "checkpoint_1000"
    kernel, row = np.arange(15, dtype=np.float32).reshape(3, 5), np.ones(3, np.float32)
    specs = [
        zarr(directory, f"{name}.encoder.kernel{rest}", values, {"id": "gzip"})
        for name, rest, values in [("target", "", kernel), ("state.param_states", ".v_row", row)]
    ]
    for spec in specs if outside else ():
        spec["path"] = spec["kvstore"].pop("path")
        spec["kvstore"] = {"driver": "gcs", "bucket": "t5x-dummy-bucket"}
    tree = {
        "version": 3,
        "optimizer": {
            "target": {"encoder": {"kernel": specs[0]}},
            "state": {
                "param_states": {"encoder": {"kernel": {"m": None, "v_row": specs[1]}}},
                "step": np.asarray(1000, np.int32),
            },
        },
    }
    content = serialization.msgpack_serialize(jax.tree.map(lambda leaf: leaf, tree))
    (directory / "checkpoint").write_bytes(content)
    expected = jax.tree.map(lambda leaf: leaf, tree)
    expected["optimizer"]["target"]["encoder"]["kernel"] = kernel
    expected["optimizer"]["state"]["param_states"]["encoder"]["kernel"]["v_row"] = row
    assert described(contents(tmp_path)) == described(expected)


@pytest.mark.parametrize("kind", ["Dict", "None"])
def test_a_parent_that_was_empty_once_does_not_matter(kind: str, tmp_path: Path) -> None:
    """Orbax keeps its entry beside those of what was put into it later."""
    path = save_pytree(tmp_path / "x")
    metadata = json.loads((path / "_METADATA").read_text())
    metadata["tree_metadata"]["('params',)"] = {
        "key_metadata": [{"key": "params", "key_type": 2}],
        "value_metadata": {"value_type": kind, "skip_deserialize": True},
    }
    (path / "_METADATA").write_text(json.dumps(metadata))
    assert described(contents(path)) == described(state_dict())


def test_an_empty_tree_is_read(tmp_path: Path) -> None:
    ocp.PyTreeCheckpointer().save(tmp_path / "x", {"a": {}})
    assert contents(tmp_path / "x") == {"a": {}}


def test_arrays_stay_on_the_disk_until_they_are_read(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "x", {"a": np.ones(3)}, "orbax")
    with open_checkpoint(tmp_path / "x") as checkpoint:
        assert isinstance(checkpoint.tree, Mapping)
        array = checkpoint.tree["a"]
        assert isinstance(array, StoredArray)
        assert (array.shape, array.dtype, array.nbytes) == ((3,), np.float64, 24)
        (tmp_path / "x" / "a" / "0").unlink()
        with pytest.raises(CheckpointError, match="'a' cannot be read"):
            array.read()


def test_nothing_is_said_and_no_process_is_left(tmp_path: Path) -> None:
    save_pytree(tmp_path / "x")
    program = """
import os, warnings
warnings.simplefilter("error")
from flaxoptim_compat.checkpoint_files import open_checkpoint, write_checkpoint
with open_checkpoint("x") as checkpoint:
    write_checkpoint("y", checkpoint.tree, "orbax")
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("alone")
"""
    done = start(["-X", "dev", "-c", program], tmp_path)
    assert (done.stdout, done.stderr) == ("alone\n", "")


def edited(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    """Change what a file of JSON holds."""

    def rewrite(path: Path) -> None:
        content = json.loads(path.read_text())
        edit(content)
        path.write_text(json.dumps(content))

    return rewrite


def updated(**entries: Any) -> Callable[[Path], object]:
    return edited(lambda content: content.update(entries))


def of_the_first(edit: Callable[[Any], object]) -> Callable[[Path], object]:
    return edited(lambda content: edit(next(iter(content["tree_metadata"].values()))))


def text(content: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(content)


UNREADABLE, ODD = "'a' cannot be read", "an entry is not as orbax"
DAMAGE: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "no description": ("a", lambda path: (path / ".zarray").unlink(), UNREADABLE),
    "no values": ("a", lambda path: (path / "0.0").unlink(), UNREADABLE),
    "cut values": ("a", lambda path: (path / "0.0").write_bytes(b"1234"), UNREADABLE),
    "text as values": ("a/.zarray", text("no JSON"), UNREADABLE),
    "huge array": ("a/.zarray", updated(shape=[2**40, 2**20]), f"{UNREADABLE}: its shape is"),
    "huge parts": (
        "a/.zarray",
        updated(chunks=[2**40, 2**10]),
        "promises arrays of 9,007,199,254,741,000 bytes",
    ),
    "many parts": (
        "a/.zarray",
        updated(shape=[9999, 99], chunks=[1, 1]),
        f"{UNREADABLE}: its shape is",
    ),
    "another dtype": ("a/.zarray", updated(dtype="|S8"), f"{UNREADABLE}: "),
    "no JSON": ("_METADATA", text("{"), "_METADATA is damaged: "),
    "deep JSON": ("_METADATA", text("[" * 100_000), "_METADATA is damaged: "),
    "a list": ("_METADATA", text("[1]"), "the content is not a JSON object"),
    "no tree": ("_METADATA", text('{"a": 1}'), ODD),
    "odd entry": ("_METADATA", of_the_first(lambda entry: entry.update(key_metadata=[{}])), ODD),
    "name outside": (
        "_METADATA",
        of_the_first(lambda entry: entry["key_metadata"][0].update(key="../../etc")),
        "an array in '../../etc', outside of the directory",
    ),
    "no text": ("_strings.json", Path.unlink, rf"{ODD} writes them \(KeyError: 'c'\)"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_and_hostile_directories_are_refused(name: str, tmp_path: Path) -> None:
    part, damage, problem = DAMAGE[name]
    path = tmp_path / "x"
    write_checkpoint(path, {"a": np.ones((2, 3)), "b": 1, "c": "text"}, "orbax")
    damage(path / part)
    with pytest.raises(CheckpointError, match=problem) as caught:
        contents(path)
    assert str(path) in str(caught.value)
    assert "source locations" not in str(caught.value)


def test_a_damaged_database_is_refused(tmp_path: Path) -> None:
    path = save_pytree(tmp_path / "x")
    for folder in path.rglob("d"):
        shutil.rmtree(folder)
    with pytest.raises(CheckpointError, match="cannot be read"):
        contents(path)


@pytest.mark.parametrize("content", [None, "", "{}"], ids=["missing", "empty", "an empty object"])
def test_a_database_without_description_is_refused(content: str | None, tmp_path: Path) -> None:
    path = save_pytree(tmp_path / "x")
    (path / "_METADATA").unlink()
    if content is not None:
        (path / "_METADATA").write_text(content)
    with pytest.raises(CheckpointError, match=r"no _METADATA that names|_METADATA is damaged"):
        contents(path)
