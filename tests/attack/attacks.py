"""Damaged checkpoints, damaged sources, and kills: what one attempt does, and what is broken."""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from flax import serialization, traverse_util

from flaxoptim_compat import cli, optim
from flaxoptim_compat.checkpoint_files import open_checkpoint, write_checkpoint
from flaxoptim_compat.observation.places import FOLDER
from tests.attack.damage import OF_BYTES, OF_TEXT, damaged, of_tree
from tests.support.places import DATA, ROOT

# Of the processor, and of the clock, which is that of a busy machine too.
_SECONDS, _SECONDS_OF_CLOCK = 10, 120
_LINES_OF_AN_ERROR = 12


class Broken(Exception):
    """An attempt found something that must not be."""


@contextlib.contextmanager
def _no_hang() -> Iterator[None]:
    def stop(number: int, frame: Any) -> None:
        raise Broken("a hang: more than ten seconds")

    timers = (signal.ITIMER_PROF, signal.SIGPROF), (signal.ITIMER_REAL, signal.SIGALRM)
    before = [signal.signal(number, stop) for _, number in timers]
    signal.setitimer(signal.ITIMER_PROF, _SECONDS)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_OF_CLOCK)
    try:
        yield
    finally:
        for (timer, number), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


def command(*arguments: object) -> int:
    """Run the command line in this process, and return its exit status.

    Raises:
      Broken: it hangs, prints control characters, or fails in more than some lines.
      Exception: any that it lets out: a user would see a traceback.
    """
    output, errors = io.StringIO(), io.StringIO()
    with _no_hang(), contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        status = cli.main([str(each) for each in arguments])
    printed = output.getvalue() + errors.getvalue()
    if status == 2 and len(errors.getvalue().splitlines()) > _LINES_OF_AN_ERROR:
        raise Broken(f"an error of many lines: {errors.getvalue()[:2000]}")
    if status == 2 and not printed:
        raise Broken("exit status 2 without a word")
    if {"\x1b", "\x07", "\r"}.intersection(printed):
        raise Broken("a control character is printed")
    return status


# --- checkpoints

_FORMS = ("train-state", "nnx", "legacy")


def damage_a_checkpoint(folder: Path, source: random.Random) -> str:
    """Damage a checkpoint of one format, and inspect or convert it."""
    path, out = folder / "checkpoint", folder / "out"
    kind = source.choice(["bytes", "bytes", "tree", "tree", "npz", "npz", "orbax"])
    of = source.choice(["Adam", "Momentum", "train state", "two"])
    tree = _state_dict(of)
    if kind == "orbax":
        files = dict(_orbax(of))
        for name in source.sample(sorted(files), source.choice([1, 1, 2])):
            content = files.pop(name)
            if source.random() >= 0.1:
                files[name] = content and damaged(content, source, OF_BYTES)
        for name, content in files.items():
            (path / name).parent.mkdir(parents=True, exist_ok=True)
            (path / name).write_bytes(content)
    elif kind == "tree":
        path.write_bytes(serialization.msgpack_serialize(of_tree(tree, source), in_place=True))
    else:
        save = source.choice([np.savez, np.savez_compressed])
        content = _npz(tree, save) if kind == "npz" else serialization.msgpack_serialize(tree)
        path.write_bytes(damaged(content, source, OF_BYTES))
    before = _names_in(folder)
    if source.random() < 0.3:
        status = command("checkpoint", "convert", path, out, "--to", source.choice(_FORMS))
    else:
        status = command("checkpoint", "inspect", path)
    left = {name for name in _names_in(folder) - before if name.partition("/")[0] != "out"}
    if left or (status == 2 and out.exists()):
        raise Broken(f"left behind: {sorted(left)}")
    return f"{kind} {'refused' if status == 2 else 'read'}"


@functools.cache
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


def _npz(tree: Any, save: Callable[..., None]) -> bytes:
    buffer = io.BytesIO()
    flat = traverse_util.flatten_dict(tree, sep="/")
    save(buffer, **{name: np.asarray(leaf, np.float32) for name, leaf in flat.items()})
    return buffer.getvalue()


@functools.cache
def _orbax(kind: str) -> dict[str, bytes]:
    """The files of a directory."""
    with tempfile.TemporaryDirectory() as folder:
        file, path = Path(folder, "file"), Path(folder, "directory")
        file.write_bytes(serialization.msgpack_serialize(_state_dict(kind)))
        with open_checkpoint(file) as checkpoint:
            write_checkpoint(path, checkpoint.tree, "orbax")
        return _files_in(path)


