"""Records each state of each optimizer of a program: its step, its parameters and its moments.

Copy this one file to the machine on which an old program still runs, beside its flax.optim. The
file needs jax and numpy, of any version from jax 0.2 and Python 3.6 on. Write it in front of the
program, which stays as it is:

    python record.py THEN.npz train.py --epochs 3
    python record.py THEN.npz -m project.train --epochs 3

The program runs as always, and so do the Python programs that it starts. However it ends, the
states until then are in THEN.npz. Where flaxoptim_compat is, compare them with a run of today:

    flaxoptim-compat verify 'flaxoptim-compat run --random then train.py' --before THEN.npz

``numpy.load`` reads the file. For each optimizer, 0, 1 and so on, there are ``0/step``, and at
these steps ``0/params/dense/kernel`` and the like, and ``0/moments/...`` at the steps in
``0/step_of_moments``. Of arrays with more than 128 elements, ``0/sketches/...`` has 128 sums; see
``sketch``. ``about`` is JSON, in UTF-8: the programs, their versions and their lines.

Results of ``jit``, ``pmap``, ``scan`` and ``replicate``, and of a step outside ``jit``, become an
``Optimizer`` on the host, or a ``TrainState``: its ``__init__`` is called, with arrays, and the
state is recorded there. So is the result of a definition that does a step by itself, and what an
``nnx.Optimizer`` holds after an update. Compiled programs stay as they are, and a tracer is
recognised but never read. An array that was donated, or that is not all on this machine, is left
alone; and no array of today's jax is given to numpy itself, since jax would keep the numpy array
and never reuse the memory.

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

# Written for Python 3.6, and run before any import of a program: jax and numpy come with the first
# optimizer.
# ruff: noqa: B905, UP006, UP035, UP045
import atexit
import base64
import collections
import collections.abc
import contextlib
import functools
import hashlib
import importlib
import importlib.util
import itertools
import json
import operator
import os
import re
import sys
import threading
import time
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

if TYPE_CHECKING:
    import jax
    import numpy as np

# The suffix of the files that processes write.
SUFFIX = ".states.jsonl"
WHAT, FORMAT = "flaxoptim_compat record", 1
# How many numbers stand for an array. A smaller one is kept as it is.
NUMBERS = 128

# The modules to wait for, on the machine of then.
_MODULES = (
    "flax.optim.base",
    "flax.training.train_state",
    "flax.nnx.training.optimizer",
    "flax.nnx.transforms.compilation",
)
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
# So many elements have signs of their own; see ``sketch``.
_BLOCK = 1 << 16

# Packages whose frames stand between a state and the line of the program that makes it.
_LIBRARIES = ("flaxoptim_compat", "jax", "jaxlib", "flax", "optax", "functools", "dataclasses")
_CREATE = ("flaxoptim_compat.optim.base", "flax.optim.base", "flax.training.train_state")
# A step of a legacy optimizer makes a TrainState, which is no state of the program.
_INSIDE_A_STEP = "flaxoptim_compat.bridge.traced"

# The file, the number and the function of a line; the step of each copy, and the bits.
_Line = Tuple[str, int, str]
_Key = Tuple[Tuple[int, ...], Optional[str]]


# Arrays, as a few numbers.


def digest(array: Any) -> bytes:
    """The hash of the bytes of an array."""
    bits = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return hashlib.blake2b(bits.data, digest_size=8).digest()


def fingerprint(array: Any, bits: bytes, most: int = NUMBERS) -> List[Any]:
    """The entries of ``fingerprints.Fingerprint`` for an array of which the hash is known.

    Args:
      array: the array.
      bits: its hash.
      most: how many elements it may have to be kept as it is.
    """
    numbers = base64.b64encode(sketch(array, most).tobytes()).decode()
    ends = [(_wide(each.max()), -_wide(each.min())) for each in _blocks(array)]
    largest = max([float(max(pair)) for pair in ends] or [0.0])
    return [bits.hex(), str(array.dtype), array.shape, numbers, largest]


def sketch(array: Any, most: int = NUMBERS) -> Any:
    """The array itself if it has at most so many elements, else ``NUMBERS`` sums of elements.

    Each element goes into one sum, with a random sign that is always the same. Sums are linear, so
    the difference of two sketches is the sketch of the difference of the arrays. The square of one
    of its numbers is, on average over signs, the sum of the squared differences in that sum, since
    their products cancel. So two sketches tell to some per cent how far two arrays are apart,
    though neither array was kept. They never prove that two arrays are equal: the hash does.

    The sign of an element is that of its place in a block times that of its block, so that only one
    block of signs is in memory. A complex number counts as two.
    """
    parts = _blocks(array)
    if sum(part.size for part in parts) <= most:
        return np.concatenate([_wide(part) for part in parts] or [np.zeros(0)])
    within, of_blocks = _signs(len(parts))
    sums = np.zeros(NUMBERS)
    for part, sign in zip(parts, of_blocks):
        signed = _wide(part) * within[: part.size]
        padded = np.pad(signed, (0, -part.size % NUMBERS), "constant")
        with np.errstate(invalid="ignore"):  # infinity less infinity
            sums += sign * padded.reshape(-1, NUMBERS).sum(axis=0)
    return sums


def _blocks(array: Any) -> List[Any]:
    flat = np.ascontiguousarray(array).reshape(-1)
    if flat.dtype.kind == "c":
        flat = flat.view(f"f{flat.dtype.itemsize // 2}")
    return [flat[start : start + _BLOCK] for start in range(0, flat.size, _BLOCK)]


def _wide(part: Any) -> Any:
    return part.astype(np.float64)


@functools.lru_cache(maxsize=16)
def _signs(blocks: int) -> Any:
    # Unlike newer generators, this one draws the same in all versions of numpy.
    draw = np.random.RandomState(20)
    return draw.randint(0, 2, _BLOCK) * 2.0 - 1, draw.randint(0, 2, blocks) * 2.0 - 1


# Trees. jax's own functions for paths are younger than the jax that this has to run on.


def leaves_of(tree: Any) -> List[Tuple[str, Any]]:
    """The leaves of a tree with their paths, such as ``dense/kernel``, in order of the paths."""
    return sorted(_leaves(tree, ""), key=lambda leaf: leaf[0])


def _leaves(node: Any, path: str) -> Iterator[Tuple[str, Any]]:
    if node is None:
        return
    children = _children(node)
    if children is None:
        yield path, node
        return
    for name, child in children:
        yield from _leaves(child, "/".join(filter(None, (path, str(name)))))


def _children(node: Any) -> Any:
    """The parts of a container with their names; None for a leaf."""
    if isinstance(node, (int, float, complex, np.ndarray, np.generic)) or _is_of_jax(node):
        return None
    fields = getattr(type(node), "__dataclass_fields__", {})
    if set(fields) == {"module", "params"}:  # the Model of flax.nn
        return [("", node.params)]
    if isinstance(node, collections.abc.Mapping):
        return node.items()
    if isinstance(node, (list, tuple)):
        return zip(getattr(node, "_fields", itertools.count()), node)
    leaves = jax.tree_util.tree_leaves(node)
    if len(leaves) == 1:  # an object of its own, or one around an array
        return None if leaves[0] is node else [("", leaves[0])]
    if fields:
        is_part = [each.metadata.get("pytree_node", True) for each in fields.values()]
        names = itertools.compress(fields, is_part)
        return [(name, getattr(node, name)) for name in names]
    return enumerate(leaves)


def _is_of_jax(leaf: Any) -> bool:
    """True for an array of jax, or a tracer."""
    array = getattr(jax, "Array", None)
    if isinstance(array, type) and isinstance(leaf, array):
        return True
    return isinstance(leaf, jax.core.Tracer) or hasattr(type(leaf), "block_until_ready")


class _Group:
    """States whose parameters have the same paths and shapes."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.start: Optional[int] = None
        self.round = 0
        self.seen: Dict[_Key, Set[str]] = {}
        self.last: List[Any] = []
        # The latest state of each definition.
        self.latest: Dict[int, _Key] = {}


