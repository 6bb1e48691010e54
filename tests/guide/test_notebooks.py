"""The notebooks of the guide run, in time, and print what is committed with them."""

from __future__ import annotations

import base64
import io
import itertools
import os
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient.exceptions import CellExecutionError
from packaging.requirements import Requirement
from PIL import Image

from flaxoptim_compat.versions.of_python import read_toml
from tests.generate import notebooks
from tests.support import compiling
from tests.support.options import exhaustive
from tests.support.places import ROOT

PATHS = sorted(notebooks.FOLDER.glob("*.ipynb"))
NAMED = [pytest.param(path, id=path.stem) for path in PATHS]
# One in every run, and the others in an exhaustive one.
FIRST_OFTEN = [
    pytest.param(path, id=path.stem, marks=exhaustive if path is not PATHS[0] else ())
    for path in PATHS
]
PROJECT = read_toml((ROOT / "pyproject.toml").read_text())["project"]
# A notebook may take two minutes with two cores. This is how long one core may work, which does not
# depend on what else the machine does.
LIMIT = 120


def read_notebook(content: str) -> Any:
    return nbformat.reads(content, as_version=nbformat.NO_CONVERT)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", ())]


def pictures(notebook: Any) -> list[bytes]:
    data = [output.get("data", {}) for output in outputs(notebook)]
    return [base64.b64decode(each["image/png"]) for each in data if "image/png" in each]


# Each takes 10 to 20 seconds. Every run of the tests executes notebooks of one cell in the same
# way, and the demo, whose commands one of these shows.
@exhaustive
@pytest.mark.parametrize("path", NAMED)
def test_a_notebook_prints_what_is_committed(path: Path, tmp_path: Path) -> None:
    before = os.times()
    content = notebooks.executed(path.read_bytes(), tmp_path, compiling.variables(devices=1))
    found, committed = (notebooks.comparable(each) for each in (content, path.read_bytes()))
    for cell, expected in zip(found.cells, committed.cells, strict=True):
        assert cell == expected
    assert found == committed
    after = os.times()
    # Windows does not count what children do.
    worked = sum(after[2:4]) - sum(before[2:4])
    assert worked < LIMIT


def of_cells(*cells: Any) -> bytes:
    return nbformat.writes(nbformat.v4.new_notebook(cells=list(cells))).encode()


def test_an_error_in_a_cell_is_one(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell("1 / 0")
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        notebooks.executed(of_cells(cell), tmp_path)


def test_what_differs_from_run_to_run_is_not_kept_but_a_warning_is(tmp_path: Path) -> None:
    source = "import os, sys, warnings\nprint(os.getcwd(), '\\x1b[1mbold\\x1b[0m')\n!echo 1"
    cell = nbformat.v4.new_code_cell(source, id="one", metadata={"collapsed": True, "tags": ["a"]})
    warning = nbformat.v4.new_code_cell("warnings.warn('x')", id="two")
    content = notebooks.executed(of_cells(cell, warning), tmp_path)
    found, _ = read_notebook(content.decode()).cells
    assert found.outputs[0].text == "/content bold\n1\n"
    assert found.id == "one" and found.metadata == {"tags": ["a"]}
    notebook: Any = notebooks.comparable(content)
    assert notebook.cells[1].outputs != []


@pytest.mark.parametrize("path", NAMED)
def test_a_notebook_has_headings_the_installation_and_its_outputs(path: Path) -> None:
    notebook = read_notebook(path.read_text())
    nbformat.validate(notebook)
    heading, install, *others = notebook.cells
    assert heading.cell_type == "markdown" and heading.source.startswith("# ")
    assert install.metadata.tags == ["skip-execution"]
    assert install.source == read_notebook(PATHS[0].read_text()).cells[1].source
    assert [cell for cell in others if "tags" in cell.metadata] == []
    # Headings go down step by step.
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    levels = [len(each) for each in re.findall(r"^(#+) ", "\n".join(texts), re.MULTILINE)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    executed = [cell for cell in others if cell.cell_type == "code"]
    assert [cell.execution_count for cell in executed] == list(range(1, len(executed) + 1))
    assert not any(output.output_type == "error" for output in outputs(notebook))
    assert path.stat().st_size < 300_000


# Each starts a kernel of Jupyter. The cell is the same in all notebooks.
@pytest.mark.parametrize("path", FIRST_OFTEN)
@pytest.mark.parametrize("is_clone", [True, False])
def test_the_installation_is_of_the_clone_or_of_the_index(
    path: Path, is_clone: bool, tmp_path: Path
) -> None:
    source = read_notebook(path.read_text()).cells[1].source
    assert (path.parent / "../..").resolve() == ROOT and '"../.."' in source
    if is_clone:
        (tmp_path / PROJECT["name"]).mkdir()
    pip = nbformat.v4.new_code_cell("get_ipython().register_magic_function(print, 'line', 'pip')")
    folder = tmp_path / "notebooks"
    folder.mkdir()
    content = notebooks.executed(of_cells(pip, nbformat.v4.new_code_cell(source)), folder)
    (output,) = outputs(read_notebook(content.decode()))
    (wanted,) = re.findall(r'^install -q "([^"]+)"$', output.text)
    requirement = Requirement(wanted.replace(str(tmp_path.resolve()), PROJECT["name"]))
    assert (str(tmp_path.resolve()) in wanted) == is_clone
    assert requirement.name == PROJECT["name"]
    assert requirement.extras <= set(PROJECT["optional-dependencies"])


@pytest.mark.parametrize("path", NAMED)
def test_the_pictures_can_be_seen_and_heard(path: Path) -> None:
    notebook = read_notebook(path.read_text())
    for picture in pictures(notebook):
        shown = Image.open(io.BytesIO(picture)).convert("L")
        low, high = shown.getextrema()
        assert min(shown.size) > 300 and high - low > 200
    shown_by = [
        cell for cell in notebook.cells if any("data" in o for o in cell.get("outputs", ()))
    ]
    assert len(shown_by) == len(pictures(notebook)) >= 2
    for cell in shown_by:
        alt = notebooks.alternative(cell)
        assert len(alt) > 50 and alt.endswith(".")
        (output,) = (output for output in cell.outputs if "data" in output)
        assert output.metadata == {"image/png": {"alt": alt}}
