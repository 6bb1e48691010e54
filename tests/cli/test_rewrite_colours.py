"""A patch on a terminal is in colours."""

from __future__ import annotations

from pathlib import Path

from tests.support.rewriting_folders import OLD
from tests.support.terminal import on_a_terminal


def test_colours_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(OLD + f"# {'long ' * 60}\n")
    status, shown, _ = on_a_terminal(
        ["rewrite", "a.py", "--to", "shim"], tmp_path, "stdout", {"TERM": "xterm", "COLUMNS": "80"}
    )
    assert status == 1
    text = shown.decode().replace("\r\n", "\n")
    assert "\033[31m-from flax import optim\033[0m\n" in text
    assert "\033[32m+from flaxoptim_compat import optim\033[0m\n" in text
