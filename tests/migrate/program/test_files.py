"""Which files a run looks at, and which of them are left alone for where they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.migrate.program.loading import FoundFiles
from tests.support.found_files import found, write


def names(files: FoundFiles, root: Path) -> list[str]:
    return [each.path.relative_to(root).as_posix() for each in files.files]


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
    assert link.off_limits == "the file is a link"


def test_what_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "dangling.py").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.py")
    names = ("missing.py", "dangling.py", "pipe.py")
    files = found(*(tmp_path / name for name in names))
    assert [(path.name, why) for path, why in files.unreadable] == [
        ("missing.py", "there is no such file or folder"),
        ("dangling.py", "the path is a link to nothing"),
        ("pipe.py", "the path is no regular file"),
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
    kept = {each.path.name: each.off_limits for each in found(Path()).files}
    assert {name for name, why in kept.items() if why} == {"a.py", "b.py", "c.py", "base.py"}
    assert kept["base.py"] == "the file is a copy of flax.optim itself"
    # The program itself may well be somebody's third party.
    monkeypatch.chdir(tmp_path / "vendor")
    assert [each.off_limits for each in found(Path("a.py")).files] == [""]


def test_a_folder_that_cannot_be_listed_is_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "a.py", "secret/b.py")
    scandir, stat = os.scandir, os.stat

    def list_folder(path: Path) -> object:
        if path.name == "secret":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def look_at(path: Any, *args: Any, **kwargs: Any) -> object:
        if "secret" in os.path.dirname(path):
            raise PermissionError(13, "Permission denied")
        return stat(path, *args, **kwargs)

    monkeypatch.setattr(os, "scandir", list_folder)
    monkeypatch.setattr(os, "stat", look_at)
    files = found(tmp_path)
    assert names(files, tmp_path) == ["a.py"]
    assert files.unreadable == [(tmp_path / "secret", "Permission denied")]
