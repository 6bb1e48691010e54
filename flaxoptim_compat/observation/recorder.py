"""Records each state of each optimizer of this process, in a file of its own.

Results of ``jit``, ``pmap``, ``scan`` and ``replicate``, and of a step outside ``jit``, become an
``Optimizer`` on the host, or after a rewrite a ``TrainState``: its ``__init__`` is called, with
arrays, and the state is recorded there. Compiled programs stay as they are, and a tracer is
recognised but never read. An array that was donated, or that is not all on this machine, is left
alone; and no array is given to numpy itself, since jax would keep the numpy array and never reuse
the memory.

A state is recorded once, by its step and the bits of its parameters, however often a program looks
at the state again, copies it or builds it anew. If an optimizer is created with parameters that
were seen already, as in the second of two equal trainings, the states of that training are recorded
again.

The cost is bounded by leaving out states. The step alone decides which, so that two runs leave out
the same. Parameters of more than ``_BYTES_PER_STEP`` are read at each second, third, ... step, in
proportion to their size, after the first few. Fingerprints, which tell how far two states are apart
and not only whether they differ, are kept of fewer and fewer steps. Moments of such parameters are
read once, after the first step.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import hashlib
import itertools
import json
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import jax
import numpy as np

from flaxoptim_compat.observation import starting
from flaxoptim_compat.observation.fingerprints import digest, fingerprint
from flaxoptim_compat.observation.program_name import program
from flaxoptim_compat.observation.records import SUFFIX

_BYTES_PER_STEP = 1 << 24
# So many first steps are read whatever the size; so many first steps that are read keep
# fingerprints.
_FIRST_STEPS, _FIRST_KEPT = 8, 32
# So many states of parameters with the same paths and shapes are remembered as seen.
_REMEMBERED = 100_000
# A file gets no more fingerprints from this size on.
_BYTES_PER_FILE = 1 << 28
# So many different moments are recorded with the same parameters.
_MOMENTS_PER_STATE = 4

# Packages whose frames stand between a state and the line of the program that makes it.
_LIBRARIES = ("flaxoptim_compat", "jax", "jaxlib", "flax", "optax", "functools", "dataclasses")
_CREATE = ("flaxoptim_compat.optim.base", "flax.training.train_state")
# A step of a legacy optimizer makes a TrainState, which is no state of the program.
_INSIDE_A_STEP = "flaxoptim_compat.bridge.traced"

# The fields of ``records.ProgramLine``.
_Line = tuple[str, int, str]


class _Structure(NamedTuple):
    """Paths of a tree of parameters, in an order that depends on nothing else."""

    paths: tuple[str, ...]
    order: tuple[int, ...]


class _Group:
    """States whose parameters have the same paths and shapes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.start: int | None = None
        self.round = 0
        self.seen: dict[tuple[tuple[int, ...], str | None], set[str]] = {}
        self.last: list[weakref.ref[Any]] = []
        # The step and the bits of the latest state of each definition.
        self.latest: dict[int, tuple[tuple[int, ...], str | None]] = {}


