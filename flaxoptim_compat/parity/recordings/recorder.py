"""Record a training on the machine that still has flax.optim, to compare with it on another.

Copy this one file there; it needs jax and numpy, of any version from jax 0.2 and Python 3.6 on:

    python recorder.py OUT.npz program.py:train --steps 20

OUT.npz then holds parameters, gradients and moments of 20 updates. Where flaxoptim_compat is:

    flaxoptim-compat parity replay OUT.npz 'optax.adam(0.001)'

In the program, ``train`` is either a generator that yields before each update, and at the end:

    def train():
        optimizer = optim.Adam(0.001).create(params)
        for batch in batches:
            gradients = jax.grad(loss)(optimizer.target, batch)
            yield optimizer, gradients
            optimizer = optimizer.apply_gradient(gradients)
        yield (optimizer,)

or a function that does update number i as the program does it. The recorder listens to what
``apply_gradient`` is given in it, which takes ``jax.disable_jit()``:

    def train(i):
        global optimizer
        optimizer = train_step(optimizer, batches[i])
"""

# Written for Python 3.6.
# ruff: noqa: B905, UP006, UP031, UP032, UP035, UP045
import argparse
import collections.abc
import contextlib
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import os
import platform
import re
import sys
import traceback
import zipfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import jax
import numpy as np

FORMAT = 1
_YIELDS = """\
def train():
    ...
    for batch in batches:
        gradients = ...
        yield optimizer, gradients, {"learning_rate": rate}  # before the update
        optimizer = optimizer.apply_gradient(gradients, learning_rate=rate)
    yield (optimizer,)  # after the last one"""
_FROM_PMAP = """\
Return the averaged gradients from the function that is compiled, and record one that yields them:

%s

Of what pmap returns, yield the first copy: jax_utils.unreplicate(optimizer), and the gradients
likewise.""" % (_YIELDS,)

Path = Tuple[Any, ...]


class RecordingError(Exception):
    """Something that cannot be recorded; the message says what, and what to do."""


# Trees. jax's own functions for paths are younger than the jax that this has to run on.


def _inside(node: Any) -> Any:
    """The parameters in a flax.nn.Model; anything else as it is."""
    fields = getattr(type(node), "__dataclass_fields__", ())
    return node.params if set(fields) == {"module", "params"} else node


def _entries(node: Any) -> Optional[Tuple[str, List[Tuple[Any, Any]]]]:
    """The kind of a container, and what is in it by key, index or field; None for an array."""
    if hasattr(node, "dtype") or isinstance(node, (bool, int, float, complex)):
        return None
    if isinstance(node, collections.abc.Mapping):
        if not all(isinstance(key, str) or type(key) is int for key in node):
            raise RecordingError("Names in a tree must be texts or integers: %r" % list(node))
        try:
            return "dict", [(key, node[key]) for key in sorted(node)]
        except TypeError:
            raise RecordingError("Names in a tree must be of one kind: %r" % list(node)) from None
    if isinstance(node, (list, tuple)):
        return "list", list(enumerate(node))
    fields = getattr(type(node), "__dataclass_fields__", None)
    if fields is not None:
        names = [name for name in fields if fields[name].metadata.get("pytree_node", True)]
        return "dict", [(name, getattr(node, name)) for name in names]
    leaves = jax.tree_util.tree_flatten(node)[0]
    if len(leaves) == 1 and leaves[0] is node:
        return None
    return "list", list(enumerate(leaves))


def _structure(node: Any, path: Path, found: List[Tuple[Path, Any]]) -> Any:
    """The containers of a tree as JSON can hold them; adds the leaves, by path, to ``found``."""
    node = _inside(node)
    if node is None:
        return None
    parts = _entries(node)
    if parts is None:
        found.append((path, node))
        return len(found) - 1
    kind, entries = parts
    below = [(key, _structure(child, (*path, key), found)) for key, child in entries]
    return {kind: below if kind == "dict" else [child for _, child in below]}


