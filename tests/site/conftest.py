"""The site, built once by the command that CONTRIBUTING has."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.browser import Browser, browser
from tests.support.pages import blocks
from tests.support.places import ROOT

CONTRIBUTING = (ROOT / ".github" / "CONTRIBUTING.md").read_text()


def command() -> list[str]:
    """The arguments of ``sphinx-build``, but for where the site goes."""
    (line,) = (
        each for block in blocks(CONTRIBUTING, "sh") for each in block.splitlines() if "-W" in each
    )
    program, *arguments, _ = shlex.split(line.rpartition("&& ")[2])
    assert program.endswith("sphinx-build")
    return arguments


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site."""
    pytest.importorskip("sphinx", reason="the site needs pip install -e '.[docs]'")
    folder = tmp_path_factory.mktemp("site")
    sphinx = [sys.executable, "-m", "sphinx", *command(), str(folder)]
    done = subprocess.run(sphinx, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of one file."""
    with browser() as session:
        yield session