class StateRecorder:
    """Writes the states of optimizers in one process into a file.

    Args:
      folder: the folder in which the file appears with the first state.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        self._file: int | None = None
        self._written = 0
        self._groups: dict[Any, _Group] = {}
        self._places: dict[_Line, int] = {}
        self._through: set[tuple[Any, ...]] = set()
        self._rules: dict[Any, int] = {}
        self._updates: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._count = itertools.count(1)
        self._structures: dict[Any, _Structure] = {}

    def after_fork(self) -> None:
        """Begin a file of its own, in a child process."""
        self._lock = threading.RLock()
        self._forget()

    def note(self, state: Any) -> None:
        """Record a state of an optimizer, unless its leaves are tracers or are not here."""
        try:
            with self._lock:
                self._note(state)
        except Exception as error:
            # An observer must not stop the program, not even if the command has ended before its
            # processes, and the folder is gone.
            with contextlib.suppress(OSError):
                self._write({"trouble": f"{type(error).__name__}: {error}"})

    def close(self) -> None:
        """Write the lost names that the process used, and close the file."""
        usage = sys.modules.get("flaxoptim_compat.legacy.usage")
        if usage is not None and usage.counts:
            with contextlib.suppress(OSError):
                self._write({"names": sorted(usage.counts)})
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _note(self, state: Any) -> None:
        if hasattr(state, "optimizer_def"):
            params, step = state.target, getattr(state.state, "step", -1)
            moments = getattr(state.state, "param_states", ())
            what = type(state.optimizer_def).__name__
        else:
            params, step = state.params, state.step
            moments, what = state.opt_state, ""
        leaves, treedef = jax.tree.flatten(params)
        place, is_created, is_inside = _place()
        if is_inside or not leaves or (not is_created and _is_numbered(state)):
            return
        structure, rule = self._structure(params, treedef), self._rule_of(state)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in (*leaves, step)):
            self._pass_through(structure, place, rule, is_created)
            return
        if not all(map(_is_here, (*leaves, step))):
            return
        leaves = [leaves[index] for index in structure.order]
        group = self._group(structure, tuple(map(np.shape, leaves)))
        steps = tuple(map(int, np.ravel(_on_host(step))))
        if not is_created and _are(group.last, [*leaves, step]):
            return
        group.last = _references([*leaves, step])
        about = what, self._number_of(place), is_created, rule
        self._note_in(group, steps, leaves, moments, about)

    def _note_in(
        self,
        group: _Group,
        steps: tuple[int, ...],
        leaves: list[Any],
        moments: Any,
        about: tuple[str, int, bool, int],
    ) -> None:
        what, place, is_created, rule = about
        if group.start is None:
            group.start = steps[0]
        size = sum(int(getattr(leaf, "nbytes", 8)) for leaf in leaves)
        is_read, is_kept = _chosen(abs(steps[0] - group.start), size)
        arrays = list(map(_on_host, leaves)) if is_read else []
        digests = list(map(digest, arrays))
        bits = _hash(digests) if is_read else None
        key = steps, bits
        if key in group.seen and is_created:
            group.round += 1
            group.seen.clear()
        is_cheap = size <= _BYTES_PER_STEP or abs(steps[0] - group.start) <= 1
        moment_arrays = list(map(_on_host, _floats(moments))) if is_kept and is_cheap else []
        digests_of_moments = list(map(digest, moment_arrays))
        of_moments = _hash(digests_of_moments)
        known = group.seen.setdefault(key, set())
        is_latest = group.latest.get(rule) == key
        group.latest[rule] = key
        if known and (of_moments in known or len(known) >= _MOMENTS_PER_STATE or not is_kept):
            if not is_latest:
                self._write({"again": group.number, "rule": rule, "step": steps, "bits": bits})
            return
        known.add(of_moments)
        if len(group.seen) > _REMEMBERED:
            del group.seen[next(iter(group.seen))]
        line = {
            "state": group.number,
            "round": group.round,
            "step": steps,
            "bits": bits,
            "what": what,
            "place": place,
            "created": is_created,
            "rule": rule,
        }
        if is_kept and self._written < _BYTES_PER_FILE:
            line["leaves"] = _fingerprints(arrays, digests)
            line["moments"] = _fingerprints(moment_arrays, digests_of_moments)
        self._write(line)

    def _structure(self, params: Any, treedef: Any) -> _Structure:
        with contextlib.suppress(TypeError, KeyError):  # a static field may have no hash
            return self._structures[treedef]
        paths = [jax.tree_util.keystr(path) for path, _ in _with_paths(params)]
        order = sorted(range(len(paths)), key=paths.__getitem__)
        structure = _Structure(tuple(paths[index] for index in order), tuple(order))
        with contextlib.suppress(TypeError):
            self._structures[treedef] = structure
        return structure

    def _group(self, structure: _Structure, shapes: tuple[tuple[int, ...], ...]) -> _Group:
        key = structure.paths, shapes
        if key not in self._groups:
            group = self._groups[key] = _Group(len(self._groups))
            self._write({"group": group.number, "paths": structure.paths, "shapes": shapes})
        return self._groups[key]

    def _rule_of(self, state: Any) -> int:
        """The number of the definition, or of the transformation, that does the steps of a state.

        Equal definitions have one number.
        """
        with contextlib.suppress(Exception):  # either may be the program's own
            if not hasattr(state, "optimizer_def"):
                return _numbered(self._updates, state.tx.update, self._count)
            from flaxoptim_compat.optim.by_value import StaticDefinition

            definition = state.optimizer_def
            rule = StaticDefinition(getattr(definition, "optimizer_def", definition))
            if not any(
                isinstance(each, jax.core.Tracer) for each in jax.tree.leaves(rule.snapshot)
            ):
                return _numbered(self._rules, rule, self._count)
        return 0

    def _pass_through(
        self, structure: _Structure, place: _Line, rule: int, is_created: bool
    ) -> None:
        """Record that the program traces states at a line."""
        key = structure.paths, self._number_of(place), rule, is_created
        if key not in self._through:
            self._through.add(key)
            self._write(dict(zip(("through", "place", "rule", "created"), key, strict=True)))

    def _number_of(self, place: _Line) -> int:
        if place not in self._places:
            self._places[place] = len(self._places)
            self._write({"place": self._places[place], "at": place})
        return self._places[place]

    def _write(self, line: dict[str, Any]) -> None:
        with self._lock:
            if self._file is None:
                name = f"{time.time_ns()}-{os.getpid()}{SUFFIX}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                self._file = os.open(self.folder / name, flags, 0o600)
                self._write({"program": program()})
            # Without a buffer: a process may end at any moment.
            self._written += os.write(self._file, json.dumps(line).encode() + b"\n")


def _chosen(done: int, size: int) -> tuple[bool, bool]:
    """Whether the parameters of a state are read, and whether their fingerprints are kept.

    Args:
      done: how many steps were done since the first state.
      size: the bytes of the parameters.
    """
    every = -(-size // _BYTES_PER_STEP) or 1
    if done >= _FIRST_STEPS and done % every:
        return False, False
    number = done // every if done >= _FIRST_STEPS else done
    scale = max(0, number.bit_length() - _FIRST_KEPT.bit_length() + 1)
    return True, number % (1 << scale) == 0


def _numbered(numbers: Any, key: Any, count: Iterator[int]) -> int:
    if key not in numbers:
        numbers[key] = next(count)
    number: int = numbers[key]
    return number


def _hash(digests: list[bytes]) -> str:
    return hashlib.sha1(b"".join(digests), usedforsecurity=False).hexdigest()[:16]


def _fingerprints(arrays: list[Any], digests: list[bytes]) -> list[Any]:
    return [fingerprint(array, bits).as_json() for array, bits in zip(arrays, digests, strict=True)]


def _with_paths(tree: Any) -> list[tuple[Any, Any]]:
    leaves: list[tuple[Any, Any]] = jax.tree_util.tree_flatten_with_path(tree)[0]
    return leaves


def _floats(tree: Any) -> list[Any]:
    """The moments with fractions; none if one of the leaves cannot be read."""
    leaves = [leaf for leaf in jax.tree.leaves(tree) if np.ndim(leaf) > 0]
    if not all(map(_is_here, leaves)):
        return []
    return [leaf for leaf in leaves if jax.numpy.issubdtype(leaf.dtype, jax.numpy.inexact)]


def _is_numbered(state: Any) -> bool:
    """True if numbers stand in place of all leaves, as in ``treedef.unflatten(range(n))``.

    Their order is that of the leaves, which is another one in a ``TrainState``. Parameters may be
    such numbers too, at the start: then the step of an ``Optimizer`` is an array.
    """
    return all(type(leaf) in (int, float, bool) for leaf in jax.tree.leaves(state))


def _is_here(leaf: Any) -> bool:
    """True if a leaf has numbers that can be read without an effect on the program."""
    if isinstance(leaf, jax.Array):
        return (
            not isinstance(leaf, jax.core.Tracer)
            and not leaf.is_deleted()
            and leaf.is_fully_addressable
            and not _is_extended(leaf.dtype)
        )
    return isinstance(leaf, np.ndarray | np.generic | int | float | complex)


@functools.lru_cache(maxsize=64)
def _is_extended(dtype: Any) -> bool:
    """True for a dtype of random keys."""
    return bool(jax.numpy.issubdtype(dtype, jax.dtypes.extended))


def _on_host(leaf: Any) -> Any:
    """An array of numpy with the numbers of a leaf, as jax would take them."""
    if not isinstance(leaf, jax.Array):
        array = np.asarray(leaf)
        return array.astype(_canonical(array.dtype), copy=False)
    # A new array is read: jax keeps the numpy array of an array, and then never donates that.
    count = len(leaf.sharding.device_set)
    if count == 1 or leaf.is_fully_replicated:
        return np.asarray(leaf.addressable_data(0))
    shards = [leaf.addressable_data(index) for index in range(count)]
    whole = jax.make_array_from_single_device_arrays(leaf.shape, leaf.sharding, shards)
    return np.asarray(whole)


def _canonical(dtype: Any) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype)


def _references(leaves: list[Any]) -> list[weakref.ref[Any]]:
    """Weak references to arrays, to recognise them; none if one is a mutable numpy array."""
    if not all(isinstance(leaf, jax.Array) for leaf in leaves):
        return []
    return [weakref.ref(leaf) for leaf in leaves]


def _are(references: list[weakref.ref[Any]], leaves: list[Any]) -> bool:
    if not references:
        return False
    return all(reference() is leaf for reference, leaf in zip(references, leaves, strict=True))


def _place() -> tuple[_Line, bool, bool]:
    """The line of the program that made the state, whether by ``create``, whether inside a step."""
    is_created = False
    frame: Any = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        code = frame.f_code
        if module == _INSIDE_A_STEP:
            return ("", 0, ""), False, True
        is_ours = module.partition(".")[0] in _LIBRARIES
        if not is_ours and not code.co_filename.startswith("<"):
            place = os.path.abspath(code.co_filename), frame.f_lineno, code.co_name
            return place, is_created, False
        is_created = is_created or (code.co_name == "create" and module in _CREATE)
        frame = frame.f_back
    return ("", 0, ""), is_created, False


_recorder: StateRecorder | None = None
# Functions that give each observed class its own methods back.
_undo: list[Callable[[], None]] = []


def attach(module: ModuleType) -> None:
    """Record from now on the states that a class in a module makes.

    Args:
      module: the module of ``Optimizer`` or of ``TrainState``, which has just been imported.
    """
    global _recorder
    if _recorder is None:
        _recorder = StateRecorder(Path(os.environ[starting.NUMBERS]))
        atexit.register(_recorder.close)
        os.register_at_fork(after_in_child=_recorder.after_fork)
    name = "Optimizer" if hasattr(module, "Optimizer") else "TrainState"
    base = getattr(module, name)
    for cls in (base, *_subclasses(base)):
        _observe(cls, _note)
    inherited = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: type[Any], /, **kwargs: Any) -> None:  # noqa: N807
        if inherited is not None:
            inherited.__func__(cls, **kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        _observe(cls, _note)

    base.__init_subclass__ = classmethod(__init_subclass__)
    _undo.append(lambda: _restore(base, "__init_subclass__", inherited))


def _note(state: Any) -> None:
    if _recorder is not None:
        _recorder.note(state)


def _subclasses(cls: type[Any]) -> Iterator[type[Any]]:
    for each in cls.__subclasses__():
        yield each
        yield from _subclasses(each)


def _observe(cls: type, note: Callable[[Any], object]) -> None:
    """Call ``note`` with each new object of a class, after the ``__init__`` of the class."""
    start = cls.__dict__.get("__init__")
    if start is None:
        return

    @functools.wraps(start)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        start(self, *args, **kwargs)
        note(self)

    cls.__init__ = __init__  # type: ignore[misc]
    _undo.append(lambda: setattr(cls, "__init__", start))


def _restore(cls: type, name: str, value: Any) -> None:
    if value is None:
        delattr(cls, name)
    else:
        setattr(cls, name, value)


@contextlib.contextmanager
def recording(folder: Path) -> Iterator[None]:
    """Observe this process for a block, as the processes of an observed command are.

    Args:
      folder: the folder of the file.
    """
    global _recorder
    from flax.training import train_state

    from flaxoptim_compat.optim import optimizer

    _recorder = StateRecorder(folder)
    for module in (optimizer, train_state):
        attach(module)
    try:
        yield
    finally:
        _recorder.close()
        _recorder = None
        while _undo:
            _undo.pop()()
