"""The running modules: a stack of frames with their names, their parents and their parameters."""

from __future__ import annotations

import dataclasses
import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class CallStack(threading.local):
    """A stack, one for each thread, on which a ``with`` block puts an object."""

    def __init__(self) -> None:
        self._frames: list[Any] = []

    @contextmanager
    def frame(self, data: Any = None) -> Iterator[Any]:
        """Put an object on top of the stack for a block; None stands for a new dict."""
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


def classproperty(f: Callable[[Any], Any]) -> Any:
    """A property of a class, which ``f`` computes from the class."""

    class ClassProperty:
        def __get__(self, instance: object, owner: Any) -> Any:
            return f(owner)

    return ClassProperty()


@dataclasses.dataclass(eq=False)
class ModuleFrame:
    """One application of a module.

    Args:
      name: the name of the module; None for an outermost module without a name.
      parent: the frame around this one; for a shared module, the frame that shared the module.
      params: the parameters of the module and of the modules in it, by name. ``init`` fills the
        dict, and later calls only read it.
      rng: the key of ``init``; None if the module is initialized already.
      transparent: whether paths leave out the modules in this one.
    """

    name: str | None
    parent: ModuleFrame | None = None
    params: Any = None
    rng: Any = None
    transparent: bool = False
    # {name of a module in this one: whether that module is shared}
    shared: dict[str, bool] = dataclasses.field(default_factory=dict, init=False)
    shared_names: set[str] = dataclasses.field(default_factory=set, init=False)
    _numbers: Iterator[int] = dataclasses.field(default_factory=itertools.count, init=False)

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
                " there and needs a name: pass name='...' with the call."
            )
        return f"{self.parent.path.removesuffix('/')}/{self.name}"

    def is_descendent_of(self, frame: ModuleFrame | None) -> bool:
        """True if another frame is around this one; None is around all frames."""
        ancestor = self.parent
        while ancestor is not None and ancestor is not frame:
            ancestor = ancestor.parent
        return ancestor is frame

    def create_name(self) -> str:
        """The next number, as the name of a module without one."""
        return str(next(self._numbers))


MODULE_STACK = CallStack()


def top_frame(caller: str) -> ModuleFrame:
    """The frame of the running module.

    Raises:
      ValueError: no module is running; the message names the ``caller``.
    """
    if not MODULE_STACK:
        raise ValueError(
            f"{caller} is only there in the apply of a flax.nn.Module. Call it in an `apply`."
        )
    frame: ModuleFrame = MODULE_STACK[-1]
    return frame