class AppliedDefinition:
    """What a definition made of parameters and a state by itself, like an ``Optimizer``."""

    def __init__(self, optimizer_def: Any, state: Any, target: Any) -> None:
        self.optimizer_def, self.state, self.target = optimizer_def, state, target


class StateRecorder:
    """Writes the states of optimizers in one process into a file.

    Args:
      folder: the folder in which the file appears with the first state.
      is_whole: whether all arrays of all states are kept, whatever their number and size.
      probing: makes what drives the optimizers of a process by themselves at its end.
    """

    def __init__(
        self,
        folder: str,
        is_whole: bool = False,
        probing: Callable[[], Any] = lambda: None,
    ) -> None:
        self.folder = str(folder)
        self._is_whole = is_whole
        self._probing = probing
        self.after_fork()

    def after_fork(self) -> None:
        """Begin a file of its own, in a child process."""
        self._process = os.getpid()
        self._lock = threading.RLock()
        self._file: Optional[int] = None
        self._written = 0
        self._groups: Dict[Any, _Group] = {}
        self._numbers: Dict[str, Dict[Any, int]] = collections.defaultdict(dict)
        self._through: Set[Any] = set()
        self._rules: Dict[Any, int] = {}
        self._updates: Any = weakref.WeakKeyDictionary()
        self._count = itertools.count(1)
        self._held: List[Any] = []
        self._has_versions = False
        self._prober, self._is_probing = self._probing(), False

    def note(self, state: Any, is_created: bool = False) -> None:
        """Record a state of an optimizer, unless its leaves are tracers or are not here."""
        if self._process != os.getpid():
            self.after_fork()
        if self._is_probing:
            return
        try:
            with self._lock:
                self._note(state, is_created)
        except Exception as error:
            # An observer must not stop the program, not even if the command has ended before its
            # processes, and the folder is gone.
            with contextlib.suppress(OSError):
                self._write({"trouble": f"{type(error).__name__}: {error}"})

    def note_overrides(self, definition: Any, given: Any) -> None:
        """Note the hyper-parameters that a step is given in place of a definition's own."""
        own = getattr(definition, "hyper_params", None)
        names = set() if self._prober is None or given is own else set(_differing(own, given))
        if names:
            self._prober.given(self._rule_of(definition), names)

    def close(self) -> None:
        """Write what the optimizers do by themselves and the lost names, and close the file."""
        if self._prober is not None and self._process == os.getpid():
            self._is_probing = True
            for line in self._prober.lines():
                with contextlib.suppress(OSError):
                    self._write(line)
        usage = sys.modules.get("flaxoptim_compat.legacy.usage")
        if usage is not None and usage.counts:
            with contextlib.suppress(OSError):
                self._write({"names": sorted(usage.counts)})
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _note(self, state: Any, is_created: bool) -> None:
        params, step, moments, what = _parts(state)
        named = leaves_of(params)
        place, is_made, is_inside = _place()
        is_created = is_created or is_made
        if is_inside or not named or (not is_created and _is_numbered(state)):
            return
        paths, leaves = tuple(path for path, _ in named), [leaf for _, leaf in named]
        rule, shapes = self._rule_of(state), tuple(map(np.shape, leaves))
        if any(isinstance(leaf, jax.core.Tracer) for leaf in [*leaves, step]):
            if is_created:
                self._to_probe(state, params, (paths, shapes, rule), None)
            self._pass_through(paths, place, rule, is_created)
            return
        if not all(map(_is_here, [*leaves, step])):
            return
        group = self._group(paths, shapes)
        steps = tuple(map(int, np.ravel(_on_host(step))))
        self._to_probe(state, params, (paths, shapes, rule), steps)
        whole = [*leaves, step, *jax.tree_util.tree_leaves(moments)]
        if not is_created and _are(group.last, whole):
            return
        group.last = _references(whole)
        if not self._has_versions and any(map(_is_of_jax, leaves)):
            self._has_versions = True
            self._write({"versions": _versions()})
        about = {
            "what": what,
            "place": self._number_of("place", place),
            "created": is_created,
            "rule": rule,
        }
        self._note_in(group, steps, leaves, moments, about)

    def _to_probe(self, state: Any, params: Any, key: Any, steps: Any) -> None:
        if self._prober is not None:
            with contextlib.suppress(Exception):  # of the program
                self._prober.saw(_does_steps(state), params, key, steps)

    def _note_in(
        self,
        group: _Group,
        steps: Tuple[int, ...],
        leaves: List[Any],
        moments: Any,
        about: Dict[str, Any],
    ) -> None:
        if group.start is None:
            group.start = steps[0]
        size = sum(int(getattr(leaf, "nbytes", 8)) for leaf in leaves)
        done = abs(steps[0] - group.start)
        is_read, is_kept = (True, True) if self._is_whole else _chosen(done, size)
        arrays = list(map(_on_host, leaves)) if is_read else []
        digests = list(map(digest, arrays))
        bits = _hash(digests) if is_read else None
        key = steps, bits
        if key in group.seen and about["created"]:
            group.round += 1
            group.seen.clear()
        is_cheap = self._is_whole or size <= _BYTES_PER_STEP or done <= 1
        floats = _floats(moments) if is_kept and is_cheap else []
        moment_arrays = [_on_host(leaf) for _, leaf in floats]
        digests_of_moments = list(map(digest, moment_arrays))
        of_moments = _hash(digests_of_moments)
        known = group.seen.setdefault(key, set())
        is_latest = group.latest.get(about["rule"]) == key
        group.latest[about["rule"]] = key
        if known and (of_moments in known or len(known) >= _MOMENTS_PER_STATE or not is_kept):
            if not is_latest:
                again = {"again": group.number, "rule": about["rule"], "step": steps, "bits": bits}
                self._write(again)
            return
        known.add(of_moments)
        if len(group.seen) > _REMEMBERED:
            del group.seen[next(iter(group.seen))]
        line = {"state": group.number, "round": group.round, "step": steps, "bits": bits}
        line.update(about)
        if is_kept and (self._is_whole or self._written < _BYTES_PER_FILE):
            line["leaves"] = self._fingerprints(arrays, digests)
            line["moments"] = self._fingerprints(moment_arrays, digests_of_moments)
            line["moments_at"] = self._number_of("paths", tuple(path for path, _ in floats))
        self._write(line)

    def _fingerprints(self, arrays: List[Any], digests: List[bytes]) -> List[Any]:
        most = sys.maxsize if self._is_whole else NUMBERS
        return [fingerprint(array, bits, most) for array, bits in zip(arrays, digests)]

    def _group(self, paths: Tuple[str, ...], shapes: Any) -> _Group:
        key = paths, shapes
        if key not in self._groups:
            group = self._groups[key] = _Group(len(self._groups))
            self._write({"group": group.number, "paths": paths, "shapes": shapes})
        return self._groups[key]

    def _rule_of(self, state: Any) -> int:
        """The number of the definition, or of the transformation, that does the steps of a state.

        Equal definitions have one number.
        """
        with contextlib.suppress(Exception):  # either may be the program's own
            definition = _does_steps(state)
            if not hasattr(definition, "hyper_params"):
                return _numbered(self._updates, definition.update, self._count)
            if type(definition).__module__.startswith("flax."):
                return self._rule_of_flax(definition)
            from flaxoptim_compat.optim.by_value import StaticDefinition

            rule = StaticDefinition(definition)
            leaves = jax.tree_util.tree_leaves(rule.snapshot)
            if not any(isinstance(each, jax.core.Tracer) for each in leaves):
                return _numbered(self._rules, rule, self._count)
        return 0

    def _rule_of_flax(self, definition: Any) -> int:
        try:
            key = type(definition), definition.hyper_params
            hash(key)
        except TypeError:  # a rate is an array, or there are several parts
            key = type(definition), id(definition)
            if key not in self._rules:
                self._held.append(definition)  # or another one could get its id
        return _numbered(self._rules, key, self._count)

    def _pass_through(
        self, paths: Tuple[str, ...], place: _Line, rule: int, is_created: bool
    ) -> None:
        """Record that the program traces states at a line."""
        key = paths, self._number_of("place", place), rule, is_created
        if key not in self._through:
            self._through.add(key)
            self._write(dict(zip(("through", "place", "rule", "created"), key)))

    def _number_of(self, kind: str, value: Any) -> int:
        numbers = self._numbers[kind]
        if value not in numbers:
            numbers[value] = len(numbers)
            self._write({kind: numbers[value], "at": value})
        return numbers[value]

    def _write(self, line: Dict[str, Any]) -> None:
        with self._lock:
            if self._file is None:
                name = f"{int(time.time() * 1e9)}-{os.getpid()}{SUFFIX}"
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                self._file = os.open(os.path.join(self.folder, name), flags, 0o600)
                self._write({"program": program()})
            # Without a buffer: a process may end at any moment.
            self._written += os.write(self._file, json.dumps(line).encode() + b"\n")