def _names_in(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


# --- sources


def damage_a_source(folder: Path, source: random.Random) -> str:
    """Damage a program or a notebook, and rewrite or scan it: what parsed still parses."""
    content = damaged(source.choice(_programs()), source, OF_TEXT)
    path = folder / "program.py"
    if source.random() < 0.15:
        path = folder / "program.ipynb"
        content = _notebook(content)
        content = damaged(content, source, OF_TEXT) if source.random() < 0.5 else content
    path.write_bytes(content)
    does = source.choice(["scan", "shim", "shim", "optax", "optax"])
    if does == "scan":
        status = command("scan", path, "--format", source.choice(["text", "json", "sarif"]))
    else:
        status = command("rewrite", path, "--to", does, "--write")
    now = path.read_bytes()
    if status not in (0, 1, 2):
        raise Broken(f"exit status {status}")
    left = {name for name in _names_in(folder) if not name.startswith(FOLDER)}
    if left != {path.name}:
        raise Broken(f"left behind: {sorted(left)}")
    if now == content:
        return f"{does} {'refused' if status == 2 else 'as it was'}"
    if does == "scan":
        raise Broken("scan has written")
    if _is_python(content, path) and not _is_python(now, path):
        raise Broken("what is written does not parse")
    return f"{does} rewritten"


@functools.cache
def _programs() -> list[bytes]:
    folders = ("legacy_programs", "linen_programs", "wild_programs", "flax_nn_programs")
    files = [file for name in folders for file in sorted((DATA / name).rglob("*.py"))]
    return [content for file in files if (content := file.read_bytes())]


def _is_python(content: bytes, path: Path) -> bool:
    """Whether Python compiles it; of a notebook, whether it is JSON."""
    try:
        if path.suffix == ".ipynb":
            json.loads(content)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compile(ast.parse(content), str(path), "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _notebook(content: bytes) -> bytes:
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "source": part.splitlines(True)}
        for part in content.decode("utf-8", "replace").split("\n\n")
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()


# --- kills

_WRITE = """
import numpy as np
from flaxoptim_compat.checkpoint_files import array_in_memory, write_checkpoint
arrays = {str(number): array_in_memory(np.full(100_000, number)) for number in range(20)}
write_checkpoint("out", arrays, "msgpack")
"""
# Files that are all old or all new in the end, and a checkpoint, which is whole or not there.
_WRITERS = {
    **{
        f"rewrite --to {to}": ["-m", "flaxoptim_compat", "rewrite", ".", "--to", to, "--write"]
        for to in ("shim", "optax")
    },
    "write a checkpoint": ["-c", _WRITE],
}
_SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


def kill_a_writer(folder: Path, source: random.Random) -> str:
    """Kill what writes at random moments: the next run finds all as before, or all done."""
    what = source.choice([*_WRITERS])
    uncut, cut = folder / "uncut", folder / "cut"
    for each in (uncut, cut):
        shutil.copytree(DATA / "linen_programs", each)
    before, began = _files_in(cut), time.monotonic()
    if _start(what, uncut).wait() not in (0, 1):
        raise Broken(f"{what}: it fails without a kill")
    seconds, after, times = time.monotonic() - began, _files_in(uncut), 0
    # The one that puts back is killed as well.
    for _ in range(source.choice([1, 1, 2, 3])):
        process = _start(what, cut)
        try:
            process.wait(source.uniform(0.5, 1.1) * seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(source.choice(_SIGNALS))
            process.wait()
            times += 1
    between = _files_in(cut)
    if what == "write a checkpoint" and between not in (before, after):
        raise Broken("half a file")
    (cut / "out").unlink(missing_ok=True)
    _start(what, cut).wait()
    if _files_in(cut) != after:
        raise Broken(f"{what}: does not recover: {sorted(_names_in(cut))}")
    how = "as before" if between == before else "done" if between == after else "mixed"
    return f"{what}, killed {times} times, {how}"


def _start(what: str, folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, *_WRITERS[what]],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _files_in(folder: Path) -> dict[str, bytes]:
    """All but what of a checkpoint a kill may leave."""
    return {
        name: (folder / name).read_bytes()
        for name in _names_in(folder)
        if (folder / name).is_file() and not name.startswith(("unfinished-", FOLDER))
    }