def _beside(node: Any, other: Any, path: Path, what: str) -> List[Any]:
    """What another tree has at the leaves of the first one; None where it ends with a None."""
    node, other = _inside(node), _inside(other)
    if node is None:
        return []
    parts = _entries(node)
    if parts is None:
        return [other]
    keys = [key for key, _ in parts[1]]
    if other is None:
        found = dict.fromkeys(keys)  # type: Dict[Any, Any]
    elif parts[0] == "list" and not isinstance(node, (list, tuple)):
        treedef = jax.tree_util.tree_flatten(node)[1]  # type: Any
        found = dict(enumerate(treedef.flatten_up_to(other)))
    else:
        found = dict((_entries(other) or ("", []))[1])
    for key in keys + list(found):
        if key not in found or key not in keys:
            where, there = _text((*path, key)), "lack" if key in keys else "have"
            raise RecordingError(
                "The %s do not fit the parameters: they %s %s." % (what, there, where)
            )
    below = [_beside(child, found[key], (*path, key), what) for key, child in parts[1]]
    return list(itertools.chain.from_iterable(below))


def _plural(count: int, noun: str) -> str:
    return "{:,} {}{}".format(count, noun, "" if count == 1 else "s")


def _text(path: Path) -> str:
    return "/".join(map(str, path)) or "the root"


def _is_traced(value: Any) -> bool:
    return any(cls.__name__ == "Tracer" for cls in type(value).__mro__)


def _array(value: Any, what: str) -> Any:
    """The numbers of a leaf, on this machine."""
    if _is_traced(value):
        raise RecordingError(
            "%s is traced: inside of pmap and the like, nobody knows its numbers.\n%s"
            % (what, _FROM_PMAP)
        )
    if isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype"):
        value = jax.numpy.asarray(value)
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        raise RecordingError("%s is %r, which is no array of numbers." % (what, value))
    try:
        array = np.asarray(value, order="C")
    except Exception as error:
        raise RecordingError("%s cannot be read: %s" % (what, error)) from error
    if _is_of_numpy(array) and array.dtype.kind not in "biufc":
        raise RecordingError("%s has the dtype %s, which is none of numbers." % (what, array.dtype))
    return array


def _is_of_numpy(array: Any) -> bool:
    """Whether its dtype is one of numpy itself; bfloat16 is not."""
    return bool(array.dtype.type.__module__ == "numpy")


# Optimizers, recognised by their fields.


def _is_optimizer(value: Any) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("state", "target"))


def _target(subject: Any) -> Any:
    return subject.target if _is_optimizer(subject) else subject


def _step_of(subject: Any) -> int:
    if not _is_optimizer(subject):
        return 0
    state = subject.state[0] if isinstance(subject.state, (list, tuple)) else subject.state
    step = _array(getattr(state, "step", 0), "state.step")
    if step.ndim:
        raise RecordingError(
            "state.step has shape %s: this optimizer is replicated, one copy for each device (or"
            " one of several members).\n%s" % (step.shape, _FROM_PMAP)
        )
    return int(step)


def _states(subject: Any, leaves: Sequence[Any]) -> List[Any]:
    """What the optimizer keeps for each parameter."""
    if not _is_optimizer(subject):
        return [None] * len(leaves)
    state = subject.state
    if hasattr(state, "param_states"):
        return _beside(subject.target, state.param_states, (), "states")
    # Until flax 0.3.2, a MultiOptimizer had a list of states, each with those of the leaves that
    # its traversal yields.
    found = {}  # type: Dict[int, Any]
    for traversal, part in zip(getattr(subject.optimizer_def, "traversals", ()), state):
        for leaf, leaf_state in zip(traversal.iterate(subject.target), part.param_states):
            found[id(leaf)] = leaf_state
    return [found.get(id(leaf)) for leaf in leaves]


def _settings(hyper_params: Any) -> Dict[str, Optional[float]]:
    """The hyper-parameters that are numbers or None, by name."""
    fields = getattr(type(hyper_params), "__dataclass_fields__", ())
    values = {name: getattr(hyper_params, name) for name in fields}
    found = {name: _number(value) for name, value in values.items()}
    return {name: found[name] for name in found if found[name] is not None or values[name] is None}


