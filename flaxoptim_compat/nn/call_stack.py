"""What the calls that are under way know of each other, thread by thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class CallStack:
    """A stack that a ``with`` block puts something on, and that each thread has for itself."""

    def __init__(self) -> None:
        self._of_thread = threading.local()

    @property
    def _frames(self) -> list[Any]:
        frames: list[Any] = self._of_thread.__dict__.setdefault("frames", [])
        return frames

    @contextmanager
    def frame(self, data: Any = None) -> Iterator[Any]:
        """Have something on top of the stack.

        Args:
          data: what; a new dict if it is None.
        """
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
    """Make a property that can be read from the class, and is computed from the class.

    Args:
      f: takes the class.
    """
    return _ClassProperty(f)
