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
# ruff: noqa: B905, UP006, UP035, UP045
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
import sys
import traceback
import zipfile
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import jax
import numpy as np

_YIELDS = """\
def train():
    ...
    for batch in batches:
        gradients = ...
        yield optimizer, gradients, {"learning_rate": rate}  # before the update
        optimizer = optimizer.apply_gradient(gradients, learning_rate=rate)
    yield (optimizer,)  # after the last one"""
_FROM_PMAP = f"""\
Return the averaged gradients from the function that is compiled, and record one that yields them:

{_YIELDS}

Of what pmap returns, yield the first copy: jax_utils.unreplicate(optimizer), and the gradients
likewise."""

Path = Tuple[Any, ...]


class RecordingError(Exception):
    """The program cannot be recorded; the message says why, and what to do."""


# Trees. jax's own functions for paths are younger than the jax that this has to run on.


def _inside(node: Any) -> Any:
    """The parameters in a flax.nn.Model; anything else as it is."""
    return node.params if set(_fields(node)) == {"module", "params"} else node


def _fields(node: Any) -> Any:
    return getattr(type(node), "__dataclass_fields__", {})


def _entries(node: Any) -> Optional[Tuple[str, Dict[Any, Any]]]:
    """The kind of a container, and its entries by key, index or field; None for an array."""
    if hasattr(node, "dtype") or isinstance(node, (bool, int, float, complex)):
        return None
    if isinstance(node, collections.abc.Mapping):
        if not any(all(isinstance(key, kind) for key in node) for kind in (str, int)):
            raise RecordingError(f"Names in a tree must be all texts or all integers: {[*node]}")
        return "dict", {key: node[key] for key in sorted(node)}
    if isinstance(node, (list, tuple)):
        return "list", dict(enumerate(node))
    fields = _fields(node)
    if fields:
        names = [name for name in fields if fields[name].metadata.get("pytree_node", True)]
        return "dict", {name: getattr(node, name) for name in names}
    leaves = jax.tree_util.tree_flatten(node)[0]
    is_leaf = len(leaves) == 1 and leaves[0] is node
    return None if is_leaf else ("list", dict(enumerate(leaves)))


def _structure(node: Any, path: Path, leaves: Dict[Path, Any]) -> Any:
    """The containers of a tree as JSON can hold them; adds the leaves, by path, to ``leaves``."""
    node = _inside(node)
    if node is None:
        return None
    parts = _entries(node)
    if parts is None:
        leaves[path] = node
        return len(leaves) - 1
    kind, entries = parts
    below = [(key, _structure(entries[key], path + (key,), leaves)) for key in entries]  # noqa: RUF005
    return {kind: below if kind == "dict" else [child for _, child in below]}


def _beside(node: Any, other: Any, what: str, path: Path = ()) -> List[Any]:
    """The parts of another tree at the leaves of the first; None where it ends with a None."""
    node, other = _inside(node), _inside(other)
    parts = None if node is None else _entries(node)
    if parts is None:
        return [] if node is None else [other]
    keys = parts[1]
    if other is None:
        entries = dict.fromkeys(keys)  # type: Dict[Any, Any]
    elif parts[0] == "list" and not isinstance(node, (list, tuple)):
        treedef = jax.tree_util.tree_flatten(node)[1]  # type: Any
        entries = dict(enumerate(treedef.flatten_up_to(other)))
    else:
        entries = (_entries(other) or ("", {}))[1]
    for key in [each for each in [*keys, *entries] if each not in keys or each not in entries]:
        there = ("lack " if key in keys else "have ") + _text(path + (key,))  # noqa: RUF005
        raise RecordingError(f"The {what} do not fit the parameters: they {there}.")
    below = [_beside(keys[key], entries[key], what, path + (key,)) for key in keys]  # noqa: RUF005
    return list(itertools.chain.from_iterable(below))


def _text(path: Path) -> str:
    return "/".join(map(str, path)) or "the root"