def _number(value: Any) -> Optional[float]:
    if isinstance(value, (bool, int, float)):
        return value
    is_scalar = not isinstance(value, type) and getattr(value, "shape", None) == ()
    return float(np.asarray(value)) if is_scalar and not _is_traced(value) else None


def _described(definition: Any) -> Dict[str, Any]:
    parts = list(getattr(definition, "sub_optimizers", ()))
    parts += [
        getattr(definition, name)
        for name in ("wrapped_optimizer", "optimizer_def")
        if hasattr(definition, name)
    ]
    return {
        "class": type(definition).__name__,
        "module": type(definition).__module__,
        "hyper_params": _settings(getattr(definition, "hyper_params", None)),
        "parts": list(map(_described, parts)),
    }


def _versions() -> Dict[str, str]:
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("jax", "jaxlib", "flax", "numpy", "optax"):
        modules = [sys.modules.get(each) for each in (name, name + ".version")]
        versions = [getattr(module, "__version__", None) for module in modules]
        if any(versions):
            found[name] = str(next(filter(None, versions)))
    device = jax.devices()[0]
    found["device"] = "%s (%s)" % (device.platform, getattr(device, "device_kind", "?"))
    found["x64"] = "on" if jax.numpy.asarray(0.5).dtype == np.float64 else "off"
    return found


