"""npz files: names become trees, and nothing in them is ever unpickled."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.checkpoint_files import (
    CheckpointError,
    StoredArray,
    open_checkpoint,
)
from tests.support.checkpoint_trees import DTYPES, array_of, contents, described

KERNEL = np.arange(12, dtype=np.float32).reshape(3, 4)
SAVE = {"stored": np.savez, "deflated": np.savez_compressed}
both_ways = pytest.mark.parametrize("save", SAVE.values(), ids=SAVE)


def members(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return path


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def described_header(descr: str, shape: str = "(2,)", version: bytes = b"\1\0") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    width = 2 if version == b"\1\0" else 4
    return b"\x93NUMPY" + version + len(header).to_bytes(width, "little") + header


@both_ways
def test_names_are_split_at_slashes(save: Any, tmp_path: Path) -> None:
    save(
        tmp_path / "model.npz",
        **{"opt/target/params/Dense_0/kernel": KERNEL, "opt/state/step": np.int32(7)},
    )
    with open_checkpoint(tmp_path / "model.npz") as checkpoint:
        assert checkpoint.format == "npz"
        assert checkpoint.path == tmp_path / "model.npz"
        assert checkpoint.directory_of_steps == ()
    assert described(contents(tmp_path / "model.npz")) == described(
        {
            "opt": {
                "target": {"params": {"Dense_0": {"kernel": KERNEL}}},
                "state": {"step": np.asarray(7, np.int32)},
            }
        }
    )


@both_ways
@pytest.mark.parametrize("dtype", [name for name in DTYPES if name[:6] not in ("float8", "int4")])
def test_every_dtype_that_npz_can_hold(dtype: str, save: Any, tmp_path: Path) -> None:
    tree = {
        "columns": np.asfortranarray(array_of(dtype, (2, 3, 4))),
        "empty": array_of(dtype, (0, 3)),
        "matrix": array_of(dtype, (2, 3)),
        "scalar": array_of(dtype, ()),
        "vector": array_of(dtype, (5,)),
    }
    save(tmp_path / "model.npz", **tree)
    assert described(contents(tmp_path / "model.npz")) == described(tree)


def test_the_other_byte_order_becomes_this_machines(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", w=KERNEL.astype(">f4"))
    found = contents(tmp_path / "model.npz")["w"]
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, KERNEL)


def test_headers_of_python_2_and_of_later_versions_are_read(tmp_path: Path) -> None:
    values = KERNEL[0, :2].tobytes()
    path = members(
        tmp_path / "model.npz",
        python2=described_header("'<f4'", "(2L,)") + values,
        version2=described_header("'<f4'", version=b"\2\0") + values,
        version3=described_header("'<f4'", "(1, 2)", b"\3\0") + values,
    )
    expected = KERNEL[0, :2]
    assert described(contents(path)) == described(
        {"python2": expected, "version2": expected, "version3": expected[None]}
    )


class Exploding:
    def __reduce__(self) -> Any:
        return os.mkdir, ("code-was-run",)


def test_pickles_are_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("model.npz", w=np.array([Exploding()], dtype=object))
    with pytest.raises(CheckpointError, match=r"pickled Python objects, which can run any"):
        contents(Path("model.npz"))
    assert os.listdir() == ["model.npz"]


def array_members(tmp_path: Path, content: bytes) -> Path:
    return members(tmp_path / "model.npz", w=content)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "not an array of numpy"),
        (b"not numpy at all", "not an array of numpy"),
        (b"\x93NUMPY\x07\0" + bytes(100), "not an array of numpy"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", "not an array of numbers"),
        (npy(np.array(["text"])), "not an array of numbers; its header is .*<U4"),
        (npy(np.zeros(1, [("x", "<f4")])), "not an array of numbers"),
        (npy(np.zeros(1, [("x", "u1"), ("y", "u1")])), "not an array of numbers"),
        (npy(np.zeros(1, "M8[s]")), "not an array of numbers"),
        (npy(np.zeros(1, "V4")), "not an array of numbers"),
        (described_header("'nonsense'"), "not an array of numbers"),
        (described_header("__import__('os').mkdir('code-was-run')"), "not an array of numbers"),
        (described_header("'<f4'", "(-2,)"), "not an array of numbers"),
        (described_header("'<f4'", "(1e9,)"), "not an array of numbers"),
        (described_header("'<f4'", "(True,)"), "not an array of numbers"),
        (described_header("'<f4'", "(2,)" + " " * 2000), "not an array of numbers"),
        (described_header("'<f4'", "-" * 1000 + "1"), "not an array of numbers"),
        (described_header("'<f4'", "(" * 1000), "not an array of numbers"),
        (described_header("'<f4'", "(99999999999999999999,)"), "not an array of numbers"),
        (described_header("'<f4'", "(" + "1, " * 40 + ")") + bytes(4), "the impossible shape"),
        (described_header("'<f4'", f"({2**62}, 16)"), "the impossible shape"),
        (described_header("'<f4'", "(1000000000,)"), "cannot be an array of shape"),
        (npy(KERNEL)[:-1], "cannot be an array of shape"),
        (npy(KERNEL) + b"?", "cannot be an array of shape"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(
    content: bytes, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = array_members(tmp_path, content)
    with pytest.raises(CheckpointError, match=problem) as caught:
        contents(path)
    assert str(path) in str(caught.value)
    assert os.listdir() == ["model.npz"]


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["a/b.npy", "a/b/c.npy"], "another entry of that name or inside it"),
        (["a/b/c.npy", "a/b.npy"], "another entry of that name or inside it"),
        (["a//b.npy"], "impossible name"),
        (["/a.npy"], "impossible name"),
        (["a/" * 300 + "b.npy"], "impossible name"),
        (["readme.txt"], "'readme.txt', which is not an array"),
    ],
)
def test_impossible_names_are_refused(names: list[str], problem: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.npz", "w") as archive:
        for name in names:
            archive.writestr(name, npy(KERNEL))
    with pytest.raises(CheckpointError, match=problem):
        contents(tmp_path / "model.npz")


def test_the_same_name_twice_is_refused(tmp_path: Path) -> None:
    path = members(tmp_path / "model.npz", a=npy(KERNEL), b=npy(KERNEL))
    path.write_bytes(path.read_bytes().replace(b"b.npy", b"a.npy"))
    with pytest.raises(CheckpointError, match="another entry of that name"):
        contents(path)


def test_a_changed_value_is_noticed_by_its_checksum(tmp_path: Path) -> None:
    np.savez(tmp_path / "model.npz", w=np.zeros(10_000))
    content = bytearray((tmp_path / "model.npz").read_bytes())
    content[len(content) // 2] = 1
    (tmp_path / "model.npz").write_bytes(content)
    with open_checkpoint(tmp_path / "model.npz") as checkpoint:
        assert isinstance(checkpoint.tree, dict)
        array = checkpoint.tree["w"]
        assert isinstance(array, StoredArray)
        with pytest.raises(CheckpointError, match="Bad CRC-32"):
            array.read()


def claiming(path: Path, length: int, values: bytes) -> Path:
    """A file that says it has so many bytes in an array, and has others."""
    header = described_header("'|u1'", f"({length},)")
    content = bytearray(members(path, w=header + values).read_bytes())
    place = content.rindex(b"PK\1\2") + 24
    content[place : place + 4] = (len(header) + length).to_bytes(4, "little")
    path.write_bytes(content)
    return path


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    """Deflate makes at most 1032 bytes of one; a header that says more is a lie."""
    path = claiming(tmp_path / "model.npz", 2**31, b"")
    with pytest.raises(CheckpointError, match="cannot be an array of shape"):
        contents(path)


def test_an_array_that_ends_early_is_an_error(tmp_path: Path) -> None:
    path = claiming(tmp_path / "model.npz", 300, b"x" * 299)
    with pytest.raises(CheckpointError, match="expected 300 bytes got 299"):
        contents(path)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compressions_are_refused(method: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "model.npz", "w", method) as archive:
        archive.writestr("w.npy", npy(KERNEL))
    with pytest.raises(CheckpointError, match="a way that numpy does not use"):
        contents(tmp_path / "model.npz")


def test_a_file_that_only_begins_like_a_zip_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_bytes(b"PK\3\4 and nothing else")
    with pytest.raises(CheckpointError, match="is not an npz file, or damaged: File is not a zip"):
        contents(tmp_path / "model.npz")
