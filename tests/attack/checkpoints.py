"""Damaged checkpoints in every format: each is read and converted, or is an error in a line."""

from __future__ import annotations

import io
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import serialization, traverse_util

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_files import open_checkpoint, write_checkpoint
from tests.attack.attempts import Broken, command, names_in
from tests.attack.damage import OF_BYTES, damaged, of_tree

_FORMS = ("train-state", "nnx", "legacy")
# Larger than its own checkpoints is none of the results.
_CONVERTED = 0.3


class Checkpoints:
    """Each attempt damages a checkpoint of one format, and inspects or converts it.

    Args:
      folder: an empty one.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "inside"
        self._folder.mkdir()
        self._outside = folder
        self._trees = [_state_dict(kind) for kind in ("Adam", "Momentum", "train state", "two")]
        self._files = {
            "msgpack": [serialization.msgpack_serialize(tree) for tree in self._trees],
            "npz": [_npz(tree, save) for tree in self._trees for save in _SAVED_BY],
        }
        self._directories = folder / "directories"
        for number, tree in enumerate(self._trees):
            _as_orbax(tree, self._directories / str(number))

    def attempt(self, source: random.Random) -> str:
        """Damage one, and read it."""
        kind = source.choice(["bytes", "bytes", "tree", "tree", "npz", "npz", "orbax"])
        path = self._folder / "checkpoint"
        try:
            if kind == "orbax":
                self._damage_directory(path, source)
            elif kind == "tree":
                tree = of_tree(source.choice(self._trees), source)
                path.write_bytes(serialization.msgpack_serialize(tree, in_place=True))
            else:
                seeds = self._files["msgpack" if kind == "bytes" else "npz"]
                path.write_bytes(damaged(source.choice(seeds), source, OF_BYTES))
            return f"{kind} {self._read(path, source)}"
        finally:
            shutil.rmtree(self._folder)
            self._folder.mkdir()

    def close(self) -> None:
        """Nothing is left to do."""

    def _damage_directory(self, path: Path, source: random.Random) -> None:
        shutil.copytree(source.choice(sorted(self._directories.iterdir())), path)
        files = sorted(each for each in path.rglob("*") if each.is_file())
        for file in source.sample(files, source.choice([1, 1, 2])):
            if source.random() < 0.1:
                file.unlink()
            elif content := file.read_bytes():
                file.write_bytes(damaged(content, source, OF_BYTES))

    def _read(self, path: Path, source: random.Random) -> str:
        before = names_in(self._folder)
        out = self._folder / "out"
        if source.random() < _CONVERTED:
            status = command("checkpoint", "convert", path, out, "--to", source.choice(_FORMS))
        else:
            status = command("checkpoint", "inspect", path)
        left = {name for name in names_in(self._folder) - before if name.partition("/")[0] != "out"}
        if left or (status == 2 and out.exists()):
            raise Broken(f"left behind: {sorted(left)}")
        if len(list(self._outside.iterdir())) != 2:
            raise Broken("a file outside")
        return "refused" if status == 2 else "read"


def _state_dict(kind: str) -> Any:
    params = {
        "Dense_0": {"kernel": jnp.arange(6.0).reshape(2, 3), "bias": jnp.zeros(3)},
        "scale": jnp.ones((), jnp.bfloat16),
    }
    name = "Momentum" if kind == "Momentum" else "Adam"
    optimizer = getattr(optim, name)(1e-3).create(params).apply_gradient(params)
    if kind == "train state":
        return serialization.to_state_dict(optimizer.to_train_state())
    tree = serialization.to_state_dict(optimizer)
    if kind == "two":
        return {"epoch": 3, "models": {"a": tree, "b": tree}, "rng": np.zeros(2, np.uint32)}
    return tree


_SAVED_BY: tuple[Callable[..., None], ...] = (np.savez, np.savez_compressed)


def _npz(tree: Any, save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    flat = traverse_util.flatten_dict(tree, sep="/")
    save(buffer, **{name: np.asarray(leaf, np.float32) for name, leaf in flat.items()})
    return buffer.getvalue()


def _as_orbax(tree: Any, path: Path) -> None:
    file = path.with_suffix(".msgpack")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(serialization.msgpack_serialize(tree))
    with open_checkpoint(file) as checkpoint:
        write_checkpoint(path, checkpoint.tree, "orbax")
    file.unlink()