def _plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _array(value: Any, what: str) -> Any:
    """The numbers of a leaf, on this machine."""
    if any(cls.__name__ == "Tracer" for cls in type(value).__mro__):
        says = "is traced: inside of pmap and the like, it has no numbers yet."
        raise RecordingError(f"{what} {says}\n{_FROM_PMAP}")
    if isinstance(value, (bool, int, float, complex)) and not hasattr(value, "dtype"):
        value = jax.numpy.asarray(value)
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        raise RecordingError(f"{what} is {value!r}, which is no array of numbers.")
    array = np.asarray(value, order="C")
    if _is_of_numpy(array) and array.dtype.kind not in "biufc":
        raise RecordingError(f"{what} has the dtype {array.dtype}, which is none of numbers.")
    return array


def _is_of_numpy(array: Any) -> bool:
    """True if numpy itself has the dtype of an array; bfloat16 is not numpy's."""
    return bool(array.dtype.type.__module__ == "numpy")


# Optimizers, recognised by their fields.


def _is_optimizer(value: Any) -> bool:
    return not isinstance(value, type) and all(hasattr(value, name) for name in ("state", "target"))


def _definition(subject: Any) -> Any:
    return getattr(subject, "optimizer_def", None) if _is_optimizer(subject) else None


def _target(subject: Any) -> Any:
    return subject.target if _is_optimizer(subject) else subject


def _step_of(subject: Any) -> int:
    if not _is_optimizer(subject):
        return 0
    state = subject.state[0] if isinstance(subject.state, (list, tuple)) else subject.state
    step = _array(getattr(state, "step", 0), "state.step")
    if step.ndim:
        says = (
            "this optimizer is replicated, with one copy for each device or member of an ensemble"
        )
        raise RecordingError(f"state.step has shape {step.shape}: {says}.\n{_FROM_PMAP}")
    return int(step)


def _states(subject: Any, leaves: Sequence[Any]) -> List[Any]:
    """The state that the optimizer keeps for each parameter."""
    if not _is_optimizer(subject):
        return [None] * len(leaves)
    if hasattr(subject.state, "param_states"):
        return _beside(subject.target, subject.state.param_states, "states")
    # Until flax 0.3.2, a MultiOptimizer had a list of states, each with those of the leaves that
    # its traversal yields.
    states = {}  # type: Dict[int, Any]
    for traversal, part in zip(getattr(subject.optimizer_def, "traversals", ()), subject.state):
        for leaf, state in zip(traversal.iterate(subject.target), part.param_states):
            states[id(leaf)] = state
    return [states.get(id(leaf)) for leaf in leaves]


def _settings(hyper_params: Any) -> Dict[str, Any]:
    """The hyper-parameters that are numbers or None, by name."""
    settings = {}
    for name in _fields(hyper_params):
        value = getattr(hyper_params, name)
        if value is None or isinstance(value, (bool, int, float)):
            settings[name] = value
        elif getattr(value, "shape", None) == () and not isinstance(value, type):
            settings[name] = float(_array(value, "The hyper-parameter " + name))
    return settings


def _described(definition: Any) -> Dict[str, Any]:
    parts = list(getattr(definition, "sub_optimizers", ()))
    inner = ("wrapped_optimizer", "optimizer_def")
    parts += [getattr(definition, name) for name in inner if hasattr(definition, name)]
    return {
        "class": type(definition).__name__,
        "module": type(definition).__module__,
        "hyper_params": _settings(getattr(definition, "hyper_params", None)),
        "parts": list(map(_described, parts)),
    }


def _versions() -> Dict[str, str]:
    versions = {"python": platform.python_version(), "machine": platform.machine()}
    for name in ("jax", "jaxlib", "flax", "numpy", "optax"):
        for module in (name + ".version", name):
            if hasattr(sys.modules.get(module), "__version__"):
                versions[name] = str(sys.modules[module].__version__)
    device = jax.devices()[0]
    versions["device"] = f"{device.platform} ({getattr(device, 'device_kind', '?')})"
    versions["x64"] = "on" if jax.numpy.asarray(0.5).dtype == np.float64 else "off"
    return versions