def _parts(state: Any) -> Tuple[Any, Any, Any, str]:
    """The parameters, the step, the moments and the class of the definition of a state."""
    if not hasattr(state, "optimizer_def"):
        return state.params, state.step, state.opt_state, ""
    inner = state.state
    if isinstance(inner, (list, tuple)) and not hasattr(inner, "param_states"):
        # Until flax 0.3.2, a MultiOptimizer had a list of states.
        step = getattr(inner[0], "step", -1) if inner else -1
        moments: Any = [getattr(each, "param_states", ()) for each in inner]
    else:
        step, moments = getattr(inner, "step", -1), getattr(inner, "param_states", ())
    return state.target, step, moments, type(state.optimizer_def).__name__


def _does_steps(state: Any) -> Any:
    """The definition, or the transformation, that does the steps of a state."""
    if hasattr(state, "tx") and not hasattr(state, "optimizer_def"):
        return state.tx
    definition = getattr(state, "optimizer_def", state)
    return getattr(definition, "optimizer_def", definition)


def _differing(own: Any, given: Any) -> Iterator[str]:
    """The names of the hyper-parameters that are not a definition's own objects."""
    if isinstance(own, (list, tuple)) and isinstance(given, (list, tuple)):
        for pair in zip(own, given):
            yield from _differing(*pair)
    for name in getattr(own, "__dataclass_fields__", {}):
        values = getattr(own, name), getattr(given, name, None)
        if hasattr(values[0], "__dataclass_fields__"):
            yield from _differing(*values)
        elif values[0] is not values[1]:
            yield name


