"""Lines and cells of notebooks that are no Python: they are read as such, and come back."""

from __future__ import annotations

import pytest

from flaxoptim_compat.migrate.program.document import parse
from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import Unwritable
from tests.support.notebooks import notebook, sources_of

# What Python does not know stands in a line of its own, and the others where they were.
MAGICS = (
    "%matplotlib inline\nx = 1",
    "!pip install flax \\\n  jax \\\n  optax\nx = 1",
    "if x:\n    !ls\nelse:\n    %cd ..\nx",
    "files = !ls *.py\na, b = %who_ls\nx.y = !ls\nx['a'] = !ls",
    "?x\nx?\nx.y??\n%time?\nx",
    "%%time\nx = 1",
    "%%capture out\n!ls\nx",
    "\n%%timeit -n 1\nx",
    '"""\n%d\n!no magic\n"""\nx = (1\n% 2)\n%cd x',
    "%time x = f(",
    "!echo '(' \"\nx",
)


@pytest.mark.parametrize("source", MAGICS)
def test_magics_are_harmless_and_come_back(source: str) -> None:
    content = notebook(source.splitlines(keepends=True))
    found = Notebook(content)
    assert not found.broken
    assert found.text.count("\n") == source.count("\n") + 1
    tree = parse(found.text)
    for line, old in zip(found.text.split("\n"), source.split("\n"), strict=False):
        assert line == old or "# flaxoptim-compat: cell 2, magic " in line
    assert found.encoded(found.text) == content
    # The rest can change without them.
    if "x = 1" in source:
        assert tree.body
        changed = found.encoded(found.text.replace("x = 1", "y = 2\nz = 3"))
        assert "".join(sources_of(changed)[0]) == source.replace("x = 1", "y = 2\nz = 3")


@pytest.mark.parametrize("magic", ["%%bash", "%%html", "%%writefile x.py", "%%javascript"])
def test_cells_in_other_languages_are_no_python(magic: str) -> None:
    found = Notebook(notebook("x = 1", f"{magic}\nfrom flax import optim\n<b>"))
    assert found.text == "x = 1\n"
    ((place, why),) = found.unknown
    assert (place.cell, place.line) == (3, 2)
    assert why == "a cell in another language names flax.optim"


def test_a_change_of_a_magic_is_refused() -> None:
    found = Notebook(notebook("%%time\nx = 1"))
    lines = found.text.splitlines()
    for text in ("x = 1\n", f"import optax\n{found.text}", f"{found.text}{lines[0]}\n"):
        with pytest.raises(Unwritable, match="the change touches a magic of cell 2"):
            found.encoded(text)
