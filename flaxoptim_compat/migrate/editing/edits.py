"""Edits of a text, which are applied all at once, and the patch that they make."""

from __future__ import annotations

import bisect
import difflib
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.printable import one_line


class Span(NamedTuple):
    """A piece of the text, in which edits apply."""

    start: int
    end: int


# The content of an edit: new text, and spans of the old text.
Fragment = str | Span
Fragments = tuple[Fragment, ...]


class Edit(NamedTuple):
    """One edit: the characters from ``start`` to ``end`` become ``fragments``, in their order.

    A fragment is new text or a Span of the old text, in which other edits apply. So a rule that
    rewrites a call names the arguments by their spans, and other rules can change the arguments.
    """

    start: int
    end: int
    fragments: Fragments


def apply_edits(text: str, edits: Iterable[Edit], within: Span | None = None) -> str:
    """The text after all edits, or the piece of it around all edits.

    An edit inside of a larger one applies in each Span of the larger edit that has the place, and
    not at all without such a Span. Insertions at one place keep their order; an edit counts once.

    Raises:
      ValueError: two edits overlap without one being inside the other, or change the same place.
    """
    # Insertions before what starts at the same place, then the outer before the inner.
    ordered = sorted(
        dict.fromkeys(edits), key=lambda each: (each.start, each.start < each.end, -each.end)
    )
    return _rendered(text, within or Span(0, len(text)), ordered)


def _rendered(text: str, around: Span, edits: Sequence[Edit]) -> str:
    """A span with these edits, all of which are inside of it."""
    result: list[str] = []
    done = around.start
    for index, edit in enumerate(edits):
        if edit.start < done:
            if edit.end > done:
                raise ValueError(f"Two edits overlap at {text[edit.start : done]!r}.")
            continue  # inside of the edit before, which rendered this one
        # The later edits that start within this one: they are in the order of their starts.
        stop = bisect.bisect_right(edits, edit.end, lo=index + 1, key=lambda each: each.start)
        inner = [each for each in edits[index + 1 : stop] if _is_inside(each, edit)]
        if any((each.start, each.end) == (edit.start, edit.end) for each in inner):
            raise ValueError(f"Two edits change {text[edit.start : edit.end]!r}.")
        result.append(text[done : edit.start])
        for fragment in edit.fragments:
            if isinstance(fragment, str):
                result.append(fragment)
                continue
            start, end = fragment
            within = [each for each in inner if start <= each.start and each.end <= end]
            result.append(_rendered(text, fragment, within))
        done = edit.end
    return "".join([*result, text[done : around.end]])


def _is_inside(inner: Edit, outer: Edit) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and outer.start < outer.end


_NO_END = "\\ No newline at end of file"


def unified_diff(path: Path, old: bytes, new: bytes) -> Iterator[str]:
    """The lines of a unified diff, without their ends; ``git apply`` takes them.

    Args:
      path: the file.
      old: the content, in UTF-8.
      new: the new content.
    """
    name = one_line(path)
    names = (name, name) if path.is_absolute() else (f"a/{name}", f"b/{name}")
    # Only \n ends a line here; str.splitlines knows ten more.
    before, after = (list(io.StringIO(text.decode())) for text in (old, new))
    for line in difflib.unified_diff(before, after, *names):
        if line.endswith("\n"):
            yield line[:-1]
        else:
            yield line
            yield _NO_END
