"""``migration_guide/rewriting.md`` with what its commands print."""

from __future__ import annotations

import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE
from tests.support.processes import compat

PAGE = GUIDE / "rewriting.md"
_BLOCK = re.compile(r"^```(py|sh|text|diff)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(page: str, folder: Path) -> str:
    """The page, with what its commands print now in the blocks after them.

    Args:
      page: its text. A block of Python that begins with the name of a file is written there.
      folder: an empty one, in which the commands are run.
    """
    output = ""

    def block(match: re.Match[str]) -> str:
        nonlocal output
        language, text = match.groups()
        if language == "py" and (file := re.match(r"# (\w+\.py)\n", text)):
            (folder / file[1]).write_text(text.partition("\n")[2])
        elif language == "sh":
            output = _output(shlex.split(text), folder)
        elif language == "diff":
            return f"```diff\n{_patch(output)}```"
        elif language == "text":
            return f"```text\n{output}```"
        return match[0]

    return _BLOCK.sub(block, page)


def _output(command: list[str], folder: Path) -> str:
    assert command[0] == "flaxoptim-compat"
    # --verify runs the command of the same name.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = compat(command[1:], folder, {"PATH": path})
    # What --verify does, it says on stderr before it says on stdout what was done.
    text = (done.stderr + done.stdout).replace(str(folder), "/home/me/program")
    return re.sub(r" +$", "", text, flags=re.MULTILINE)


def _patch(output: str) -> str:
    """The lines of a patch, without the account of it."""
    lines = output.splitlines(keepends=True)
    start = next(number for number, line in enumerate(lines) if line.startswith("--- "))
    return "".join(lines[start:])


def files() -> Files:
    """The page with what its commands print now."""
    with tempfile.TemporaryDirectory() as name:
        return {PAGE: printed(PAGE.read_text(), Path(name).resolve()).encode()}


def comparable(content: bytes) -> str:
    """The page without the measured error in it, which differs from version to version."""
    return re.sub(r"differ by \d\S+ of", "differ by 0.1 of", content.decode())


GENERATOR = Generator(
    "migration_guide/rewriting.md: what the commands on the page print",
    files,
    comparable=comparable,
)