class RecordingWriter:
    """The updates of a training, written to a file one after the other.

    Args:
      archive: the open file.
      limit: how many updates to record.
    """

    def __init__(self, archive: zipfile.ZipFile, limit: int) -> None:
        self.limit = limit
        self.results = 0
        self._archive = archive
        self._moments = {}  # type: Dict[str, int]
        self.overrides = []  # type: List[Dict[str, Any]]
        self._start = {}  # type: Dict[str, Any]
        self._shapes = {}  # type: Dict[Path, Tuple[int, ...]]
        self._last = b""

    @property
    def begun(self) -> bool:
        """True once anything is recorded."""
        return bool(self._start)

    @property
    def full(self) -> bool:
        """True once all updates that were asked for are recorded."""
        return self.results >= self.limit

    def is_like(self, subject: Any) -> bool:
        """True if a subject has the structure and shapes of the recorded parameters."""
        leaves = {}  # type: Dict[Path, Any]
        try:
            structure = _structure(_target(subject), (), leaves)
        except RecordingError:
            return False
        # A leaf without a shape is no parameter.
        shapes = {path: getattr(leaves[path], "shape", ()) for path in leaves}
        return self.begun and structure == self._start["structure"] and shapes == self._shapes

    def goes_on_from_here(self, subject: Any) -> bool:
        """True if a subject has the parameters of the last recorded update, to the bit."""
        return self.is_like(subject) and _digest(self._arrays(subject)) == self._last

    def state(self, subject: Any) -> None:
        """Record parameters and moments, at the start or as the result of an update."""
        index = len(self.overrides)
        if not self.begun:
            self._begin(subject)
        elif not self.is_like(subject):
            raise RecordingError(
                f"After update {index} the parameters have another structure, or other shapes, than"
                " before. Only parameters that stay the same kind can be recorded."
            )
        arrays = self._arrays(subject)
        self._last = _digest(arrays)
        target = _target(subject)
        states = _states(subject, _beside(target, target, "parameters"))
        for number, path in enumerate(self._shapes):
            self._write(f"{index}/parameter", number, arrays[number])
            fields = {}  # type: Dict[Path, Any]
            _structure(states[number], (), fields)
            for field in fields:
                name = ".".join(map(str, field)) or "state"
                moment = self._moments.setdefault(name, len(self._moments))
                array = _array(fields[field], f"The {name} of {_text(path)}")
                self._write(f"{index}/moment_{moment}", number, array)
        self.results = index

    def gradients(self, subject: Any, grads: Any, overrides: Dict[str, Any]) -> None:
        """Record the gradients of the next update, and the hyper-parameters that it is given."""
        leaves = _beside(_target(subject), grads, "gradients")
        for number, (path, leaf) in enumerate(zip(self._shapes, leaves)):
            array = _array(leaf, "The gradient of " + _text(path))
            if array.shape != self._shapes[path]:
                raise RecordingError(
                    f"The gradient of {_text(path)} has shape {array.shape}, the parameter"
                    f" {self._shapes[path]}. If it has one more axis, for the devices, take the"
                    " first copy."
                )
            self._write(f"{len(self.overrides)}/gradient", number, array)
        self.overrides.append(self._effective(subject, dict(overrides)))

    def finish(self) -> str:
        """Write the overrides and the description; returns a line that says what was recorded."""
        rows, start = self.overrides[: self.results], self._start["definition"]
        defaults = start.get("hyper_params", {})
        names = sorted({name for row in rows for name in row})
        for name in names:
            given = [name in row for row in rows]
            if not all(given) and defaults.get(name) is None:
                raise RecordingError(
                    f"Update {given.index(False) + 1} was given no {name}, others were, and the"
                    " definition has no number of that name. Give it to all of them."
                )
            column = [row.get(name, defaults.get(name)) for row in rows]
            self._write("override", name, np.asarray(column))
        description = {
            "what": "flaxoptim_compat recording",
            "format": 1,
            "steps": self.results,
            "moments": sorted(self._moments, key=lambda name: self._moments[name]),
            "overrides": names,
            "versions": _versions(),
        }
        description.update(self._start)
        text = json.dumps(description, sort_keys=True).encode()
        self._write("description", "json", np.frombuffer(text, np.uint8))
        count = sum(int(np.prod(shape)) for shape in self._shapes.values())
        of = f" of {start['class']}" if start else ""
        return (
            f"{_plural(self.results, 'update')}{of} from step {self._start['start_step']} on:"
            f" {_plural(count, 'parameter')} in {_plural(len(self._shapes), 'array')}, their"
            f" gradients and {', '.join(self._moments) or 'no moments'}."
        )

    def _begin(self, subject: Any) -> None:
        leaves = {}  # type: Dict[Path, Any]
        structure, step = _structure(_target(subject), (), leaves), _step_of(subject)
        if not leaves:
            raise RecordingError(f"There are no parameters: {subject!r}")
        arrays = [_array(leaves[path], "The parameter " + _text(path)) for path in leaves]
        definition = _definition(subject)
        described = {} if definition is None else _described(definition)
        self._shapes = {path: array.shape for path, array in zip(leaves, arrays)}
        self._start = {"structure": structure, "start_step": step, "definition": described}

    def _arrays(self, subject: Any) -> List[Any]:
        leaves = _beside(_target(subject), _target(subject), "parameters")
        paths = map(_text, self._shapes)
        return [_array(leaf, "The parameter " + path) for path, leaf in zip(paths, leaves)]

    def _effective(self, subject: Any, overrides: Dict[str, Any]) -> Dict[str, Any]:
        """The hyper-parameters that are not as the definition had them at the start."""
        own = getattr(_definition(subject), "hyper_params", None)
        changed = _settings(overrides.pop("hyper_params", own))
        start = self._start["definition"].get("hyper_params", {})
        values = {
            name: changed[name]
            for name in changed
            if changed[name] is not None and changed[name] != start.get(name)
        }
        for name in overrides:
            array = _array(overrides[name], "The hyper-parameter " + name)
            array = array if _is_of_numpy(array) else array.astype(np.float32)
            value = overrides[name]
            if array.ndim or array.dtype.kind not in "biuf":
                raise RecordingError(f"The hyper-parameter {name} is {value!r}, no number.")
            values[name] = value if isinstance(value, (bool, int, float)) else array[()]
        return values

    def _write(self, folder: str, name: Any, array: Any) -> None:
        """Add an array to the file; a dtype that numpy lacks goes as unsigned integers."""
        entry = f"{folder}/{name}.{array.dtype.name}.npy"
        if not _is_of_numpy(array):
            array = array.view(f"u{array.dtype.itemsize}")
        try:
            with self._archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
        except BaseException:
            # After Ctrl-C the file is kept, and half an array would damage it.
            entries = self._archive.infolist()
            entries[:] = [each for each in entries if each.filename != entry]
            raise


