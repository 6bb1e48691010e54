"""How files are decoded, and how their line ends stay."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.program.source_text import (
    Unreadable,
    decode,
    line_ends,
    with_line_ends,
)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (b"x = 1\0", "the file holds null bytes"),
        ("x = 1\n".encode("utf-16"), "the file is UTF-16, which is no Python"),
        (b"x = 1\ny = '\xe9'\n", "line 2: byte 0xe9 is not UTF-8"),
        (b"# coding: latin-1\n\xef\xbb\xbfx = 1\n# coding: utf-9\n", None),
        (b"# coding: utf-9\nx = 1\n", "unknown encoding: utf-9"),
        (b"# coding: rot13\nx = 1\n", "rot13"),
    ],
)
def test_what_cannot_be_decoded(source: bytes, why: str | None) -> None:
    if why is None:
        assert decode(source).encoding == "iso-8859-1"
        return
    with pytest.raises(Unreadable, match=why):
        decode(source)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\r\nb\r\n", "x\na\nb\n", "x\r\na\r\nb\r\n"),
        ("a\rb", "a\nx\nb", "a\rx\rb"),
        ("a\nb\r\nc", "a\nb\nc\nd", "a\nb\r\nc\r\nd"),
        ("a\r\nb\nc\n", "c\n", "c\n"),
        ("a\x0cb\u2028\r\nc\n", "a\x0cb\u2028\nd\n", "a\x0cb\u2028\r\nd\n"),
        ("", "x\n", "x\n"),
    ],
)
def test_line_ends_stay(old: str, new: str, expected: str) -> None:
    plain = decode(old.encode()).text
    assert with_line_ends(plain, line_ends(old), plain) == old
    assert with_line_ends(plain, line_ends(old), new) == expected
