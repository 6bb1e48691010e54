"""msgpack files: what flax wrote is read, and written as flax writes it, byte for byte.

Those that are damaged, or made to do harm, are errors that say where and what.
"""

from __future__ import annotations

import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import msgpack
import numpy as np
import pytest
from flax import serialization
from hypothesis import given, settings
from hypothesis import strategies as st

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    StoredList,
    array_in_memory,
    chunks,
    open_checkpoint,
    write_checkpoint,
)
from tests.support.checkpoint_trees import (
    COMPLEX,
    DTYPES,
    GOLDENS,
    LEAVES,
    array_of,
    contents,
    described,
    flax_bytes,
    loaded,
    nested_bytes,
    rewritten,
    written,
)


@pytest.mark.parametrize("golden", GOLDENS, ids=lambda path: "-".join(path.parts[-3:]))
def test_real_checkpoints_are_read_and_written_again(golden: Path, tmp_path: Path) -> None:
    content = golden.read_bytes()
    assert described(contents(golden)) == described(serialization.msgpack_restore(content))
    assert rewritten(content, tmp_path) == content


def test_every_kind_of_leaf_is_read_and_written_as_flax_does(tmp_path: Path) -> None:
    content = flax_bytes(LEAVES)
    assert written(LEAVES, tmp_path) == content
    assert described(contents(tmp_path / "written")) == described(LEAVES)
    (tmp_path / "written").unlink()
    assert rewritten(content, tmp_path) == content


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (5,), (2, 0, 3), (2, 3, 4)], ids=str)
def test_every_dtype_and_shape(dtype: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    tree = {"array": array_of(dtype, shape), "scalar": array_of(dtype, ())[()]}
    content = flax_bytes(tree)
    assert written(tree, tmp_path) == content
    assert described(contents(tmp_path / "written")) == described(tree)


@pytest.mark.parametrize("length", [0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536])
def test_every_length_of_texts_bytes_and_maps(length: int, tmp_path: Path) -> None:
    tree = {
        "array": np.zeros(length, np.uint8),
        "bytes": b"x" * length,
        "map": {f"{number:05}": None for number in range(length)},
        "text": "x" * length,
        "x" * length: 1,
    }
    content = flax_bytes(tree)
    assert rewritten(content, tmp_path) == content
    assert contents(tmp_path / "written")["text"] == tree["text"]


NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.complex_numbers(allow_nan=False).map(COMPLEX),
    st.binary(max_size=300),
    NAMES,
)
ARRAYS = st.builds(
    lambda dtype, shape, scalar: array_of(dtype, ())[()] if scalar else array_of(dtype, shape),
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 20), max_size=4).map(tuple),
    st.booleans(),
)
TREES = st.recursive(
    st.one_of(SCALARS, ARRAYS),
    lambda child: st.one_of(st.dictionaries(NAMES, child), st.lists(child, max_size=20)),
)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(TREES)
def test_any_tree_is_read_and_written_as_flax_does(tree: Any) -> None:
    content = flax_bytes(tree)
    with tempfile.TemporaryDirectory() as folder:
        assert rewritten(content, Path(folder)) == content
        assert described(contents(Path(folder) / "source")) == described(tree)


@pytest.mark.parametrize("root", [np.ones(3), np.float32(2), 5, None, {}, "text"], ids=repr)
def test_a_checkpoint_may_be_a_single_leaf(root: Any, tmp_path: Path) -> None:
    assert written(root, tmp_path) == flax_bytes(root)
    assert described(contents(tmp_path / "written")) == described(root)


def test_lists_are_numbered_and_stay_lists(tmp_path: Path) -> None:
    content = flax_bytes({"items": [1, np.ones(2), {"deep": [None]}]})
    (tmp_path / "checkpoint").write_bytes(content)
    with open_checkpoint(tmp_path / "checkpoint") as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        items = checkpoint.tree["items"]
        assert isinstance(items, StoredList)
        assert list(items) == ["0", "1", "2"]
        assert items["0"] == 1
        assert not {"3", "-1", "00", "a"} & items.keys() and "3" not in items
    assert rewritten(content, tmp_path) == content


def test_deep_trees_up_to_the_limit_are_read_and_written(tmp_path: Path) -> None:
    assert rewritten(nested_bytes(200), tmp_path) == nested_bytes(200)
    assert sys.getrecursionlimit() <= 1000


