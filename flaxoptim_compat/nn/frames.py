"""The modules that are being applied: which one is in which, and what parameters each has."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CallStack(threading.local):
    """A stack that a ``with`` block puts something on, and that each thread has for itself."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    @contextmanager
    def frame(self, data: Any = None) -> Iterator[Any]:
        """Put something on top of the stack for a block; a new dict if it is None."""
        top = {} if data is None else data
        self._frames.append(top)
        try:
            yield top
        finally:
            self._frames.pop()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._frames)

    def __len__(self) -> int:
        return len(self._frames)

    def __getitem__(self, key: Any) -> Any:
        return self._frames[key]


class _ClassProperty(Generic[T]):
    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function

    def __get__(self, instance: object, owner: Any) -> T:
        return self.function(owner)


def classproperty(f: Callable[[Any], T]) -> _ClassProperty[T]:
    """A property of a class, which ``f`` computes from the class."""
    return _ClassProperty(f)


@dataclasses.dataclass(eq=False)
class ModuleFrame:
    """One application of a module.

    Args:
      name: of the module; None for one that nothing is around and that got none.
      parent: the frame around it; of a shared module, the one in which it was shared.
      params: its parameters and those of the modules in it, by name. While it is initialized they
        are put there, and afterwards only read.
      rng: the key that initializes it; None if it is initialized already.
      transparent: whether paths leave out the modules in it.
    """

    name: str | None
    parent: ModuleFrame | None = None
    params: Any = None
    rng: Any = None
    transparent: bool = False
    # {name of a module in it: whether that is shared}
    shared: dict[str, bool] = dataclasses.field(default_factory=dict, init=False)
    shared_names: set[str] = dataclasses.field(default_factory=set, init=False)
    _unnamed: int = dataclasses.field(default=0, init=False)

    def __post_init__(self) -> None:
        self.params = {} if self.params is None else self.params

    @property
    def is_init(self) -> bool:
        """True if the module is being initialized."""
        return self.rng is not None

    @property
    def path(self) -> str:
        """The path of the module, such as ``/encoder/Dense_0``."""
        if self.parent is None:
            return f"/{self.name or ''}"
        if self.parent.transparent:
            return self.parent.path
        if self.name is None:
            raise TypeError(
                f"A model that is called in the module {self.parent.path} keeps state or outputs"
                " there, which takes a name: pass name='...' with the call."
            )
        return f"{self.parent.path.removesuffix('/')}/{self.name}"

    def is_descendent_of(self, frame: ModuleFrame | None) -> bool:
        """True if another frame, or None, which is around all, is around this one."""
        around = self.parent
        while around is not None and around is not frame:
            around = around.parent
        return around is frame

    def create_name(self) -> str:
        """The next number, for a module that has no name."""
        name = str(self._unnamed)
        self._unnamed += 1
        return name


MODULE_STACK = CallStack()


def top_frame(asked: str) -> ModuleFrame:
    """The module that is being applied; where there is none, the error says who ``asked``."""
    if not MODULE_STACK:
        raise ValueError(f"{asked} is only there in the apply of a flax.nn.Module.")
    frame: ModuleFrame = MODULE_STACK[-1]
    return frame