class Recording:
    """What is recorded, written to a file step by step.

    Args:
      archive: the open file.
      limit: how many updates to record.
      progress: called after each.
    """

    def __init__(
        self, archive: zipfile.ZipFile, limit: int, progress: Callable[[int], None]
    ) -> None:
        self.limit = limit
        self.results = 0
        self._archive = archive
        self._progress = progress
        self._gradients = 0
        self._structure = None  # type: Any
        self._shapes = []  # type: List[Tuple[int, ...]]
        self._paths = []  # type: List[Path]
        self._moments = {}  # type: Dict[str, int]
        self._overrides = []  # type: List[Dict[str, Any]]
        self._start_step = 0
        self._definition = {}  # type: Dict[str, Any]
        self._last = b""

    @property
    def begun(self) -> bool:
        """Whether anything is recorded."""
        return self._last != b""

    @property
    def lacks_result(self) -> bool:
        """Whether there are gradients of one more update than there are results."""
        return self._gradients > self.results

    @property
    def full(self) -> bool:
        """Whether all updates that were asked for are recorded."""
        return self.results >= self.limit

    def is_like(self, subject: Any) -> bool:
        """Whether something has the structure of the parameters that are recorded."""
        found = []  # type: List[Tuple[Path, Any]]
        try:
            structure = _structure(_target(subject), (), found)
        except RecordingError:
            return False
        shapes = [np.shape(leaf) if _entries(leaf) is None else None for _, leaf in found]
        return self.begun and structure == self._structure and shapes == self._shapes

    def goes_on_from_here(self, subject: Any) -> bool:
        """Whether its parameters are those that the last recorded update returned."""
        return self.is_like(subject) and self._fingerprint(subject, None) == self._last

    def state(self, subject: Any) -> None:
        """Record parameters and moments, at the start or as the result of an update."""
        index = self._gradients
        if not self.begun:
            self._begin(subject)
        elif not self.is_like(subject):
            raise RecordingError(
                "After update %d the parameters have another structure, or other shapes, than"
                " before. Only parameters that stay the same kind can be recorded." % index
            )
        self._last = self._fingerprint(subject, "%d/parameter" % index)
        leaves = _beside(_target(subject), _target(subject), (), "parameters")
        for number, state in enumerate(_states(subject, leaves)):
            fields = []  # type: List[Tuple[Path, Any]]
            _structure(state, (), fields)
            for field, value in fields:
                name = ".".join(map(str, field)) or "state"
                moment = self._moments.setdefault(name, len(self._moments))
                what = "The %s of %s" % (name, _text(self._paths[number]))
                self._write("%d/moment_%d" % (index, moment), number, _array(value, what))
        self.results = index
        if index:
            self._progress(index)

    def gradients(self, subject: Any, grads: Any, overrides: Dict[str, Any]) -> None:
        """Record the gradients of the next update, and the hyper-parameters that it is given."""
        for number, leaf in enumerate(_beside(_target(subject), grads, (), "gradients")):
            where, shape = _text(self._paths[number]), self._shapes[number]
            array = _array(leaf, "The gradient of %s" % where)
            if array.shape != shape:
                raise RecordingError(
                    "The gradient of %s has shape %s, the parameter %s. If it has one more axis,"
                    " for the devices, take the first copy." % (where, array.shape, shape)
                )
            self._write("%d/gradient" % self._gradients, number, array)
        self._overrides.append(self._effective(subject, dict(overrides)))
        self._gradients += 1

    def finish(self) -> None:
        """Write what describes the rest."""
        columns = self._columns()
        for name in columns:
            self._write("override", name, np.asarray(columns[name]))
        description = {
            "what": "flaxoptim_compat recording",
            "format": FORMAT,
            "structure": self._structure,
            "steps": self.results,
            "start_step": self._start_step,
            "moments": sorted(self._moments, key=lambda name: self._moments[name]),
            "overrides": sorted(columns),
            "definition": self._definition,
            "versions": _versions(),
        }
        text = json.dumps(description, sort_keys=True).encode()
        self._write("description", "json", np.frombuffer(text, np.uint8))

    def summary(self) -> str:
        """What was recorded, in one line."""
        count = sum(int(np.prod(shape)) for shape in self._shapes)
        parts = [
            _plural(self.results, "update"),
            "of %s" % self._definition["class"] if self._definition else "",
            "from step %d on:" % self._start_step,
            "%s in %s," % (_plural(count, "parameter"), _plural(len(self._shapes), "array")),
            "their gradients and %s." % (", ".join(self._moments) or "no moments"),
        ]
        return " ".join(filter(None, parts))

    def _begin(self, subject: Any) -> None:
        self._start_step = _step_of(subject)
        definition = getattr(subject, "optimizer_def", None) if _is_optimizer(subject) else None
        self._definition = {} if definition is None else _described(definition)
        found = []  # type: List[Tuple[Path, Any]]
        self._structure = _structure(_target(subject), (), found)
        if not found:
            raise RecordingError("There are no parameters: %r" % (subject,))
        self._paths = [path for path, _ in found]
        self._shapes = [_array(leaf, "The parameter " + _text(path)).shape for path, leaf in found]

    def _fingerprint(self, subject: Any, entry: Optional[str]) -> bytes:
        """What tells parameters from others, to the bit; also writes them to an entry."""
        digest = hashlib.blake2b()
        target = _target(subject)
        for number, leaf in enumerate(_beside(target, target, (), "parameters")):
            array = _array(leaf, "The parameter " + _text(self._paths[number]))
            digest.update(array.dtype.name.encode())
            digest.update(np.ravel(array).view(np.uint8).data)
            if entry is not None:
                self._write(entry, number, array)
        return digest.digest()

    def _effective(self, subject: Any, overrides: Dict[str, Any]) -> Dict[str, Any]:
        """What is not as the definition had it at the start."""
        definition = getattr(subject, "optimizer_def", None) if _is_optimizer(subject) else None
        hyper_params = overrides.pop("hyper_params", getattr(definition, "hyper_params", None))
        start = self._definition.get("hyper_params", {})
        changed = _settings(hyper_params)
        found = {
            name: changed[name]
            for name in changed
            if changed[name] is not None and changed[name] != start.get(name)
        }  # type: Dict[str, Any]
        for name, value in overrides.items():
            array = _array(value, "The hyper-parameter %s" % name)
            array = array if _is_of_numpy(array) else array.astype(np.float32)
            if array.ndim or array.dtype.kind not in "biuf":
                raise RecordingError("The hyper-parameter %s is %r, no number." % (name, value))
            found[name] = value if isinstance(value, (bool, int, float)) else array[()]
        return found

    def _columns(self) -> Dict[str, List[Any]]:
        """The overrides of all updates, by name."""
        rows = self._overrides[: self.results]
        start = self._definition.get("hyper_params", {})
        names = sorted({name for row in rows for name in row})
        for name in names:
            missing = [index for index, row in enumerate(rows) if name not in row]
            if missing and start.get(name) is None:
                raise RecordingError(
                    "Update %d was given no %s, others were, and the definition has no number of"
                    " that name. Give it to all of them." % (missing[0] + 1, name)
                )
        return {name: [row.get(name, start.get(name)) for row in rows] for name in names}

    def _write(self, folder: str, name: Any, array: Any) -> None:
        """Add an array to the file; a dtype that numpy lacks goes as unsigned integers."""
        dtype = array.dtype.name
        if not _is_of_numpy(array):
            array = array.view("u%d" % array.dtype.itemsize)
        entry = "%s/%s.%s.npy" % (folder, name, dtype)
        try:
            with self._archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
        except BaseException:
            # After Ctrl-C the rest is kept, and half an array would spoil it.
            entries = self._archive.infolist()
            entries[:] = [each for each in entries if each.filename != entry]
            raise