def test_numbers_of_single_precision_are_read(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_bytes(b"\xca" + struct.pack(">f", 0.5))
    assert contents(tmp_path / "checkpoint") == 0.5


@pytest.mark.parametrize("largest", [16, 24, 100])
def test_large_arrays_are_split_as_flax_does(
    largest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serialization, "MAX_CHUNK_SIZE", largest)
    monkeypatch.setattr(chunks, "LARGEST_CHUNK", largest)
    tree = {
        "double": np.arange(15, dtype=np.float64).reshape(3, 5),
        "half": np.arange(12).astype(jnp.bfloat16).reshape(2, 1, 6),
        "just": np.zeros(largest, np.uint8),
        "list": [np.ones(30)],
        "small": np.ones(2, np.float32),
    }
    content = flax_bytes(tree)
    assert rewritten(content, tmp_path) == content
    with open_checkpoint(tmp_path / "written") as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        whole = checkpoint.tree["double"]
        assert isinstance(whole, StoredArray)
        assert (whole.shape, whole.nbytes) == ((3, 5), 120)
        assert described(loaded(checkpoint.tree)) == described(tree)
    (tmp_path / "root").write_bytes(flax_bytes(tree["double"]))
    assert described(contents(tmp_path / "root")) == described(tree["double"])


def test_arrays_in_any_layout_and_byte_order_are_written_in_flax_order(tmp_path: Path) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    tree = {
        "big": values.astype(">f4"),
        "columns": np.asfortranarray(values),
        "lazy": array_in_memory(values.transpose(2, 0, 1)),
        "reversed": values[::-1, :, ::2],
    }
    assert written(tree, tmp_path) == flax_bytes(
        {
            "big": values,
            "columns": values,
            "lazy": values.transpose(2, 0, 1),
            "reversed": values[::-1, :, ::2],
        }
    )


class Opaque:
    pass


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        ({"a": {"b": Opaque()}}, "a/b is Opaque"),
        ({"a": (1, 2)}, "a is tuple"),
        ({"a": np.array([None])}, "a is an array of dtype object"),
        ({"a": np.array(["text"])}, "a is an array of dtype <U4"),
        ({"a": np.zeros(1, [("x", "f4")])}, r"a is an array of dtype \[\('x'"),
        ({"a": {1: 2}}, "a has an entry named 1. Names in a checkpoint must be texts"),
        ({"a": 2**64}, "cannot hold 18446744073709551616: Integer value out of range"),
        ({"a": -(2**63) - 1}, "cannot hold -9223372036854775809: Integer value"),
        ({"a": "\ud800"}, "surrogates not allowed"),
    ],
)
def test_what_msgpack_cannot_hold_is_refused(tree: Any, problem: str, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=f"Nothing was written: .*{problem}"):
        write_checkpoint(tmp_path / "written", tree, "msgpack")
    assert not list(tmp_path.iterdir())


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
    "huge map": (b"\xdf\xff\xff\xff\xff", "8,589,934,590 bytes should follow"),
    "huge list": (b"\xdd\xff\xff\xff\xff", "4,294,967,295 bytes should follow"),
    "huge extension": (b"\xc9\xff\xff\xff\xff\x01", "4,294,967,295 bytes should follow"),
    "huge shape": (ext(1, b"\x93\xdd\xff\xff\xff\xff"), "does not write"),
    "cut in a number": (b"\xcb\x00", "ends within a value"),
    "text that is no UTF-8": (b"\x81\xa2\xff\xff\x01", "not UTF-8"),
    "number as a name": (b"\x81\x01\x02", "the name of an entry is not a text"),
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
    "objects": (ext(1, array_bytes((1,), "object", b"12345678")), "an unknown dtype"),
    "long dtype": (ext(1, array_bytes((1,), "f" * 1000, b"1")), "an unknown dtype"),
    "number as dtype": (ext(1, array_bytes((1,), 5, b"1")), "an unknown dtype"),
    "negative length": (ext(1, array_bytes((-1,), "int8", b"1")), "the impossible shape"),
    "length of 2**63": (ext(1, array_bytes((0, 2**63), "int8", b"")), "the impossible shape"),
    "40 dimensions": (ext(1, array_bytes((1,) * 40, "int8", b"1")), "the impossible shape"),
    "long dimensions": (
        ext(1, array_bytes((2**62,) * 10**5, "int8", b"1")),
        "the impossible shape",
    ),
    "fraction as length": (ext(1, array_bytes((1.0,), "int8", b"1")), "not made of integers"),
    "scalar with a shape": (ext(3, array_bytes((1,), "int8", b"1")), "the impossible shape"),
    "complex of one": (ext(2, msgpack.packb((1.0,))), "no pair of numbers"),
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
