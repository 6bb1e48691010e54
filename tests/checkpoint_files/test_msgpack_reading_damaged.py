"""msgpack files that are damaged, or made to do harm: each is an error that says where and what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import CheckpointError, open_checkpoint
from tests.support.checkpoint_trees import LEAVES, contents, flax_bytes, nested_bytes


def ext(kind: int, *parts: Any) -> bytes:
    return msgpack.packb({"w": msgpack.ExtType(kind, b"".join(parts))})


def array_bytes(shape: Any, dtype: Any, values: Any) -> bytes:
    return msgpack.packb((shape, dtype, values))


NOT_CHUNKS = "not made of a shape and chunks of one kind"
NOT_THOSE = "values that are not those of shape"
CHUNKS = {"0": np.ones(2), "1": np.ones(1)}
DAMAGED: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "text": (b"hello", "more bytes after the end"),
    "pickle": (b"\x80\x04\x95\x00\x00.", "more bytes after the end"),
    "unused first byte": (b"\xc1", "a value that Flax does not write"),
    "huge text": (b"\xdb\xff\xff\xff\xffabc", "ends within a value"),
    "huge bytes": (b"\xc6\xff\xff\xff\xff", "ends within a value"),
    "huge map": (b"\xdf\xff\xff\xff\xff", "8,589,934,590 bytes should follow"),
    "huge list": (b"\xdd\xff\xff\xff\xff", "4,294,967,295 bytes should follow"),
    "huge extension": (b"\xc9\xff\xff\xff\xff\x01", "4,294,967,295 bytes should follow"),
    "huge shape": (ext(1, b"\x93\xdd\xff\xff\xff\xff"), "does not write"),
    "cut in a number": (b"\xcb\x00", "ends within a value"),
    "text that is no UTF-8": (b"\x81\xa2\xff\xff\x01", "not UTF-8"),
    "number as a name": (b"\x81\x01\x02", "the name of an entry is not a text"),
    "bytes as a name": (b"\x81\xc4\x01a\x02", "the name of an entry is not a text"),
    "same name twice": (b"\x82\xa1a\x01\xa1a\x02", "a second entry 'a'"),
    "deep maps": (nested_bytes(100_000), "more than 200 levels of nesting"),
    "deep lists": (b"\x91" * 100_000 + b"\xc0", "more than 200 levels of nesting"),
    "many entries": (b"\xdd\x00\x0f\x42\x41" + b"\xc0" * 1_000_001, "more than 1,000,000 entries"),
    "unknown extension": (ext(5, b"abc"), "an extension of type 5"),
    "time stamp": (b"\xd6\xff\x00\x00\x00\x00", "an extension of type 255"),
    "array that is no triple": (ext(1, msgpack.packb((1, 2))), "not a triple"),
    "array that ends early": (ext(1, array_bytes((2,), "float32", b"")[:-3]), "ends within"),
    "more after an array": (ext(1, array_bytes((1,), "int8", b"x"), b"?"), NOT_THOSE),
    "too few values": (ext(1, array_bytes((3,), "float32", b"1234")), NOT_THOSE),
    "too many values": (ext(1, array_bytes((), "float32", b"12345678")), NOT_THOSE),
    "objects": (ext(1, array_bytes((1,), "object", b"12345678")), "an unknown dtype"),
    "records": (ext(1, array_bytes((1,), "void64", b"12345678")), "an unknown dtype"),
    "long dtype": (ext(1, array_bytes((1,), "f" * 1000, b"1")), "an unknown dtype"),
    "number as dtype": (ext(1, array_bytes((1,), 5, b"1")), "an unknown dtype"),
    "negative length": (ext(1, array_bytes((-1,), "int8", b"1")), "the impossible shape"),
    "length of 2**63": (ext(1, array_bytes((0, 2**63), "int8", b"")), "the impossible shape"),
    "40 dimensions": (ext(1, array_bytes((1,) * 40, "int8", b"1")), "the impossible shape"),
    "1000 dimensions": (ext(1, array_bytes((1,) * 1000, "int8", b"1")), "the impossible shape"),
    "long dimensions": (
        ext(1, array_bytes((2**62,) * 10**5, "int8", b"1")),
        "the impossible shape",
    ),
    "fraction as length": (ext(1, array_bytes((1.0,), "int8", b"1")), "not made of integers"),
    "text as length": (ext(1, array_bytes(("1",), "int8", b"1")), "not made of integers"),
    "scalar with a shape": (ext(3, array_bytes((1,), "int8", b"1")), "the impossible shape"),
    "complex of one": (ext(2, msgpack.packb((1.0,))), "no pair of numbers"),
    "complex of texts": (ext(2, msgpack.packb(("1", "2"))), "no pair of numbers"),
    **{
        f"chunks: {name}": (
            flax_bytes({"w": {"__msgpack_chunked_array__": True, **entries}}),
            problem,
        )
        for name, (entries, problem) in {
            "nothing": ({}, NOT_CHUNKS),
            "too few": ({"shape": {"0": 4}, "chunks": CHUNKS}, "3 values in chunks"),
            "huge": ({"shape": {"0": 2**62, "1": 4}, "chunks": CHUNKS}, "3 values in chunks"),
            "negative": ({"shape": {"0": -3}, "chunks": CHUNKS}, "3 values in chunks"),
            "text": ({"shape": {"0": "3"}, "chunks": CHUNKS}, NOT_CHUNKS),
            "unnumbered": ({"shape": {"1": 3}, "chunks": CHUNKS}, NOT_CHUNKS),
            "no map": ({"shape": 3, "chunks": CHUNKS}, NOT_CHUNKS),
            "none": ({"shape": {"0": 0}, "chunks": {}}, NOT_CHUNKS),
            "no arrays": ({"shape": {"0": 1}, "chunks": {"0": 1.0}}, NOT_CHUNKS),
            "mixed": (
                {"shape": {"0": 2}, "chunks": {"0": np.ones(1), "1": np.ones(1, np.int8)}},
                NOT_CHUNKS,
            ),
            "matrices": ({"shape": {"0": 4}, "chunks": {"0": np.ones((2, 2))}}, NOT_CHUNKS),
        }.items()
    },
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_and_hostile_files_are_refused(name: str, tmp_path: Path) -> None:
    content, problem = DAMAGED[name]
    path = tmp_path / "checkpoint_1"
    path.write_bytes(content)
    with pytest.raises(CheckpointError) as caught, open_checkpoint(path):
        pass
    assert problem in str(caught.value)
    assert str(path) in str(caught.value)
    assert "copy it again; if not, use an earlier one" in str(caught.value)


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    content = flax_bytes({key: value for key, value in LEAVES.items() if key != "integers"})
    path = tmp_path / "checkpoint"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        with pytest.raises(CheckpointError), open_checkpoint(path):
            pass


def test_the_message_says_where_in_the_tree(tmp_path: Path) -> None:
    content = flax_bytes({"opt": {"target": {"kernel": np.ones(3)}}})
    (tmp_path / "checkpoint").write_bytes(content.replace(b"float64", b"float65"))
    with pytest.raises(CheckpointError, match=r"at byte \d+, under 'opt/target/kernel'"):
        contents(tmp_path / "checkpoint")