class Listener:
    """Records what optimizers do in ``apply_gradient``, while it listens.

    It follows one optimizer: from the first call, or the one of the given number, on to each call
    on the parameters that the last one returned.

    Args:
      recording: what to add to.
      number: which call to begin with, from 1.
    """

    def __init__(self, recording: Recording, number: int) -> None:
        self.calls = 0
        self.others = 0
        self.error = None  # type: Optional[RecordingError]
        self._recording = recording
        self._number = number
        self._inside = False

    @contextlib.contextmanager
    def listening(self) -> Iterator[None]:
        """Listen until the block ends."""
        originals = [(cls, cls.__dict__["apply_gradient"]) for cls in _optimizer_classes()]
        try:
            for cls, original in originals:
                cls.apply_gradient = self._recorded(original)
            yield
        finally:
            for cls, original in originals:
                cls.apply_gradient = original

    def _recorded(self, original: Any) -> Any:
        def apply_gradient(optimizer: Any, *args: Any, **overrides: Any) -> Any:
            # A subclass calls its parent's, which is wrapped as well.
            if self._inside:
                return original(optimizer, *args, **overrides)
            self._inside = True
            try:
                follows = self._follows(optimizer)
                result = original(optimizer, *args, **overrides)
                if follows:
                    rest = dict(overrides)
                    grads = args[0] if args else rest.pop("grads")
                    self._recording.gradients(optimizer, grads, rest)
                    self._recording.state(result)
                return result
            except RecordingError as error:
                self.error = error
                raise
            finally:
                self._inside = False

        return apply_gradient

    def _follows(self, optimizer: Any) -> bool:
        """Whether this call is to be recorded."""
        self.calls += 1
        if self._recording.full:
            return False
        begins = not self._recording.begun and self.calls >= self._number
        if not (begins or self._recording.goes_on_from_here(optimizer)):
            self.others += 1
            return False
        if begins:
            self._recording.state(optimizer)
        return True


def _optimizer_classes() -> List[Any]:
    """The Optimizer classes of all flax.optim that the program has imported."""
    found = []  # type: List[Any]
    # Of the modules themselves: to ask some for an attribute makes them import half a library.
    modules = list(sys.modules.values())
    open_ = [getattr(module, "__dict__", {}).get("Optimizer") for module in modules]
    while open_:
        cls = open_.pop()  # type: Any
        fields = getattr(cls, "__dataclass_fields__", ())
        if {"optimizer_def", "state", "target"}.issubset(fields) and cls not in found:
            found.append(cls)
            open_ += type.__subclasses__(cls)
    return [cls for cls in found if "apply_gradient" in vars(cls)]


# The two forms of a program.