def _chosen(done: int, size: int) -> Tuple[bool, bool]:
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


def _hash(digests: List[bytes]) -> str:
    return hashlib.blake2b(b"".join(digests), digest_size=8).hexdigest()


def _floats(tree: Any) -> List[Tuple[str, Any]]:
    """The moments with fractions; none if one of the leaves cannot be read."""
    leaves = [(path, leaf) for path, leaf in leaves_of(tree) if np.ndim(leaf) > 0]
    if not all(_is_here(leaf) for _, leaf in leaves):
        return []
    inexact = jax.numpy.inexact
    return [each for each in leaves if jax.numpy.issubdtype(each[1].dtype, inexact)]


def _is_numbered(state: Any) -> bool:
    """True if numbers stand in place of all leaves, as in ``treedef.unflatten(range(n))``.

    Their order is that of the leaves, which is another one in a ``TrainState``. Parameters may be
    such numbers too, at the start: then the step of an ``Optimizer`` is an array.
    """
    return all(type(leaf) in (int, float, bool) for leaf in jax.tree_util.tree_leaves(state))


def _is_here(leaf: Any) -> bool:
    """True if a leaf has numbers that can be read without an effect on the program."""
    if not _is_of_jax(leaf):
        return isinstance(leaf, (np.ndarray, np.generic, int, float, complex))
    if isinstance(leaf, jax.core.Tracer) or not getattr(leaf, "is_fully_addressable", True):
        return False
    if hasattr(leaf, "is_deleted"):
        return not leaf.is_deleted() and not _is_extended(leaf.dtype)
    with contextlib.suppress(Exception):  # jax of 2020 has no question, but an answer
        leaf._check_if_deleted()
        return True
    return False