def _digest(arrays: Sequence[Any]) -> bytes:
    """The hash of arrays, which a program may change in place later."""
    digest = hashlib.blake2b()
    for array in arrays:
        digest.update(array.dtype.name.encode() + array.tobytes())
    return digest.digest()


# The two forms of a program.


def _record_yields(steps: Iterator[Any], recording: RecordingWriter) -> None:
    """Record what a generator yields before each update, and at the end."""
    for index, item in enumerate(steps):
        is_step = isinstance(item, tuple) and len(item) in (2, 3)
        first = item[0] if isinstance(item, tuple) and item else None
        if recording.begun and not (is_step and recording.is_like(first)):
            alone = isinstance(item, tuple) and len(item) == 1
            if not (alone or recording.is_like(item)):
                raise RecordingError(_not_a_step(index, item))
            recording.state(item if recording.is_like(item) else first)
            break
        if not is_step:
            raise RecordingError(_not_a_step(index, item))
        recording.state(first)
        if recording.full:
            break
        overrides = item[2] if len(item) == 3 else {}
        if not (isinstance(overrides, dict) and all(isinstance(name, str) for name in overrides)):
            what = f"The third item of yield {index + 1}"
            raise RecordingError(f"{what} is not a dict of hyper-parameters.")
        recording.gradients(first, item[1], overrides)
    if hasattr(steps, "close"):
        steps.close()


def _not_a_step(index: int, item: Any) -> str:
    given = f"{len(item)} items" if isinstance(item, tuple) else type(item).__name__
    wanted = "Yield the optimizer (or the parameters) and the gradients"
    return f"Yield {index + 1} gave {given}. {wanted}:\n\n{_YIELDS}"


