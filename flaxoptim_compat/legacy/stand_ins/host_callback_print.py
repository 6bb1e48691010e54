"""The text that ``host_callback.id_print`` wrote for a tree of arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

WIDTH = 80
BRACKETS: dict[type, tuple[str, str]] = {
    tuple: ("( ", " )"),
    list: ("[ ", " ]"),
    dict: ("{ ", " }"),
}


def printed(
    value: Any, transforms: Sequence[Any], threshold: int | None, named: dict[str, Any]
) -> Iterator[str]:
    """Write what was printed: the named values if there are any, then the value itself.

    Args:
      value: a tree of numpy arrays.
      transforms: pairs of the name of a transformation and what it is about.
      threshold: up to how many elements an array is written in full.
      named: the named values.
    """
    if transforms:
        listed = [(name, params) if params else name for name, params in transforms]
        named = {**named, "transforms": listed}
    if named:
        yield " ".join(f"{name}: {each}" for name, each in sorted(named.items()))
    page = _Page()
    _write(page, value, threshold, 0)
    yield page.text


class _Page:
    def __init__(self) -> None:
        self.text, self.column = "", 0

    def write(self, text: str) -> None:
        # The lines of an array count as one, as they always did here.
        self.text, self.column = self.text + text, self.column + len(text)

    def new_line(self, indent: int) -> None:
        self.text, self.column = f"{self.text}\n{' ' * indent}", indent


def _write(page: _Page, value: Any, threshold: int | None, indent: int) -> None:
    flat, kind = _flat(value, threshold), _kind(value)
    if kind is None or page.column + len(flat) <= WIDTH:
        page.write(flat)
        return
    opening, closing = BRACKETS[kind]
    page.write(opening)
    for number, (label, part) in enumerate(_parts(value)):
        if number:
            page.new_line(indent + 2)
        page.write(label)
        _write(page, part, threshold, indent + 2)
    page.write(closing)


def _flat(value: Any, threshold: int | None) -> str:
    kind = _kind(value)
    if kind is not None:
        opening, closing = BRACKETS[kind]
        inside = " ".join(label + _flat(part, threshold) for label, part in _parts(value))
        return opening + inside + closing
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=threshold)
    return str(value)


def _kind(value: Any) -> type | None:
    return next((kind for kind in BRACKETS if isinstance(value, kind)), None)


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"{name}=", part) for name, part in sorted(value.items())]
    return [("", part) for part in value]
