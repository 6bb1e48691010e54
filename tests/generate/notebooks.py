"""``migration_guide/notebooks`` with what their cells print and draw.

The notebooks are their own source: their texts and code are edited there, in Jupyter or by hand.
They are run as Jupyter runs them, in an empty folder, and only what is the same the next time is
kept.
"""

from __future__ import annotations

import base64
import io
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from PIL import Image

from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE

FOLDER = GUIDE / "notebooks"
# Where Colab runs a notebook.
_COLAB = "/content"
# Commands print as on a terminal, which a page is not: in colours, and lines that go away.
_OF_A_TERMINAL = re.compile(r"\x1b\[[\d;]*[Km]")
# Colab has Tensorflow.
_NO_TENSORFLOW = re.compile(r"^WARNING:absl:Tensorflow library not found.*\n", re.MULTILINE)
_MARKS = re.compile(r"^ *[~^]+\n", re.MULTILINE)
_COLOURS_OF_A_PICTURE = 128
_METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}
# What a cell may say of itself; editors add more.
_OF_A_CELL = ("mystnb", "tags")


def executed(content: bytes, folder: Path, environment: Mapping[str, str] | None = None) -> bytes:
    """A notebook with what its cells print and draw now.

    Args:
      content: of its file.
      folder: an empty one, in which it is run.
      environment: variables beside those of this process.

    Raises:
      CellExecutionError: a cell has raised an error.
    """
    notebook = nbformat.reads(content.decode(), as_version=4)
    work = folder / "work"
    work.mkdir()
    client = NotebookClient(
        notebook,
        coalesce_streams=True,
        # Else it warns that others on this machine could read what is printed.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(work)}},
        timeout=120,
    )
    client.execute(env={**_environment(folder), **(environment or {})})
    notebook.metadata = nbformat.from_dict(_METADATA)
    for cell in notebook.cells:
        cell.metadata = {key: cell.metadata[key] for key in _OF_A_CELL if key in cell.metadata}
        for output in cell.get("outputs", ()):
            _settle(output, work, alternative(cell))
        if cell.cell_type == "code":
            cell.outputs = [each for each in cell.outputs if each.get("text") != ""]
    return f"{nbformat.writes(notebook)}\n".encode()


def alternative(cell: Any) -> str:
    """What is said of the picture of a cell to those who do not see it."""
    text: str = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
    return text


def _environment(folder: Path) -> dict[str, str]:
    """Variables of a kernel that is this Python, without settings of whoever runs it."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    homes = ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "MPLCONFIGDIR")
    return {
        **os.environ,
        **dict.fromkeys(homes, str(folder)),
        "JAX_PLATFORMS": "cpu",
        "PATH": path,
    }


def _settle(output: Any, folder: Path, alt: str) -> None:
    """Take out of an output what is another one at the next time."""
    if "text" in output:
        text = _OF_A_TERMINAL.sub("", output.text).replace("\r\n", "\n")
        text = text.replace(sysconfig.get_path("purelib"), f"{_COLAB}/site-packages")
        output.text = _NO_TENSORFLOW.sub("", text.replace(str(folder.resolve()), _COLAB))
    if "image/png" in output.get("data", {}):
        output.data["image/png"] = _small(output.data["image/png"])
        output.metadata = nbformat.from_dict({"image/png": {"alt": alt}})


def _small(png: str) -> str:
    """A picture with a palette, which takes a third of the space, and without matplotlib's name."""
    shown = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    written = io.BytesIO()
    shown.quantize(_COLOURS_OF_A_PICTURE, Image.Quantize.MAXCOVERAGE).save(
        written, "png", optimize=True
    )
    return base64.b64encode(written.getvalue()).decode()


def files() -> Files:
    """The notebooks with what they print and draw now."""
    found = {}
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as name:
            found[path] = executed(path.read_bytes(), Path(name))
    return found


def comparable(content: bytes) -> Any:
    """A notebook without the bits of its pictures, which are others with each matplotlib.

    In tracebacks, each Python marks other parts of a line.
    """
    notebook = nbformat.reads(content.decode(), as_version=4)
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            if "text" in output:
                output.text = _MARKS.sub("", output.text)
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = "a picture"
    return notebook


GENERATOR = Generator(
    "migration_guide/notebooks: what their cells print and draw", files, comparable=comparable
)