def _record_calls(step: Callable[[int], Any], recording: RecordingWriter, number: int) -> None:
    """Record the updates in a function that is called with 0, 1, 2 and so on.

    The updates are those of one optimizer: from the call of the given number on, each call on the
    parameters that the last one returned.
    """
    others = 0
    for index in itertools.count():
        before, calls = recording.results, _calls(step, index)
        for place, (optimizer, grads, overrides, result) in enumerate(calls):
            if recording.full:
                break
            if not recording.begun and (index or place + 1 >= number):
                recording.state(optimizer)
            elif not recording.goes_on_from_here(optimizer):
                others += 1
                continue
            recording.gradients(optimizer, grads, overrides)
            recording.state(result)
        if recording.full:
            break
        if recording.results == before:
            raise RecordingError(_nothing_heard(index, len(calls), number))
    if others:
        print(
            f"Left out: {_plural(others, 'call')} of apply_gradient on other parameters than the"
            " recorded updates return, such as those of another optimizer. --call 2 begins with the"
            " second call of step 0."
        )


def _calls(step: Callable[[int], Any], index: int) -> List[Tuple[Any, Any, Dict[str, Any], Any]]:
    """The calls of apply_gradient in a step: optimizer, gradients, hyper-parameters and result."""
    calls, inside = [], []  # type: List[Any], List[Any]

    def recorded(original: Any) -> Any:
        def apply_gradient(optimizer: Any, *args: Any, **overrides: Any) -> Any:
            # A subclass calls its parent's, which is wrapped as well.
            if inside:
                return original(optimizer, *args, **overrides)
            inside.append(optimizer)
            try:
                result = original(optimizer, *args, **overrides)
            finally:
                inside.pop()
            settings = dict(overrides)
            grads = args[0] if args else settings.pop("grads")
            calls.append((optimizer, grads, settings, result))
            return result

        return apply_gradient

    originals = [(cls, cls.__dict__["apply_gradient"]) for cls in _optimizer_classes()]
    try:
        for cls, original in originals:
            cls.apply_gradient = recorded(original)
        with jax.disable_jit():
            step(index)
    finally:
        for cls, original in originals:
            cls.apply_gradient = original
    return calls


def _optimizer_classes() -> List[Any]:
    """The Optimizer classes of all flax.optim that the program has imported."""
    classes = []  # type: List[Any]
    # From their dicts: reading an attribute makes some modules import half a library.
    waiting = [getattr(each, "__dict__", {}).get("Optimizer") for each in [*sys.modules.values()]]
    while waiting:
        cls = waiting.pop()  # type: Any
        fields = getattr(cls, "__dataclass_fields__", ())
        if {"optimizer_def", "state", "target"}.issubset(fields) and cls not in classes:
            classes.append(cls)
            waiting += type.__subclasses__(cls)
    return [cls for cls in classes if "apply_gradient" in vars(cls)]


def _nothing_heard(index: int, calls: int, number: int) -> str:
    if calls == 0:
        return (
            f"Step {index} did not call apply_gradient of any flax.optim.Optimizer that was"
            " imported before. Import flax.optim at the top of the program. If it makes its updates"
            f" otherwise, record a function that yields them:\n\n{_YIELDS}"
        )
    if index == 0:
        times = "once" if calls == 1 else f"{calls} times"
        return f"--call {number}: step 0 called apply_gradient only {times}."
    return (
        f"Step {index} called apply_gradient, but not on the parameters that the last recorded"
        " update returned. Either the program changes them between two updates, which is no part of"
        " an optimizer, or the step begins anew from the same optimizer each time: keep the result,"
        " such as in a global variable."
    )


# The command.


def _run(program: str, recording: RecordingWriter, number: int) -> None:
    place, _, name = program.rpartition(":")
    if not place:
        raise RecordingError(f"{program} names no function: write program.py:train.")
    sys.argv = [place]
    step = _loaded(place)
    for part in name.split("."):
        if not hasattr(step, part):
            public = ", ".join(each for each in vars(step) if not each.startswith("_"))
            raise RecordingError(f"{place} has no {name}; it has {public}.")
        step = getattr(step, part)
    if not callable(step):
        raise RecordingError(f"{program} is not a function, but of type {type(step)}.")
    if not inspect.isgeneratorfunction(step) and inspect.signature(step).parameters:
        _record_calls(step, recording, number)
        return
    steps = step()
    if not hasattr(steps, "__iter__"):
        raise RecordingError(
            f"{program} takes no arguments, so it should yield its steps, but it returned"
            f" {type(steps).__name__}. Record a function such as\n\n{_YIELDS}\n\nor one that takes"
            " the number of the step to do, and calls apply_gradient."
        )
    _record_yields(iter(steps), recording)


