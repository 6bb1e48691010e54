"""Which files a run looks at, how they are decoded, and what keeps them from being rewritten."""

from __future__ import annotations

import codecs
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.migrate.files import FoundFile, FoundFiles
from flaxoptim_compat.migrate.linking import Links, Module, attributes_in, imports_in
from flaxoptim_compat.migrate.loading import load
from flaxoptim_compat.migrate.prefilter import mentions_old_names
from flaxoptim_compat.migrate.source_text import Unreadable, decode, line_ends, with_line_ends


def write(root: Path, *names: str, content: bytes = b"import flax\n") -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def found(*paths: Path, exclude: Sequence[str] = ()) -> FoundFiles:
    return FoundFiles(paths, lambda path: path.name in exclude)


def names(files: FoundFiles, root: Path) -> list[str]:
    return [each.path.relative_to(root).as_posix() for each in files.files]


def loaded(path: Path) -> str:
    """Why rewrite leaves a file alone."""
    (file,) = found(path).files
    return load(file, path.read_bytes()).kept


def test_the_files_of_a_folder_in_order(tmp_path: Path) -> None:
    write(tmp_path, "b.py", "a/z.py", "a/n.ipynb", "a/t.pyi", "a/c.gin", "a/readme.md", "a.txt")
    assert names(found(tmp_path), tmp_path) == ["a/c.gin", "a/n.ipynb", "a/t.pyi", "a/z.py", "b.py"]


def test_what_is_installed_or_hidden_is_left_out(tmp_path: Path) -> None:
    folders = "site-packages dist-packages node_modules build dist venv my_env __pycache__ .tox"
    write(tmp_path, *(f"{each}/x.py" for each in folders.split()), "my_env/pyvenv.cfg", "y.py")
    files = found(tmp_path)
    assert names(files, tmp_path) == ["y.py"]
    # What a user could miss is named.
    left_out = {path.name for path, _ in files.left_out}
    assert left_out == set(folders.split()) - {"__pycache__", ".tox"}
    # Asked for by name, it counts.
    assert names(found(tmp_path / "build"), tmp_path) == ["build/x.py"]


def test_a_file_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a/x.py")
    monkeypatch.chdir(tmp_path)
    paths = [Path("a/x.py"), Path("a"), tmp_path / "a" / "x.py", Path("a/../a/x.py")]
    assert [each.path for each in found(*paths).files] == [Path("a/x.py")]


def test_links(tmp_path: Path) -> None:
    write(tmp_path, "in/real.py", "out/other.py")
    top = tmp_path / "in"
    (top / "again.py").symlink_to("real.py")
    (top / "away.py").symlink_to(tmp_path / "out" / "other.py")
    (top / "folder").symlink_to(tmp_path / "out")
    (top / "round").symlink_to(top)
    files = found(top)
    assert names(files, top) == ["real.py"]
    assert sorted(path.name for path, _ in files.left_out) == ["away.py", "folder"]
    # Named, it is read, but not replaced by a file.
    (link,) = found(top / "away.py").files
    assert link.kept == "it is a link"


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "dangling.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    names = ("missing.py", "dangling.py", "pipe.py")
    files = found(*(tmp_path / name for name in names))
    assert [(path.name, why) for path, why in files.unreadable] == [
        ("missing.py", "there is no such file or folder"),
        ("dangling.py", "it is a link to nothing"),
        ("pipe.py", "it is no file"),
    ]
    assert files.files == found(tmp_path).files == []


def test_names_of_modules_are_unique(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "one/models.py", "two/models.py", "pkg/__init__.py", "pkg/sub/__init__.py")
    monkeypatch.chdir(tmp_path)
    paths = [Path("pkg/sub/__init__.py"), Path("one/models.py"), Path("two")]
    modules = [(each.module, each.is_package) for each in found(*paths).files]
    assert modules == [("pkg.sub", True), ("one.models", False), ("two.models", False)]
    # From elsewhere, a package keeps its name.
    monkeypatch.chdir("/")
    assert [each.module for each in found(tmp_path / "pkg" / "sub").files] == [
        ".".join(each.relative_to("/").parts) for each in [tmp_path / "pkg" / "sub"]
    ]


def test_other_peoples_code_is_not_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "vendor/a.py", "src/third_party/b.py", "x/_vendor/c.py", "x/flax/optim/base.py")
    write(tmp_path, "mine.py", "vendor.py")
    monkeypatch.chdir(tmp_path)
    kept = {each.path.name: each.kept for each in found(Path()).files}
    assert {name for name, why in kept.items() if why} == {"a.py", "b.py", "c.py", "base.py"}
    assert kept["base.py"] == "it is a copy of flax.optim itself"
    # The program itself may well be somebody's third party.
    monkeypatch.chdir(tmp_path / "vendor")
    assert [each.kept for each in found(Path("a.py")).files] == [""]


@pytest.mark.parametrize(
    "head",
    [
        "# Generated by the protocol buffer compiler.  DO NOT EDIT!",
        "# @generated",
        '"""Do not edit."""',
    ],
)
def test_generated_files_are_not_rewritten(tmp_path: Path, head: str) -> None:
    write(tmp_path, "a.py", content=f"# a licence\n{head}\nimport flax\n".encode())
    assert loaded(tmp_path / "a.py") == "it is generated, as its first lines say"