@functools.lru_cache(maxsize=64)
def _is_extended(dtype: Any) -> bool:
    """True for a dtype of random keys."""
    extended = getattr(jax.dtypes, "extended", None)
    return extended is not None and bool(jax.numpy.issubdtype(dtype, extended))


def _on_host(leaf: Any) -> Any:
    """An array of numpy with the numbers of a leaf, as jax would take them."""
    if not _is_of_jax(leaf):
        array = np.asarray(leaf)
        return array.astype(jax.dtypes.canonicalize_dtype(array.dtype), copy=False)
    if not hasattr(leaf, "addressable_data"):  # before jax 0.4
        return np.array(leaf)
    # A new array is read: jax keeps the numpy array of an array, and then never donates that.
    count = len(leaf.sharding.device_set)
    if count == 1 or leaf.is_fully_replicated:
        return np.asarray(leaf.addressable_data(0))
    shards = [leaf.addressable_data(index) for index in range(count)]
    whole = jax.make_array_from_single_device_arrays(leaf.shape, leaf.sharding, shards)
    return np.asarray(whole)


def _references(leaves: List[Any]) -> List[Any]:
    """Weak references to arrays, to recognise them; none if one is a mutable numpy array."""
    return [weakref.ref(leaf) for leaf in leaves] if all(map(_is_of_jax, leaves)) else []


def _are(references: List[Any], leaves: List[Any]) -> bool:
    if not references or len(references) != len(leaves):
        return False
    return all(reference() is leaf for reference, leaf in zip(references, leaves))


def _place() -> Tuple[_Line, bool, bool]:
    """The line of the program that made the state, whether by ``create``, whether inside a step."""
    is_created = False
    frame: Any = sys._getframe(2)
    while frame is not None:
        module = str(frame.f_globals.get("__name__"))
        code = frame.f_code
        if module == _INSIDE_A_STEP:
            return ("", 0, ""), False, True
        is_ours = module.partition(".")[0] in _LIBRARIES or code.co_filename == __file__
        if not is_ours and not code.co_filename.startswith("<"):
            place = os.path.abspath(code.co_filename), frame.f_lineno, code.co_name
            return place, is_created, False
        is_created = is_created or (code.co_name == "create" and module in _CREATE)
        frame = frame.f_back
    return ("", 0, ""), is_created, False


def program() -> str:
    """The name of the program of this process, which is the same in another run of the command."""
    for word in getattr(sys, "orig_argv", ["", *sys.argv])[1:]:
        if not word.startswith("-"):
            return re.sub(r"\d+", "0", os.path.basename(word))[:80]
    return ""


def _versions() -> Dict[str, str]:
    """The versions of Python and of packages, and the device."""
    import platform

    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("jax", "jaxlib", "flax", "optax", "numpy"):
        for module in (name + ".version", name):
            if hasattr(sys.modules.get(module), "__version__"):
                versions[name] = str(getattr(sys.modules[module], "__version__"))  # noqa: B009
    device = jax.local_devices()[0]
    versions["device"] = f"{device.platform} ({getattr(device, 'device_kind', '?')})"
    return versions


# The classes whose objects are states.

_recorder: Optional[StateRecorder] = None
# Functions that give each observed class its own methods back.
_undo: List[Callable[[], None]] = []
# In each thread, how many steps of definitions are being done, one inside the other.
_steps = threading.local()
# The optimizers of nnx, which change in place, with references to their models.
_living: Any = weakref.WeakKeyDictionary()


def attach(
    module: types.ModuleType, folder: str, probing: Callable[[], Any] = lambda: None
) -> None:
    """Record from now on the states that the classes of a module make.

    Args:
      module: a module of Flax or of this package, which has just been imported.
      folder: the folder of the file of this process.
      probing: as for ``StateRecorder``.
    """
    global _recorder
    load()
    if _recorder is None:
        _recorder = StateRecorder(folder, probing=probing)
        atexit.register(_recorder.close)
    own = {name: each for name, each in vars(module).items() if _is_of(each, module)}
    if "JitWrapped" in own:
        _wrap(own["JitWrapped"], "__call__", _called)
    if "OptimizerDef" in own:
        _all_of(own["OptimizerDef"], {"apply_gradient": _applied})
    if "Optimizer" in own and ".nnx." in module.__name__:
        _all_of(own["Optimizer"], {"__init__": _begun, "update": _updated})
    elif "Optimizer" in own or "TrainState" in own:
        _all_of(own.get("Optimizer") or own["TrainState"], {"__init__": _initialised})