def _loaded(place: str) -> Any:
    """The program: a file, or a module."""
    is_file = place.endswith(".py")
    if is_file and not os.path.isfile(place):
        raise RecordingError(f"There is no file {place}.")
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)) if is_file else os.getcwd())
    if not is_file:
        return importlib.import_module(place)
    name = os.path.splitext(os.path.basename(place))[0]
    name = "recorded_" + name if name in sys.modules else name
    spec = importlib.util.spec_from_file_location(name, place)  # type: Any
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _record(path: str, program: str, steps: int, number: int) -> int:
    folder, name = os.path.split(os.path.abspath(path))
    if os.path.lexists(path):
        raise RecordingError(f"{path} exists already. Name another file, or move it away.")
    if not os.path.isdir(folder):
        raise RecordingError(f"There is no folder {folder}. Make it first.")
    unfinished = os.path.join(folder, f"unfinished-{name}-{os.urandom(4).hex()}")
    why = "the program ended"
    try:
        with zipfile.ZipFile(unfinished, "w", allowZip64=True) as archive:
            recording = RecordingWriter(archive, steps)
            try:
                _run(program, recording, number)
            except KeyboardInterrupt:
                if not recording.results:
                    raise
                why = "interrupted"
            if not recording.results:
                raise RecordingError(
                    "The program ended before it had yielded the result of an update."
                )
            summary = recording.finish()
        os.replace(unfinished, path)
    finally:
        with contextlib.suppress(OSError):
            os.remove(unfinished)
    if not recording.full:
        print(f"Only {recording.results} of {steps} updates were recorded: {why}.")
    if len(recording.overrides) > recording.results:
        after = recording.results + 1
        print(f"The gradients of update {after} are left out: the update has no result.")
    print(f"Recorded {summary}\n{path} has {os.path.getsize(path):,} bytes.")
    return 130 if why == "interrupted" else 0


def _of_program(error: BaseException) -> str:
    """The traceback of an error, from the user's program on."""
    trace, own = error.__traceback__, {__file__, _record.__code__.co_filename}
    while trace is not None and trace.tb_next is not None:
        name = trace.tb_frame.f_code.co_filename
        if name not in own and not name.startswith("<frozen importlib"):
            break
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(error), error, trace))


def main(argv: Optional[Sequence[str]] = None, prog: str = "recorder.py") -> int:
    """Run the command; returns 0 unless the program fails or is interrupted."""
    what = "Record the updates of a training, to compare with them elsewhere."
    parser = argparse.ArgumentParser(prog=prog, description=what)
    step = (
        "a module or a file.py, and in it a generator that yields (optimizer, gradients) before"
        " each update, or a function that does update number i"
    )
    call = (
        "where a step has several optimizers: with which call of apply_gradient, in step 0, to"
        " begin (1)"
    )
    parser.add_argument("out", metavar="OUT.npz", help="the file to make")
    parser.add_argument("program", metavar="PROGRAM:STEP", help=step)
    parser.add_argument("--steps", type=int, default=20, help="updates to record (20)")
    parser.add_argument("--call", type=int, default=1, help=call)
    arguments = parser.parse_args(argv)
    if arguments.steps < 1 or arguments.call < 1:
        parser.error("--steps and --call are at least 1")
    path, kept = list(sys.path), list(sys.argv)
    try:
        return _record(arguments.out, arguments.program, arguments.steps, arguments.call)
    except RecordingError as error:
        print(f"{error}\nNothing was recorded.", file=sys.stderr)
    except KeyboardInterrupt:
        print("Interrupted. Nothing was recorded.", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as error:
        print(f"{_of_program(error)}The program failed. Nothing was recorded.", file=sys.stderr)
    finally:
        sys.path[:], sys.argv = path, kept
    return 2


if __name__ == "__main__":
    sys.exit(main())