def test_what_only_speaks_of_generating_is_rewritten(tmp_path: Path) -> None:
    write(tmp_path, "a.py", content=b"# Makes images generated by a GAN.\nimport flax\n")
    assert loaded(tmp_path / "a.py") == ""


def test_read_only_files_are_not_rewritten(tmp_path: Path) -> None:
    write(tmp_path, "a.py")
    (tmp_path / "a.py").chmod(0o444)
    assert loaded(tmp_path / "a.py") == "it is read-only"


def test_encodings(tmp_path: Path) -> None:
    write(tmp_path, "a.py", content="# coding: latin-1\nx = 'é'; import flax\n".encode("latin-1"))
    assert loaded(tmp_path / "a.py") == "it is in iso-8859-1, not in UTF-8"
    source = decode(codecs.BOM_UTF8 + "x = 'é'\n".encode())
    assert (source.text, source.has_mark) == ("x = 'é'\n", True)
    assert source.encoded("y = 'é'\n") == codecs.BOM_UTF8 + "y = 'é'\n".encode()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (b"x = 1\0", "it holds null bytes"),
        ("x = 1\n".encode("utf-16"), "it is UTF-16, which is no Python"),
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
    ("source", "why"),
    [
        (b"import flax\nprint 'hello'\n", "line 2: Missing parentheses"),
        (b"flax = " + b"-" * 100_000 + b"1", "nested too deeply"),
        (b"flax = " + b"x." * 3000 + b"x", "nested too deeply"),
        (b"def f(:\n", "line 1: "),
    ],
)
def test_what_cannot_be_parsed(source: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        load(FoundFile(Path("a.py"), "a", False, ""), source)


def test_what_python_only_warns_about_is_read() -> None:
    load(FoundFile(Path("a.py"), "a", False, ""), b"x = '\\d'; x is 1\n")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("a\nb\n", "a\nx\nb\n", "a\nx\nb\n"),
        ("a\r\nb\r\n", "x\na\nb\n", "x\r\na\r\nb\r\n"),
        ("a\rb", "a\nx\nb", "a\rx\rb"),
        ("a\r\nb\nc\r\n", "a\nb\nc\n", "a\r\nb\nc\r\n"),
        ("a\nb\r\nc\n", "a\nx\ny\nc\n", "a\nx\r\ny\r\nc\n"),
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


MENTIONED = (
    "import flax",
    "from jax import tree_map",
    "import numpy as np\nnp.float_(1)",
    "from numpy import float_",
    "from mylib import optim",
    "def f(o, g): return o.apply_gradient(g)",
    "def params(state): return state.optimizer.target",
)
NOT_MENTIONED = (
    "x = 1",
    "flaxen = ajax = 1",
    "import numpy as np\nnp.float64(1)",
    "import torch\ntorch.optimal.x",
    "self.target = 1",
)


@pytest.mark.parametrize("source", MENTIONED)
def test_files_that_may_use_what_is_gone_are_parsed(source: str) -> None:
    assert mentions_old_names(source.encode())


@pytest.mark.parametrize("source", NOT_MENTIONED)
def test_other_files_are_not(source: str) -> None:
    assert not mentions_old_names(source.encode())


LINKED = {
    "from lib.common import Adam": True,
    "from common import (\n  other,  # why\n  Adam as A,\n)": True,
    "from .common import Adam": True,
    "from . import common\ncommon.Adam": True,
    "from lib import common as c\nc.Adam": True,
    "import lib.common\nlib.common.Adam": True,
    "from common import *": True,
    "from common import \\\n  Adam": True,
    '   "from common import Adam\\n",': True,
    "from lib import again\nagain.here.Adam": True,
    "from lib.again import A": True,
    "from lib.train import anything": True,
    "from common import Other": False,
    "from common import Other  # not Adam": False,
    "from torch.common import Adam": False,
    "from ..common import Adam": False,
    "from lib import common\ncommon.Other": False,
    "from lib.again import Adam": False,
    "Adam = common = 1": False,
}


@pytest.mark.parametrize("source", LINKED)
def test_files_that_take_names_from_others(source: str) -> None:
    def module(name: str, text: str, **options: Any) -> Module:
        options = {"exports": frozenset(), "has_optimizers": False} | options
        return Module(f"src.lib.{name}", False, imports_in(text.encode()), **options)

    again = "from .common import Adam as A\nfrom . import common as here"
    modules = [
        module("common", "from flax import optim", exports=frozenset({"Adam"})),
        module("again", again),
        module("train", "", has_optimizers=True),
        module("use", source),
    ]
    texts = ["", again, "", source]
    links = Links(modules, lambda number: attributes_in(texts[number].encode()))
    assert (3 in links.linked) == LINKED[source]
    # What a name comes through is read as well.
    assert {0, 1, 2} <= links.linked


def test_a_folder_that_cannot_be_listed_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py", "secret/b.py")
    genuine = os.scandir

    def refusing(path: Path) -> object:
        if path.name == "secret":
            raise PermissionError(13, "Permission denied")
        return genuine(path)

    monkeypatch.setattr(os, "scandir", refusing)
    files = found(tmp_path)
    assert names(files, tmp_path) == ["a.py"]
    assert files.unreadable == [(tmp_path / "secret", "Permission denied")]
