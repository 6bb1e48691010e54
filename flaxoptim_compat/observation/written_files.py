"""The files that two runs of a program wrote in their copies: which ones, and what is in them.

Checkpoints and arrays are compared by their numbers, texts by their lines, and others by their
bytes. Files with the time in their names stand for each other. What two runs of the old program
write differently is left out.
"""

from __future__ import annotations

import contextlib
import dataclasses
import filecmp
import math
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer, find_optimizers
from flaxoptim_compat.checkpoint_files.opening import open_checkpoint
from flaxoptim_compat.checkpoint_files.stored import CheckpointError, StoredArray, array_in_memory
from flaxoptim_compat.checkpoint_files.trees import TreePath, leaves_of
from flaxoptim_compat.observation import printed_lines
from flaxoptim_compat.observation.copies import is_left_out
from flaxoptim_compat.observation.printed_lines import Closeness

# Larger texts are compared by their bytes.
MOST_BYTES = 1 << 24
# Event files of TensorBoard are full of times.
_EVENTS = ".tfevents."
_NPY = b"\x93NUMPY"
# A date, a time, or a long number, which may be one.
_TIME = re.compile(r"\d+(?:[-_:.T]\d+)+|\d{8,}")

# The files of a folder with what tells that one is written again.
Noted = Mapping[Path, tuple[int, int, int]]
# The files that a run wrote, by their paths in the copy, and where they are now; None: deleted.
Written = Mapping[Path, "Path | None"]


def noted(folder: Path) -> Noted:
    """What the files in a folder are like before a run."""
    return dict(_files(folder))


def _files(folder: Path) -> Iterator[tuple[Path, tuple[int, int, int]]]:
    for top, folders, names in os.walk(folder):
        folders[:] = [each for each in folders if not is_left_out(Path(top, each))]
        for name in names:
            path = Path(top, name)
            if path.is_file() and not path.is_symlink() and not name.endswith(".pyc"):
                status = path.stat()
                now = (status.st_mtime_ns, status.st_size, status.st_ino)
                yield path.relative_to(folder), now


def taken(folder: Path, before: Noted, top: Path) -> Written:
    """Take the files that a run has written out of its copy.

    Args:
      folder: the copy.
      before: its files before the run.
      top: where a folder for the files is made.
    """
    now = noted(folder)
    kept = Path(tempfile.mkdtemp(prefix="written.", dir=top))
    written: dict[Path, Path | None] = dict.fromkeys(before.keys() - now.keys())
    for path, what in now.items():
        if before.get(path) != what:
            (kept / path).parent.mkdir(parents=True, exist_ok=True)
            written[path] = (folder / path).rename(kept / path)
    return written


@dataclasses.dataclass(frozen=True)
class ComparedFiles:
    """The result of a comparison of what two runs wrote.

    Args:
      differing: the files that differ, each with how.
      compared: how many files that both wrote were compared.
      left_out: the files that differ from run to run.
      is_exact: whether all files that were compared have the same text, bytes or numbers.
    """

    differing: list[str]
    compared: int
    left_out: list[str]
    is_exact: bool


def compare(
    before: Written, after: Written, again: Written | None, closeness: Closeness
) -> ComparedFiles:
    """Compare what two runs of a program wrote.

    Args:
      before: what the first run wrote.
      after: what the second run wrote.
      again: what another run like the first wrote.
      closeness: how far numbers may be apart.
    """
    known = None if again is None else {*map(_form, before)} & {*map(_form, again)}
    olds, news, agains = (_named(each, known) for each in (before, after, again or {}))
    differing, left_out, compared, is_exact = [], [], 0, True
    for name in dict.fromkeys((*olds, *news)):
        (path, old), (other, new), (_, third) = (
            each.get(name, (None, None)) for each in (olds, news, agains)
        )
        shown = str(path or other)
        is_drawn = again is not None and _fate(olds, name) != _fate(agains, name)
        if _EVENTS in shown or is_drawn:
            left_out.append(shown)
        elif _fate(olds, name) != _fate(news, name):
            what = [_fate(each, name) or "not written" for each in (olds, news)]
            differing.append(f"{shown} is {what[0]} before and {what[1]} after")
        elif old is not None and new is not None:
            difference = _difference(old, new, third, closeness)
            if difference is None:
                left_out.append(shown)
                continue
            compared += 1
            is_exact = is_exact and _is_exact(old, new)
            if difference:
                differing.append(f"{shown}: {difference}")
    return ComparedFiles(differing, compared, left_out, is_exact)


# Files by what counts of their names, and how many with the same come before: their paths in the
# copy, and where they are now.
_Named = Mapping[tuple[str, int], tuple[Path, "Path | None"]]


def _named(written: Written, known: set[str] | None) -> _Named:
    """The files by their names; of a drawn name, which two runs have not both, the signs count."""
    named: dict[tuple[str, int], tuple[Path, Path | None]] = {}
    count: Counter[str] = Counter()
    for path, file in sorted(written.items()):
        name = _form(path)
        if known is not None and name not in known:
            name = re.sub(r"\w+", "?", str(path.with_suffix(""))) + path.suffix
        named[name, count[name]] = path, file
        count[name] += 1
    return named


def _form(path: Path) -> str:
    return _TIME.sub("#", str(path))


