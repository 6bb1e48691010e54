"""Random damage: to bytes, to the lines of a text, to the entries of a tree."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Mutation = Callable[[bytes, random.Random], bytes]


def damaged(content: bytes, source: random.Random, mutations: list[Mutation]) -> bytes:
    """The content after one of the mutations, or after some of them."""
    for _ in range(source.choice([1, 1, 1, 2, 3])):
        content = source.choice(mutations)(content, source) or b"\0"
    return content


def cut(content: bytes, source: random.Random) -> bytes:
    return content[: source.randrange(len(content))]


def flip_bits(content: bytes, source: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(source.choice([1, 1, 1, 2, 5, 30])):
        changed[source.randrange(len(changed))] ^= 1 << source.randrange(8)
    return bytes(changed)


# First bytes of containers and of long values in msgpack, with the largest lengths.
_FIRST_BYTES = [
    *(b"\x80", b"\x91", b"\xc1", b"\xc9", b"\xd9", b"\xff" * 8, b"\0" * 4),
    *(b"\xdd\xff\xff\xff\xff", b"\xdf\x7f\xff\xff\xff", b"\xc6\xff\xff\xff\xff"),
]


def set_bytes(content: bytes, source: random.Random) -> bytes:
    place, what = source.randrange(len(content)), source.choice(_FIRST_BYTES)
    return content[:place] + what + content[place + len(what) :]


def insert(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content) + 1)
    return content[:place] + source.randbytes(source.randrange(1, 20)) + content[place:]


def delete(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content))
    return content[:place] + content[place + source.randrange(1, 20) :]


def repeat(content: bytes, source: random.Random) -> bytes:
    begin, end = sorted(source.sample(range(len(content) + 1), 2))
    return content[:end] + content[begin:end] + content[end:]


OF_BYTES: list[Mutation] = [cut, *[flip_bits] * 2, *[set_bytes] * 2, insert, delete, repeat]


def _without_a_line(content: bytes, source: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    del lines[source.randrange(len(lines))]
    return b"".join(lines)


def _with_a_line_elsewhere(content: bytes, source: random.Random) -> bytes:
    lines = content.splitlines(keepends=True)
    line = source.choice(lines)
    indent = len(line) - len(line.lstrip())
    # Beside a line of the same block, or what remains is seldom a program.
    beside = [at for at, each in enumerate(lines) if len(each) - len(each.lstrip()) == indent]
    lines.insert(source.choice(beside), line)
    return b"".join(lines)


def _with_another_name(content: bytes, source: random.Random) -> bytes:
    names = list(re.finditer(rb"[A-Za-z_][\w.]*", content))
    if not names:
        return content
    old, new = source.choice(names), source.choice(names)
    return content[: old.start()] + new.group() + content[old.end() :]


_ODD_TEXTS = [
    *(b"\\\n", b"\r", b"\f", b"\t", b"\xef\xbb\xbf", b"\0", b"'''", b'"', b"(", b")", b"#", b";"),
    *(b"global optimizer\n", b"del optimizer\n", b"lambda: ", b"async ", b"await ", b"*", b":="),
    *("é".encode(), "\u2028".encode(), b"\xff", b"(" * 300, b"-" * 2000, b"if x:\n "),
    *(b"# coding: latin-1\n", b"f'{optimizer.target!r:{x}}'", b"optim.Adam(0.1)", b".state.step"),
]


def _with_an_odd_text(content: bytes, source: random.Random) -> bytes:
    place = source.randrange(len(content) + 1)
    return content[:place] + source.choice(_ODD_TEXTS) + content[place:]


OF_TEXT: list[Mutation] = [
    *[_with_a_line_elsewhere, _with_another_name] * 5,
    *[_without_a_line, _with_an_odd_text] * 2,
    *(cut, flip_bits, delete, repeat),
]


MISSING = object()
_ODD_VALUES: list[Any] = [
    *(MISSING, None, {}, {"a": 1}, {"0": {}}, {"inner_state": {}}, [], [1, {"a": None}]),
    *(True, 5, -1, 2**63, 2**64 - 1, 2.5, float("nan"), float("inf"), 1j),
    *("text", b"bytes", "9" * 5000, "\x1b[2J\n::error::"),
]


def of_tree(tree: Any, source: random.Random) -> Any:
    """Nested dicts with one entry that is none, is of another kind, or is called otherwise."""
    paths = list(paths_in(tree))
    if not paths:
        return source.choice(_ODD_VALUES[1:])
    path = source.choice(paths)
    if source.random() < 0.2:
        return changed(tree, path, MISSING, source.choice(["", "0", "state", "\n", "9" * 5000]))
    return changed(tree, path, source.choice(_ODD_VALUES))


def paths_in(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of everything in a tree but the tree itself."""
    for name in tree if isinstance(tree, Mapping) else ():
        yield (*path, name)
        yield from paths_in(tree[name], (*path, name))


def changed(tree: Any, path: tuple[str, ...], value: Any, name: str | None = None) -> Any:
    """The tree with another value at a path, without one, or with another name for it."""
    first, *rest = path
    if rest:
        return {**tree, first: changed(tree[first], tuple(rest), value, name)}
    entries = {}
    for key, child in tree.items():
        if key != first:
            entries[key] = child
        elif value is not MISSING:
            entries[key] = value
        elif name is not None:
            entries[name] = child
    return entries
