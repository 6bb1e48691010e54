"""What would change, as a patch that git applies."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.rewriting_folders import NEW, OLD, Rewrite, read, rewriting_in


@pytest.fixture
def rewrite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Rewrite:
    return rewriting_in(tmp_path, capsys, monkeypatch)


@pytest.mark.parametrize("options", [(), ("--diff",)])
def test_without_write_it_is_a_patch(rewrite: Rewrite, options: tuple[str, ...]) -> None:
    done = rewrite(*options, a=OLD, b="x = 1\n", c__d=OLD)
    assert done.status == 1
    assert read("a.py") == OLD
    assert "a.py: changed in the patch: " in done.errors
    assert "No file was changed. To change them, add --write." in done.errors
    Path("patch").write_text(done.output)
    subprocess.run(["git", "apply", "patch"], check=True)
    assert (read("a.py"), read("b.py"), read("c/d.py")) == (NEW, "x = 1\n", NEW)


def test_a_patch_of_lines_without_ends(rewrite: Rewrite) -> None:
    text = "import jax\r\n\r\nx = 1\n\x0cy = '\u2028'; jax.tree_map"
    done = rewrite(a=text)
    Path("patch").write_bytes(done.output.encode())
    subprocess.run(["git", "apply", "patch"], check=True)
    assert read("a.py") == text.replace("tree_map", "tree.map")
