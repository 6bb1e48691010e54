"""The file of a record, which ``record.py`` writes on any machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from flaxoptim_compat.checkpoint_files.dtypes import dtype_named
from flaxoptim_compat.checkpoint_files.npz import open_npz
from flaxoptim_compat.checkpoint_files.source import COPY_AGAIN
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray
from flaxoptim_compat.checkpoint_files.trees import leaves_of
from flaxoptim_compat.observation.record import FORMAT, WHAT, is_sketch
from flaxoptim_compat.observation.records import Record, add_process
from flaxoptim_compat.parity.errors import ParityError


def read(path: Path) -> Record:
    """The record in a file.

    Raises:
      ParityError: there is no such file, it is damaged, or another release wrote it.
    """
    if not path.is_file():
        raise ParityError(f"There is no file {path}. record.py makes such files.")
    try:
        with open_npz(path) as tree:
            arrays = {"/".join(names): leaf for names, leaf in leaves_of(tree)}
            about = _about(path, arrays)
            tables = [_rows(table, arrays) for table in about["tables"]]
    except CheckpointError as error:
        raise ParityError(str(error)) from error
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    record = Record()
    try:
        for number, lines in enumerate(about["processes"]):
            add_process(record, number, _with_arrays(lines, tables))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise _damaged(path, error) from error
    return record


def _damaged(path: Path, error: Exception) -> ParityError:
    return ParityError(f"{path} is damaged: {type(error).__name__}: {error}.{COPY_AGAIN}")


def _about(path: Path, arrays: dict[str, StoredArray]) -> dict[str, Any]:
    stored = arrays.get("about")
    about = json.loads(stored.read().tobytes()) if stored is not None else {}
    if not isinstance(about, dict) or about.get("what") != WHAT:
        raise ParityError(f"{path} is no record that record.py has made.")
    if about.get("format") != FORMAT:
        raise ParityError(
            f"{path} was made by another release, in format {about.get('format')!r}; this one reads"
            f" format {FORMAT}. Record again with the record.py that is in it."
        )
    return about


def _rows(table: dict[str, Any], arrays: dict[str, StoredArray]) -> list[list[list[Any]]]:
    """The entries of ``fingerprints.Fingerprint`` for each array of a table, row by row."""
    digests, largest = arrays[table["digests"]].read(), arrays[table["largest"]].read()
    columns = []
    for name, dtype, shape in zip(table["names"], table["dtypes"], table["shapes"], strict=True):
        values = arrays[name].read()
        if dtype_named(dtype) is None or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError(f"{name} is said to be of {dtype!r} and {shape!r}")
        if len(values) != len(digests):
            raise ValueError(f"{name} has {len(values)} rows, not {len(digests)}")
        if np.iscomplexobj(values):
            values = values.astype(np.complex128).reshape(-1).view(np.float64)
        numbers = values.astype(np.float64).reshape(len(digests), -1)
        if is_sketch(numbers.shape[1], dtype, shape) and numbers.shape[1] >= math.prod(shape):
            raise ValueError(f"{name} has {numbers.shape[1]} numbers for an array of {shape!r}")
        columns.append((dtype, shape, numbers))
    return [
        [
            [f"{int(digests[row, at]):016x}", dtype, shape, numbers[row], float(largest[row, at])]
            for at, (dtype, shape, numbers) in enumerate(columns)
        ]
        for row in range(len(digests))
    ]


def _with_arrays(
    lines: list[dict[str, Any]], tables: list[list[list[list[Any]]]]
) -> Iterator[dict[str, Any]]:
    """The lines of a process, as it wrote them."""
    for line in lines:
        for kind in ("leaves", "moments"):
            if line.get(kind):
                table, row = line[kind]
                line[kind] = tables[table][row]
        yield line