def load() -> None:
    """Import jax and numpy, for the functions of this file."""
    globals().update(jax=importlib.import_module("jax"), np=importlib.import_module("numpy"))


def _is_of(each: Any, module: types.ModuleType) -> bool:
    """True for a class that was made in a module, and not imported into it."""
    return isinstance(each, type) and each.__module__ == module.__name__


def _initialised(start: Any, self: Any, *args: Any, **kwargs: Any) -> None:
    start(self, *args, **kwargs)
    _note(self)


def _applied(step: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Do a step of a definition, and record it unless it is part of another step."""
    depth = getattr(_steps, "depth", 0)
    given = dict(zip(("hyper_params", "params", "state", "grads"), args), **kwargs)
    if not depth and _recorder is not None:
        _recorder.note_overrides(getattr(self, "optimizer_def", self), given.get("hyper_params"))
    _steps.depth = depth + 1
    try:
        result = step(self, *args, **kwargs)
    finally:
        _steps.depth = depth
    caller = str(sys._getframe(2).f_globals.get("__name__"))
    if not depth and caller.partition(".")[0] not in _LIBRARIES:
        for params, state in ((given.get("params"), given.get("state")), result):
            _note(AppliedDefinition(self, state, params), _is_start(state))
    return result


def _is_start(state: Any) -> bool:
    """True if no step was done yet, or code is traced that does one, be it the first."""
    step = getattr(state, "step", -1)
    is_traced = isinstance(step, jax.core.Tracer)
    return is_traced or (_is_here(step) and not np.any(_on_host(step)))


class _OfNnx:
    """What an optimizer of nnx and its model hold, like a ``TrainState``."""

    def __init__(self, optimizer: Any, model: Any) -> None:
        nnx = importlib.import_module("flax.nnx")
        self.params = nnx.state(model, optimizer.wrt)
        (self.step,) = jax.tree_util.tree_leaves(nnx.state(optimizer)["step"])
        self.opt_state, self.tx = nnx.state(optimizer)["opt_state"], optimizer.tx


def _begun(start: Any, self: Any, model: Any, *args: Any, **kwargs: Any) -> None:
    start(self, model, *args, **kwargs)
    if self not in _living:  # else the class from which its own is derived has done it
        _living[self] = weakref.ref(model)
        _note_of_nnx(self, is_created=True)


def _updated(update: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    result = update(self, *args, **kwargs)
    _note_living()
    return result


def _called(call: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that ``nnx.jit`` made, which changes optimizers in place."""
    result = call(self, *args, **kwargs)
    _note_living()
    return result


def _note_living() -> None:
    for optimizer in list(_living):
        _note_of_nnx(optimizer)


def _note_of_nnx(optimizer: Any, is_created: bool = False) -> None:
    with contextlib.suppress(Exception):  # of some version of Flax
        _note(_OfNnx(optimizer, _living[optimizer]()), is_created)


def _note(state: Any, is_created: bool = False) -> None:
    if _recorder is not None:
        _recorder.note(state, is_created)


def _all_of(base: Any, instead: Dict[str, Any]) -> None:
    """Wrap methods of a class, and of those that are or will be derived from it."""

    def observe(cls: Any) -> None:
        for name in instead:
            _wrap(cls, name, instead[name])

    waiting = [base]
    for each in waiting:
        observe(each)
        waiting += type.__subclasses__(each)
    inherited = base.__dict__.get("__init_subclass__")

    def __init_subclass__(cls: Any, **kwargs: Any) -> None:  # noqa: N807
        if inherited is not None:
            inherited.__func__(cls, **kwargs)
        else:
            super(base, cls).__init_subclass__(**kwargs)
        observe(cls)

    base.__init_subclass__ = classmethod(__init_subclass__)  # type: ignore[arg-type]
    _undo.append(lambda: _restore(base, "__init_subclass__", inherited))


def _wrap(cls: Any, name: str, instead: Any) -> None:
    """Call another function, with the method as its first argument, in place of a class's own."""
    method = cls.__dict__.get(name)
    if method is None:
        return

    @functools.wraps(method)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return instead(method, *args, **kwargs)

    setattr(cls, name, wrapped)
    _undo.append(lambda: setattr(cls, name, method))


def _restore(cls: type, name: str, value: Any) -> None:
    if value is None:
        delattr(cls, name)
    else:
        setattr(cls, name, value)


@contextlib.contextmanager
def recording(
    folder: str,
    *modules: types.ModuleType,
    is_whole: bool = False,
    probing: Callable[[], Any] = lambda: None,
) -> Iterator[StateRecorder]:
    """Record the states of this process for a block.

    Args:
      folder: the folder of the file.
      modules: the modules of the classes whose objects are states.
      is_whole: as for ``StateRecorder``.
      probing: as for ``StateRecorder``.
    """
    global _recorder
    load()
    _recorder = StateRecorder(folder, is_whole, probing)
    for module in modules:
        attach(module, folder)
    try:
        yield _recorder
    finally:
        closing, _recorder = _recorder, None
        closing.close()
        _living.clear()
        while _undo:
            _undo.pop()()


class ImportWatch:
    """A finder that calls functions with modules once the other finders have loaded them.

    Args:
      told: the functions to call, by the names of the modules.
      before: takes the ``__path__`` of the package, or None, before each search for a module.
    """

    def __init__(
        self,
        told: Dict[str, List[Callable[[types.ModuleType], None]]],
        before: Optional[Callable[[Any], None]] = None,
    ) -> None:
        self._told = told
        self._before = before

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec of a watched module, which the other finders find; None for other modules."""
        if self in sys.meta_path[1:]:
            # The finder of pytest, which came later, finds modules of this package itself.
            sys.meta_path.remove(self)
            sys.meta_path.insert(0, self)
        if self._before is not None:
            self._before(path)
        if name not in self._told:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                _tell_when_loaded(spec.loader, self._told[name])
                return spec
        return None


def _tell_when_loaded(loader: Any, told: List[Callable[[types.ModuleType], None]]) -> None:
    load_module = loader.exec_module

    def exec_module(module: types.ModuleType) -> None:
        del loader.exec_module
        load_module(module)
        for tell in told:
            tell(module)

    loader.exec_module = exec_module


# The file of a record.


class _Table:
    """Arrays of the same paths, shapes and dtypes at several steps.

    Args:
      entries: the fingerprints at one of the steps.
      about: what the file says of the table.
    """

    def __init__(self, entries: List[Any], about: Dict[str, Any]) -> None:
        self.about = about
        self.steps: List[Any] = []
        self._digests: List[Any] = []
        self._largest: List[Any] = []
        self._columns: List[List[Any]] = [[] for _ in entries]

    def add(self, step: List[int], entries: List[Any]) -> int:
        """Add a row; returns its number."""
        self.steps.append(step)
        self._digests.append([int(each[0], 16) for each in entries])
        self._largest.append([each[4] for each in entries])
        for column, entry in zip(self._columns, entries):
            column.append(np.frombuffer(base64.b64decode(entry[3]), np.float64))
        return len(self.steps) - 1

    def arrays(self) -> Iterator[Tuple[str, Any]]:
        """All arrays, with their names in the file."""
        about, steps = self.about, np.array(self.steps, np.int64)
        yield about["step"], steps[:, 0] if steps.shape[1:] == (1,) else steps
        yield about["digests"], np.array(self._digests, np.uint64)
        yield about["largest"], np.array(self._largest, np.float64)
        entries = zip(about["names"], self._columns, about["dtypes"], about["shapes"])
        for name, column, dtype, shape in entries:
            numbers = np.stack(column)
            if not is_sketch(numbers.shape[1], dtype, shape):
                numbers = numbers.view(np.complex128) if dtype.startswith("complex") else numbers
                # What numpy does not have, such as bfloat16, is part of float32.
                own = dtype if hasattr(np, dtype) else "bool" if dtype == "bool" else "float32"
                numbers = numbers.astype(own).reshape([len(column), *shape])
            yield name, numbers


def is_sketch(count: int, dtype: str, shape: Any) -> bool:
    """True if so many numbers are not all the elements of an array."""
    elements = functools.reduce(operator.mul, shape, 2 if dtype.startswith("complex") else 1)
    return bool(count != elements)


class _Packer:
    """The tables of a file."""

    def __init__(self) -> None:
        self.tables: List[_Table] = []
        self._numbers: Dict[Any, int] = {}
        self._folders: Any = collections.Counter()
        self._optimizers: Dict[Any, int] = {}

    def add(self, optimizer: Any, kind: str, paths: Any, step: Any, entries: Any) -> List[int]:
        """Add arrays at a step; returns the number of their table, and of their row there."""
        shapes = [each[2] for each in entries]
        forms = [(each[1], len(each[3])) for each in entries]
        key = json.dumps([optimizer, kind, paths, shapes, forms])
        if key not in self._numbers:
            self._numbers[key] = len(self.tables)
            self.tables.append(self._table(optimizer, kind, paths, entries))
        number = self._numbers[key]
        return [number, self.tables[number].add(step, entries)]

    def _table(self, optimizer: Any, kind: str, paths: Any, entries: Any) -> _Table:
        number = self._optimizers.setdefault(optimizer, len(self._optimizers))
        self._folders[number, kind] += 1
        # Another table has the moments of another transformation with the same parameters.
        folder = str(number) + "." * (self._folders[number, kind] > 1)
        folder += str(self._folders[number, kind]) * (self._folders[number, kind] > 1)
        names: List[str] = []
        for index, (path, (_, dtype, shape, numbers, _)) in enumerate(zip(paths, entries)):
            count = len(base64.b64decode(numbers)) // 8
            sketches = "/sketches" if is_sketch(count, dtype, shape) else ""
            name = "/".join(part or "_" for part in (path or "array").split("/"))
            if any(each.startswith(path + "/") for each in paths) or paths.count(path) > 1:
                name += f"#{index}"
            names.append(folder + sketches + "/" + kind + "/" + name)
        about = {
            "step": folder + ("/step" if kind == "params" else "/step_of_" + kind),
            "digests": folder + "/digests/" + kind,
            "largest": folder + "/largest/" + kind,
            "paths": paths,
            "names": names,
            "dtypes": [each[1] for each in entries],
            "shapes": [each[2] for each in entries],
        }
        return _Table(entries, about)


def pack(folder: str, out: str) -> Tuple[int, int]:
    """Write the files of all processes into one.

    Args:
      folder: the folder with the files of the processes.
      out: the file to write.

    Returns:
      How many states of how many optimizers there are; without any, no file is written.
    """
    packer = _Packer()
    # The names of the files begin with the time.
    files = sorted(name for name in os.listdir(folder) if name.endswith(SUFFIX))
    processes = []
    for number, name in enumerate(files):
        with open(os.path.join(folder, name), encoding="utf-8") as lines:
            processes.append(list(_packed(lines, number, packer)))
    states = [line for lines in processes for line in lines if "state" in line]
    if not states:
        return 0, 0
    tables = [table.about for table in packer.tables]
    about = {"what": WHAT, "format": FORMAT, "tables": tables, "processes": processes}
    arrays: Any = {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}
    for table in packer.tables:
        arrays.update(table.arrays())
    unfinished = out + ".unfinished"
    try:
        with open(unfinished, "wb") as file:
            np.savez_compressed(file, **arrays)
        os.replace(unfinished, out)
    finally:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
    groups = [line for lines in processes for line in lines if "group" in line]
    return len(states), len(groups)


def _packed(lines: Any, process: int, packer: _Packer) -> Iterator[Dict[str, Any]]:
    """The lines of a process, with places in tables instead of arrays."""
    paths: Dict[Any, Any] = {}
    for text in lines:
        if not text.endswith("\n"):
            return  # the process ended here
        line = json.loads(text)
        if "group" in line:
            paths["group", line["group"]] = line["paths"]
        elif "paths" in line:
            paths["moments", line["paths"]] = line["at"]
        elif line.get("leaves"):
            optimizer, step = (process, line["state"]), line["step"]
            for kind, entries, at in (
                ("params", "leaves", ("group", line["state"])),
                ("moments", "moments", ("moments", line["moments_at"])),
            ):
                if line[entries]:
                    line[entries] = packer.add(optimizer, kind, paths[at], step, line[entries])
        yield line


# The command.

# Runs before the program, in each Python that is started.
_START = """\
import importlib.util, os, sys
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [each for each in sys.path if os.path.abspath(each) != here]
spec = importlib.util.spec_from_file_location("flaxoptim_record", {file!r})
module = sys.modules["flaxoptim_record"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.watch(here)
# The file that this one stands before.
own = sys.modules.pop("sitecustomize")
try:
    import sitecustomize
except ImportError:
    sys.modules["sitecustomize"] = own
"""


def watch(folder: str) -> None:
    """Record, in this process, the states of all optimizers that it makes from now on.

    Args:
      folder: the folder for the file.
    """
    told = {name: [lambda module: attach(module, folder)] for name in _MODULES}
    sys.meta_path.insert(0, ImportWatch(told))


def _status_of(program: List[str], folder: str) -> int:
    """Run a program, and return its exit status as a shell has it."""
    import signal
    import subprocess

    with open(os.path.join(folder, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(_START.format(file=os.path.abspath(__file__)))
    paths = [folder, os.environ.get("PYTHONPATH", "")]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, paths)))
    child = subprocess.Popen([sys.executable, *program], env=environment)
    # A terminal interrupts both, and this process has to write the file.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda number, _: child.send_signal(number))
    status = child.wait()
    return status if status >= 0 else 128 - status


def main(argv: List[str]) -> int:
    """Run the command; returns the exit status of the program."""
    import shutil
    import tempfile

    if len(argv) < 2 or argv[0].startswith("-"):
        print(__doc__.partition("\n\n``numpy.load``")[0])
        return 2
    out, program = argv[0], argv[1:]
    if os.path.lexists(out):
        print(out, "exists already. Name another file, or move it away.", file=sys.stderr)
        return 2
    if not os.path.isdir(os.path.dirname(os.path.abspath(out))):
        print("There is no folder for", out + ". Make it first.", file=sys.stderr)
        return 2
    out = os.path.abspath(out)
    globals()["np"] = importlib.import_module("numpy")
    folder = tempfile.mkdtemp(prefix="flaxoptim-record-")
    try:
        status = _status_of(program, folder)
        states, optimizers = pack(folder, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if not states:
        print("No state of an optimizer was seen, so nothing was recorded.", file=sys.stderr)
        return status or 1
    many = "s" if optimizers > 1 else ""
    print(f"{states} states of {optimizers} optimizer{many} are in {out}.", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
