"""A recorded run, read from the file that ``recorder.py`` wrote on another machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import dtype_named
from flaxoptim_compat.checkpoint_files.npz import open_npz
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, Tree
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.versions.of_jax import slashed

if TYPE_CHECKING:
    from typing import Self

_WHAT = "flaxoptim_compat recording"
_FORMAT = 1
_DEEPEST = 200
_LEAF = re.compile(r"(?P<name>\w+)\.(?P<dtype>\w+)", re.ASCII)
_COPY_AGAIN = " Copy the file again, or record again."


class Recording:
    """Parameters, gradients and moments of consecutive updates, as another machine made them.

    The arrays stay in the file until they are asked for. The first update is number 0.

    Args:
      path: the file.
      steps: how many updates it has.
      start_step: how many updates the optimizer had done before.
      names: the paths of the parameters, such as ``dense/kernel``, in the order of their leaves.
      definition: the class and the numeric hyper-parameters that were recorded; empty where
        parameters without an optimizer were.
      versions: the versions of jax and other packages, and the device, on that machine.
      overrides: for each hyper-parameter that was given at the updates, an array with all values.
    """

    def __init__(self, path: Path, tree: Tree) -> None:
        self.path = path
        # The open file, which ``open`` hands over once all is found to be right.
        self._files = contextlib.ExitStack()
        self._entries = _entries(tree)
        description = self._description()
        self.steps: int = _of_type(description, "steps", int)
        self.start_step: int = _of_type(description, "start_step", int)
        self.definition: dict[str, Any] = _of_type(description, "definition", dict)
        self.versions: dict[str, str] = _of_type(description, "versions", dict)
        self._moments: list[str] = _of_type(description, "moments", list)
        self._skeleton = _skeleton(description.get("structure"))
        paths = jax.tree_util.tree_flatten_with_path(self._skeleton)[0]
        self.names = [slashed(keys) for keys, _ in paths]
        self._order: list[int] = [number for _, number in paths]
        self._check()
        names: list[str] = _of_type(description, "overrides", list)
        self.overrides = {name: self._override(name) for name in names}

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Recording:
        """The recording in a file, which stays open until ``close``.

        Args:
          path: the file.

        Raises:
          ParityError: there is no file, it is damaged, or another release wrote it.
        """
        path = Path(path)
        if not path.is_file():
            raise ParityError(f"There is no file {path}. 'parity record' makes recordings.")
        with _errors_of(path), contextlib.ExitStack() as stack:
            tree = stack.enter_context(open_npz(path))
            recording = cls(path, tree)
            recording._files = stack.pop_all()
            return recording

    @property
    def origin(self) -> str:
        """The class that was recorded and the versions there, in words."""
        names = ("jax", "flax", "optax", "device")
        versions = [f"{name} {self.versions[name]}" for name in names if name in self.versions]
        return f"{self.definition.get('class', 'parameters')}, made with {', '.join(versions)}"

    def close(self) -> None:
        """Close the file; the arrays in it cannot be read afterwards."""
        self._files.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Recording({str(self.path)!r}, steps={self.steps})"

    @property
    def params(self) -> Any:
        """The parameters before the first update: nested dicts, and lists, of arrays."""
        return self.tree_of(self._read("0/parameter"))

    @property
    def start_moments(self) -> dict[str, list[Any]]:
        """The moments before the first update, as ``moments_after`` returns them."""
        return self._read_moments(0)

    def gradients(self, update: int) -> Any:
        """The gradients of an update, in the structure of the parameters.

        Raises:
          ParityError: the file is damaged.
        """
        return self.tree_of(self._read(f"{self._checked(update)}/gradient"))

    def params_after(self, update: int) -> Any:
        """The parameters that an update resulted in.

        Raises:
          ParityError: the file is damaged.
        """
        return self.tree_of(self._read(f"{self._checked(update) + 1}/parameter"))

    def moments_after(self, update: int) -> dict[str, list[Any]]:
        """The moments that an update resulted in, by the names that flax.optim gives them.

        Each has an array for every parameter, in the order of the leaves, and None where an
        optimizer keeps no such moment. Moments inside of others have names such as
        ``direction_state.momentum``.

        Raises:
          ParityError: the file is damaged.
        """
        return self._read_moments(self._checked(update) + 1)

    def tree_of(self, leaves: Sequence[Any]) -> Any:
        """The tree with the structure of the parameters and these leaves."""
        return jax.tree.unflatten(jax.tree.structure(self._skeleton), leaves)

    def _checked(self, update: int) -> int:
        if not 0 <= update < self.steps:
            raise IndexError(f"{self.path} has {self.steps} updates, and no update {update}")
        return update

    def _description(self) -> dict[str, Any]:
        entry = self._entries.get("description", {}).get("json")
        if entry is None or entry.dtype != np.uint8:
            raise ParityError(
                f"{self.path} is no recording: the description that 'parity record' writes is"
                " missing."
            )
        try:
            description = json.loads(entry.read().tobytes())
        except (ValueError, RecursionError) as error:
            raise ParityError(f"The description is no JSON: {error}.{_COPY_AGAIN}") from error
        if not isinstance(description, dict) or description.get("what") != _WHAT:
            raise ParityError(f"{self.path} is no recording that 'parity record' has made.")
        if description.get("format") != _FORMAT:
            raise ParityError(
                f"{self.path} was made by another release, in format"
                f" {description.get('format')!r}; this one reads format {_FORMAT}. Update"
                " flaxoptim_compat, or record again with the recorder.py that is in it."
            )
        return description

    def _check(self) -> None:
        """Raise unless the file has the parameters and gradients of all updates."""
        if sorted(self._order) != list(range(len(self._order))) or not self._order:
            raise ParityError(f"The parameters are not numbered one by one.{_COPY_AGAIN}")
        shapes: dict[str, tuple[int, ...]] = {}
        for state in range(self.steps + 1):
            for quantity in ["parameter", "gradient"] if state < self.steps else ["parameter"]:
                entries = self._entries.get(f"{state}/{quantity}", {})
                own_shapes = {name: entry.shape for name, entry in entries.items()}
                shapes = shapes or own_shapes
                if own_shapes != shapes or set(own_shapes) != set(map(str, self._order)):
                    raise ParityError(
                        f"The recording lacks a {quantity} of update {state}, or has it of another"
                        f" shape.{_COPY_AGAIN}"
                    )

    def _override(self, name: str) -> np.ndarray[Any, Any]:
        entry = self._entries.get("override", {}).get(name)
        if entry is None or entry.shape != (self.steps,):
            raise ParityError(
                f"The recording lacks values of {name!r}, one for each update.{_COPY_AGAIN}"
            )
        return entry.read()

    def _read(self, folder: str) -> list[Any]:
        entries = self._entries[folder]
        with _errors_of(self.path):
            return [entries[str(number)].read() for number in self._order]

    def _read_moments(self, state: int) -> dict[str, list[Any]]:
        moments = {}
        for index, name in enumerate(self._moments):
            entries = self._entries.get(f"{state}/moment_{index}", {})
            column = [entries.get(str(number)) for number in self._order]
            with _errors_of(self.path):
                moments[name] = [entry and entry.read() for entry in column]
        return moments


@contextlib.contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    try:
        yield
    except (CheckpointError, ParityError) as error:
        text = str(error)
        raise ParityError(text if str(path) in text else f"{path} is damaged: {text}") from error


def _entries(tree: Tree) -> dict[str, dict[str, StoredArray]]:
    """The arrays of each folder, by their names, with the dtypes that they have in truth."""
    by_folder: dict[str, dict[str, StoredArray]] = {}
    open_ = [("", tree)]
    while open_:
        folder, node = open_.pop()
        for key, child in node.items() if isinstance(node, Mapping) else ():
            if not isinstance(child, StoredArray):
                open_.append((f"{folder}/{key}".lstrip("/"), child))
            elif match := _LEAF.fullmatch(key):
                array = _in_dtype(child, dtype_named(match["dtype"]))
                if array is not None:
                    by_folder.setdefault(folder, {})[match["name"]] = array
    return by_folder


def _in_dtype(array: StoredArray, dtype: np.dtype[Any] | None) -> StoredArray | None:
    """An array that is stored in its dtype, or as bits of one that numpy does not have."""
    if dtype is None:
        return None
    of_numpy = dtype.type.__module__ == "numpy"
    if array.dtype != (dtype if of_numpy else np.dtype(f"u{dtype.itemsize}")):
        return None
    return StoredArray(array.shape, dtype, lambda: array.read().view(dtype))


def _of_type(description: Mapping[str, Any], name: str, kind: Any) -> Any:
    value = description.get(name)
    good = isinstance(value, kind)
    if isinstance(value, int):
        good = good and 0 <= value < 2**63
    if isinstance(value, list):
        good = good and all(isinstance(each, str) for each in value)
    if not good:
        raise ParityError(f"The description says {name!r} to be {value!r}.{_COPY_AGAIN}")
    return value


def _skeleton(node: Any, depth: int = 0) -> Any:
    """The structure of the parameters, with the number of each as the leaf."""
    if node is None or type(node) is int:
        return node
    if depth < _DEEPEST and isinstance(node, dict) and len(node) == 1:
        kind, children = next(iter(node.items()))
        if kind == "list" and isinstance(children, list):
            return [_skeleton(child, depth + 1) for child in children]
        if kind == "dict" and isinstance(children, list) and _are_items(children):
            return {key: _skeleton(child, depth + 1) for key, child in children}
    raise ParityError(f"The description has no structure of parameters.{_COPY_AGAIN}")


def _are_items(children: list[Any]) -> bool:
    """True for pairs whose first parts can be the keys of one dict."""
    if not all(isinstance(each, list) and len(each) == 2 for each in children):
        return False
    keys = [key for key, _ in children]
    of_one_kind = any(all(type(key) is kind for key in keys) for kind in (str, int))
    return of_one_kind and len(set(keys)) == len(keys)