def _record_yields(steps: Iterator[Any], recording: Recording) -> None:
    """Form a: what a generator yields before each update, and at the end."""
    for index, item in enumerate(steps):
        first = item[0] if isinstance(item, tuple) and item else None
        full = isinstance(item, tuple) and len(item) in (2, 3)
        if recording.begun:
            last = not (full and recording.is_like(first))
            if last and not recording.is_like(item):
                if not (isinstance(item, tuple) and len(item) == 1):
                    raise RecordingError(_not_a_step(index, item))
                item = first
            recording.state(item if last else first)
            if last or recording.full:
                break
        elif not full:
            raise RecordingError(_not_a_step(index, item))
        else:
            recording.state(first)
        _check_overrides(item[2:], index)
        recording.gradients(first, item[1], dict(*item[2:]))
    if hasattr(steps, "close"):
        steps.close()


def _check_overrides(rest: Tuple[Any, ...], index: int) -> None:
    if rest and not (isinstance(rest[0], dict) and all(isinstance(name, str) for name in rest[0])):
        raise RecordingError(
            "The third item of yield %d is not a dict of hyper-parameters." % (index + 1)
        )


def _not_a_step(index: int, item: Any) -> str:
    found = "%d items" % len(item) if isinstance(item, tuple) else type(item).__name__
    return "Yield %d gave %s. Yield the optimizer (or the parameters) and the gradients:\n\n%s" % (
        index + 1,
        found,
        _YIELDS,
    )


def _record_calls(step: Callable[[int], Any], recording: Recording, number: int) -> None:
    """Form b: what a function does with an optimizer, called with 0, 1, 2 and so on."""
    listener = Listener(recording, number)
    for index in itertools.count():
        before, calls = recording.results, listener.calls
        with listener.listening(), jax.disable_jit():
            try:
                step(index)
            finally:
                if listener.error is not None:
                    raise listener.error
        if recording.full:
            break
        if recording.results == before:
            raise RecordingError(_nothing_heard(index, listener.calls - calls, number))
    if listener.others:
        print(
            "Left out: %s of apply_gradient on other parameters than the recorded updates return,"
            " such as those of another optimizer. --call 2 begins with the second call of step 0."
            % _plural(listener.others, "call")
        )


def _nothing_heard(index: int, calls: int, number: int) -> str:
    if calls == 0:
        return (
            "Step %d did not call apply_gradient of any flax.optim.Optimizer that was imported"
            " before. Import flax.optim at the top of the program. If it makes its updates"
            " otherwise, record a function that yields them:\n\n%s" % (index, _YIELDS)
        )
    if index == 0:
        return "--call %d: step 0 called apply_gradient only %s." % (
            number,
            "once" if calls == 1 else "%d times" % calls,
        )
    return (
        "Step %d called apply_gradient, but not on the parameters that the last recorded update"
        " returned. Either the program changes them between two updates, which is no part of an"
        " optimizer, or the step begins anew from the same optimizer each time: keep the result,"
        " such as in a global variable." % index
    )


def _loaded(place: str) -> Any:
    """The program: a file, or a module."""
    if not place.endswith(".py"):
        sys.path.insert(0, os.getcwd())
        return importlib.import_module(place)
    if not os.path.isfile(place):
        raise RecordingError("There is no file %s." % place)
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    name = os.path.splitext(os.path.basename(place))[0]
    name = "recorded_" + name if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, place)  # type: Any
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _run(program: str, recording: Recording, number: int) -> None:
    place, _, name = program.rpartition(":")
    if not place:
        raise RecordingError("%s names no function: write program.py:train." % program)
    sys.argv = [place]
    step = _loaded(place)
    for part in name.split("."):
        if not hasattr(step, part):
            public = [each for each in vars(step) if not each.startswith("_")]
            raise RecordingError("%s has no %s, but %s." % (place, name, ", ".join(public)))
        step = getattr(step, part)
    if not callable(step):
        raise RecordingError("%s is not a function, but of type %s." % (program, type(step)))
    if inspect.isgeneratorfunction(step) or not _takes_arguments(step):
        steps = step()
        if not hasattr(steps, "__iter__"):
            raise RecordingError(
                "%s takes no arguments, so it should yield its steps, but it returned %s. Record a"
                " function such as\n\n%s\n\nor one that takes the number of the step to do, and"
                " calls apply_gradient." % (program, type(steps).__name__, _YIELDS)
            )
        _record_yields(iter(steps), recording)
    else:
        _record_calls(step, recording, number)