def _fate(named: _Named, name: tuple[str, int]) -> str:
    if name not in named:
        return ""
    return "deleted" if named[name][1] is None else "written"


def _difference(old: Path, new: Path, again: Path | None, closeness: Closeness) -> str | None:
    """How two files differ, in words; "" if they do not, None if two old ones do too."""
    if filecmp.cmp(old, new, shallow=False):
        return ""
    first, second = _text(old), _text(new)
    third = None if again is None else _text(again)
    if first is not None and second is not None:
        lines = printed_lines.compare(first, second, third, closeness)
        return lines.in_words() if lines.differing else ""
    if again is not None and _difference(old, again, None, closeness):
        return None
    try:
        with _contents(old) as one, _contents(new) as other:
            return _other_entries(one, other, closeness)
    except (CheckpointError, OSError, EOFError, ValueError):
        return "other bytes"


def _is_exact(old: Path, new: Path) -> bool:
    first, second = _text(old), _text(new)
    if first is not None and second is not None:
        return first == second
    return _difference(old, new, None, Closeness(0.0, is_rounded=False)) == ""


def _text(file: Path) -> str | None:
    """The text in a file; None if it has none, or is too large."""
    content = file.read_bytes() if file.stat().st_size <= MOST_BYTES else b"\0"
    try:
        return None if b"\0" in content else content.decode()
    except UnicodeDecodeError:
        return None


@contextlib.contextmanager
def _contents(file: Path) -> Iterator[Any]:
    """The tree of a checkpoint or an npz file, or the array of an npy file."""
    with file.open("rb") as opened:
        is_array = opened.read(len(_NPY)) == _NPY
    if is_array:
        yield array_in_memory(np.load(file, allow_pickle=False))
    else:
        with open_checkpoint(file) as checkpoint:
            yield checkpoint.tree


def _other_entries(old: Any, new: Any, closeness: Closeness) -> str:
    """How two trees differ, in words; "" if they do not."""
    old_optimizers, new_optimizers = find_optimizers(old), find_optimizers(new)
    olds, news = dict(leaves_of(old)), dict(leaves_of(new))
    moments: list[tuple[str, Any, list[Any]]] = []
    if [each.form for each in old_optimizers] != [each.form for each in new_optimizers]:
        # The old program saves {target, state}, the new one {step, params, opt_state}.
        olds, news = _comparable(old, old_optimizers), _comparable(new, new_optimizers)
        moments = [
            ("/".join((*first.path, "moments")), moment, list(_moments(second)))
            for first, second in zip(old_optimizers, new_optimizers, strict=False)
            for moment in _moments(first)
        ]
    for path in dict.fromkeys((*olds, *news)):
        name = "/".join(path) or "the array"
        if (path in olds) != (path in news):
            return f"only the {'old' if path in olds else 'new'} one has {name}"
        # A DualTrainState keeps the rate of its definition, whatever rate a step is given.
        if _is_hyper_param(path, old_optimizers):
            continue
        if not _are_close(olds[path], news[path], closeness):
            return f"{name} differs"
    for place, moment, others in moments:
        if not any(_are_close(moment, each, closeness) for each in others):
            return f"{place} differ"
    return ""


def _is_hyper_param(path: TreePath, optimizers: Sequence[FoundOptimizer]) -> bool:
    """True for a hyper-parameter in a TrainState, of which the steps show what it is good for."""
    in_states = any(path[: len(each.path) + 1] == (*each.path, "opt_state") for each in optimizers)
    return in_states and path[-2] == "hyperparams"


def _comparable(tree: Any, optimizers: Sequence[FoundOptimizer]) -> dict[TreePath, Any]:
    """The leaves of a tree with the parameters and steps of optimizers, without their moments."""
    inside = {(*each.path, entry) for each in optimizers for entry in each.entries}
    leaves = dict(leaves_of(tree, without=inside))
    for each in optimizers:
        leaves |= {(*each.path, "step"): each.step}
        leaves |= {(*each.path, "parameters", *one.path): one.value for one in each.parameters}
    return leaves


def _moments(optimizer: FoundOptimizer) -> Iterator[StoredArray]:
    """The moments of an optimizer, but single numbers, which may stand for none."""
    states = optimizer.node["state" if optimizer.form == "legacy" else "opt_state"]
    for _, leaf in leaves_of(states):
        if isinstance(leaf, StoredArray) and math.prod(leaf.shape) > 1:
            yield leaf


def _are_close(old: Any, new: Any, closeness: Closeness) -> bool:
    """True if two leaves are the same, or arrays that are close for their largest element."""
    first, second = (
        np.asarray(each.read() if isinstance(each, StoredArray) else each) for each in (old, new)
    )
    if first.shape != second.shape:
        return False
    if first.dtype.kind in "OSU" or second.dtype.kind in "OSU":
        return bool(np.all(first == second))
    wide = np.complex128 if "c" in first.dtype.kind + second.dtype.kind else np.float64
    first, second = first.astype(wide), second.astype(wide)
    is_same = (first == second) | (np.isnan(first) & np.isnan(second))
    with np.errstate(invalid="ignore"):
        largest = np.max(np.abs(first), initial=0.0, where=np.isfinite(first))
        return bool(np.all(is_same | (np.abs(first - second) <= closeness.relative * largest)))
