"""Records, in a running program, where it reads attributes of optimizers and definitions.

``Optimizer`` and ``OptimizerDef`` are classes of this package, so their methods see all that a
program does with them. Of a DualTrainState, which is an ``Optimizer`` too, they note only what is
asked by names of old. The frame that calls tells the place: the file and, from Python 3.11 on, the
columns of the expression. The definition tells which optimizer it is: it is static in the tree, and
comes through ``jit``, ``pmap``, ``scan`` and ``replicate``. Unless this module is attached, the
classes stay as they are.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Literal

import jax
import numpy as np

from flaxoptim_compat.observation.places import (
    ARRAY,
    OBJECT,
    SUFFIX,
    Position,
    Seen,
    line_of_file,
    line_of_use,
)
from flaxoptim_compat.optim.base import OptimizerDef, ReplicatedOptimizer
from flaxoptim_compat.optim.dual_state import OLD_FIELDS, OLD_NAMES, DualTrainState
from flaxoptim_compat.optim.optimizer import Optimizer

_OURS = str(Path(__file__).parents[1]) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
# Packages whose frames stand between a program and a definition that it makes, or an optimizer that
# it reads; so do functions of Python such as `functools.partial`.
_BETWEEN = ("flax", "gin", "jax", "jaxlib")
_INSTALLED = ("site-packages", "dist-packages")
# The place where a definition was made, among its own attributes: copies have it too, and jit does
# not take definitions of two places for one.
_MADE = "_made_at"


class UseRecorder:
    """Writes the uses of optimizers in this process into a file.

    Args:
      folder: the folder of the file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: set[Seen] = set()
        self._files: set[str] = set()
        self._positions: dict[CodeType, list[tuple[int | None, ...]]] = {}
        self._is_between: dict[str, bool] = {}
        # The process that wrote the file: a child of `fork` begins another file.
        self._process = 0
        self._file = -1

    def asked(
        self, frame: FrameType, of: Literal["optimizer", "definition"], name: str, whose: Any
    ) -> None:
        """Note that the program reads an attribute; a read by this package does not count.

        Args:
          frame: the frame that reads.
          of: the kind of object that is read.
          name: the attribute.
          whose: the definition of the object.
        """
        if (seen := self.seen(frame, of, name, whose)) is not None:
            self.note(seen)

    def seen(
        self, frame: FrameType, of: Literal["optimizer", "definition"], name: str, whose: Any
    ) -> Seen | None:
        """What ``asked`` notes; None for a read by this package."""
        asking = self._beyond(frame)
        if asking is None or self._is_ours(asking):
            return None
        axis = whose.axis_name if isinstance(whose, ReplicatedOptimizer) else ""
        return Seen(self._position(asking), of, name, made_at(whose), axis)

    def made(self, frame: FrameType, definition: OptimizerDef) -> None:
        """Note where a definition is made, unless this package makes it of another one.

        Args:
          frame: the frame that calls its ``__init__``.
          definition: the definition.
        """
        maker: FrameType | None = frame
        # The `__init__` of a class that is derived from it is not where it is made.
        while maker is not None and _is_init(maker, definition):
            maker = maker.f_back
        maker = self._beyond(maker)
        if maker is not None and not self._is_ours(maker):
            position = self._position(maker)
            vars(definition)[_MADE] = position
            self.note(Seen(position, "made", type(definition).__name__, position))

    def created(self, frame: FrameType, definition: OptimizerDef, target: Any) -> None:
        """Note for what kinds of parameters an optimizer is created."""
        creating = self._beyond(frame)
        if creating is not None:
            for kind in _kinds(target):
                self.note(Seen(self._position(creating), "created", kind, made_at(definition)))

    def note(self, seen: Seen) -> None:
        """Write a use into the file, the first time that it is seen."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._seen.clear()
            self._files.clear()
            name = self._folder / f"{self._process}{SUFFIX}"
            self._file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        if seen in self._seen:
            return
        self._seen.add(seen)
        # An observer must not stop the program. A use in a file without a digest is ignored later.
        with contextlib.suppress(OSError):
            for position in filter(None, (seen.position, seen.made)):
                if position.file not in self._files:
                    self._files.add(position.file)
                    content = Path(position.file).read_bytes()
                    os.write(self._file, line_of_file(position.file, content))
            os.write(self._file, line_of_use(seen))

    def _position(self, frame: FrameType) -> Position:
        """The expression that a frame is at."""
        code = frame.f_code
        file = os.path.abspath(code.co_filename)
        if sys.version_info < (3, 11):
            return Position(file, frame.f_lineno)
        if code not in self._positions:
            self._positions[code] = [*code.co_positions()]
        line, end_line, _, end_column = self._positions[code][frame.f_lasti // 2]
        return Position(file, line or frame.f_lineno, end_line or 0, end_column or 0)

    def _beyond(self, frame: FrameType | None) -> FrameType | None:
        """The first frame that is of the program, and not of a package in between."""
        while frame is not None and self._passes(frame.f_code.co_filename):
            frame = frame.f_back
        return frame

    def _passes(self, file: str) -> bool:
        if file not in self._is_between:
            parts = Path(file).parts
            packages = [name for folder, name in itertools.pairwise(parts) if folder in _INSTALLED]
            self._is_between[file] = (
                packages[-1] in _BETWEEN if packages else file.startswith((_STDLIB, "<"))
            )
        return self._is_between[file]

    def _is_ours(self, frame: FrameType) -> bool:
        return frame.f_code.co_filename.startswith(_OURS)


def made_at(definition: Any) -> Position | None:
    """The place where the program made a definition, or the definition inside of it."""
    attributes: dict[str, Any] = getattr(definition, "__dict__", {})
    position: Position | None = attributes.get(_MADE)
    if position is not None:
        return position
    for value in attributes.values():
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, OptimizerDef) and (position := made_at(each)) is not None:
                return position
    return None


def _kinds(target: Any) -> Iterator[str]:
    """The kinds of parameters in a target that decide whether the TrainState of Flax takes them."""
    if isinstance(target, jax.Array | np.ndarray | np.generic | int | float):
        yield ARRAY
    elif not any(hasattr(target, each) for each in ("__contains__", "__getitem__", "__iter__")):
        yield OBJECT


def attach(folder: str) -> None:
    """Record from now on how this process uses optimizers and definitions.

    Args:
      folder: the folder of the file of this process.
    """
    recorder = UseRecorder(Path(folder))
    get = object.__getattribute__
    init, create = OptimizerDef.__init__, OptimizerDef.create

    def of_optimizer(self: Optimizer, name: str) -> Any:
        value = get(self, name)
        # Not isinstance, which would read `__class__` here again.
        in_both_dialects = issubclass(type(self), DualTrainState)
        if in_both_dialects and name == "replace":
            definition = getattr(get(self, "tx"), "definition", None)
            seen = recorder.seen(sys._getframe(1), "optimizer", name, definition)
            return functools.partial(replace_noted, value, seen)
        if name in OLD_NAMES or not (name.startswith("_") or in_both_dialects):
            recorder.asked(sys._getframe(1), "optimizer", name, get(self, "optimizer_def"))
        return value

    def replace_noted(replace: Any, seen: Seen | None, **updates: Any) -> Any:
        # Only the arguments tell in which dialect it is.
        if seen is not None and OLD_FIELDS & updates.keys():
            recorder.note(seen)
        return replace(**updates)

    def of_definition(self: OptimizerDef, name: str) -> Any:
        value = get(self, name)
        if not name.startswith("_"):
            recorder.asked(sys._getframe(1), "definition", name, self)
        return value

    @functools.wraps(init)
    def make(self: OptimizerDef, *args: Any, **kwargs: Any) -> None:
        recorder.made(sys._getframe(1), self)
        init(self, *args, **kwargs)

    @functools.wraps(create)
    def create_noted(self: OptimizerDef, target: Any, *args: Any, **kwargs: Any) -> Any:
        recorder.created(sys._getframe(1), self, target)
        return create(self, target, *args, **kwargs)

    # The type checker does not know these methods of the classes.
    classes: dict[Any, dict[str, Any]] = {
        Optimizer: {"__getattribute__": of_optimizer},
        OptimizerDef: {
            "__getattribute__": of_definition,
            "__init__": make,
            "create": create_noted,
        },
    }
    for cls, methods in classes.items():
        for name, method in methods.items():
            setattr(cls, name, method)


def _is_init(frame: FrameType, definition: OptimizerDef) -> bool:
    code = frame.f_code
    return (
        code.co_name == "__init__"
        and bool(code.co_varnames)
        and frame.f_locals.get(code.co_varnames[0]) is definition
    )