def _takes_arguments(function: Any) -> bool:
    try:
        return bool(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return True


# The command.


@contextlib.contextmanager
def _unfinished(path: str) -> Iterator[str]:
    """A name beside ``path`` for a file that takes its place when the block ends well."""
    if os.path.lexists(path):
        raise RecordingError("%s exists already. Name another file, or move it away." % path)
    folder, name = os.path.split(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise RecordingError("There is no folder %s. Make it first." % folder)
    unfinished = os.path.join(folder, "unfinished-%s-%s" % (name, os.urandom(4).hex()))
    try:
        yield unfinished
        os.replace(unfinished, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
        raise


def _record(path: str, program: str, steps: int, number: int) -> int:
    status = 0
    terminal = sys.stderr.isatty()

    def progress(done: int) -> None:
        if terminal:
            sys.stderr.write("\r\033[Kupdate %d of %d" % (done, steps))
            sys.stderr.flush()

    with _unfinished(path) as unfinished:
        with zipfile.ZipFile(unfinished, "w", allowZip64=True) as archive:
            recording = Recording(archive, steps, progress)
            try:
                _run(program, recording, number)
            except KeyboardInterrupt:
                if not recording.results:
                    raise
                status = 130
            finally:
                sys.stderr.write("\r\033[K" if terminal else "")
            if not recording.results:
                raise RecordingError(
                    "The program ended before it had yielded the result of an update."
                )
            recording.finish()
        with open(unfinished, "rb+") as file:
            os.fsync(file.fileno())
    if not recording.full:
        why = "interrupted" if status else "the program ended"
        print("%d updates were asked for: %s." % (steps, why))
    if recording.lacks_result:
        print(
            "The gradients of update %d are left out: it has no result." % (recording.results + 1)
        )
    print("Recorded %s" % recording.summary())
    print("{} has {:,} bytes.".format(path, os.path.getsize(path)))
    return status


def _of_program(error: BaseException) -> str:
    """The traceback of an error, from the user's program on."""
    trace = error.__traceback__
    own = {__file__, _record.__code__.co_filename}
    while trace is not None and trace.tb_next is not None:
        name = trace.tb_frame.f_code.co_filename
        if name not in own and not re.match(r"<frozen importlib", name):
            break
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def main(argv: Optional[Sequence[str]] = None, prog: str = "recorder.py") -> int:
    """Run the command; 0 if everything that was asked for is recorded."""
    parser = argparse.ArgumentParser(
        prog=prog, description="Record the updates of a training to compare with them."
    )
    parser.add_argument("out", metavar="OUT.npz", help="the file to make")
    parser.add_argument(
        "program",
        metavar="PROGRAM:STEP",
        help="a module or a file.py, and in it a generator that yields (optimizer, gradients)"
        " before each update, or a function that does update number i",
    )
    parser.add_argument("--steps", type=int, default=20, help="updates to record (20)")
    parser.add_argument(
        "--call",
        type=int,
        default=1,
        help="where a step has several optimizers: with which call of apply_gradient, in step 0,"
        " to begin (1)",
    )
    arguments = parser.parse_args(argv)
    if arguments.steps < 1 or arguments.call < 1:
        parser.error("--steps and --call are at least 1")
    path, kept = list(sys.path), list(sys.argv)
    try:
        return _record(arguments.out, arguments.program, arguments.steps, arguments.call)
    except RecordingError as error:
        print("%s\nNothing was recorded." % error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted. Nothing was recorded.", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as error:
        print("%sThe program failed. Nothing was recorded." % _of_program(error), file=sys.stderr)
        return 2
    finally:
        sys.path[:], sys.argv = path, kept


if __name__ == "__main__":
    sys.exit(main())
