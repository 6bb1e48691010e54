"""Notebooks: cells are one program, lines that are no Python come back, and so does the JSON."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.program.document import parse
from flaxoptim_compat.migrate.program.loading import FoundFile, check_rewritten, load
from flaxoptim_compat.migrate.program.notebooks import Notebook
from flaxoptim_compat.migrate.program.source_text import Unreadable, Unwritable

Sources = str | list[str]


def code(source: Sources) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {"tags": ["ä"]},
        "outputs": [{"text": ["flax.optim: jax.tree_map\n"]}],
        "source": source,
    }


def notebook(*sources: Sources, **options: Any) -> bytes:
    cells = [{"cell_type": "markdown", "metadata": {}, "source": ["import flax\n", "# é"]}]
    content = {
        "cells": cells + [code(each) for each in sources],
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
        "nbformat_minor": 2,
    }
    return (json.dumps(content, **{"indent": 1, "ensure_ascii": False, **options}) + "\n").encode()


def sources_of(content: bytes) -> list[Sources]:
    cells = json.loads(content.decode("utf-8-sig"))["cells"]
    return [cell["source"] for cell in cells if cell["cell_type"] == "code"]


def test_a_cell_that_is_no_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = notebook("import jax\njax.tree_map(f, x)", "x = 1\nprint 'hello'\n", "y = (")
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    assert main(["rewrite", "--to", "shim", "--write", str(path)]) == 2
    output = capsys.readouterr().out.replace(f"{tmp_path}/", "")
    assert "n.ipynb:cell 3:1:1: not read: line 2: Missing parentheses" in output
    assert "n.ipynb:cell 4:1:1: not read: line 1: '(' was never closed" in output
    # What is around it is read, but nothing is written.
    said = " ".join(output.split())
    assert "left alone, with 1 finding (FOC151): a cell of the notebook is no Python" in said
    assert path.read_bytes() == content


def test_a_result_that_cannot_be_read_again_is_a_mistake(tmp_path: Path) -> None:
    content = notebook("import jax\njax.tree_map(f, x)")
    loaded = load(FoundFile(tmp_path / "n.ipynb", "n", False, ""), content)
    check_rewritten(loaded, content)
    with pytest.raises(ValueError, match="the result cannot be read, the file is not JSON"):
        check_rewritten(loaded, content[:-2])


def test_the_magic_that_installs_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "n.ipynb"
    path.write_bytes(
        notebook(
            "x = 1",
            "%time x\n%load_ext flaxoptim_compat\nif x:\n    %reload_ext flaxoptim_compat  # again",
            '%load_ext autoreload\nx = """\n%load_ext flaxoptim_compat\n"""',
        )
    )
    assert main(["scan", "--format", "concise", str(path)]) == 1
    lines = capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()
    assert [line for line in lines if "FOC" in line] == [
        "n.ipynb:cell 3:2:1: FOC111 [*] %load_ext flaxoptim_compat:"
        " nothing, once all files are rewritten",
        "n.ipynb:cell 3:4:5: FOC111 [*] %reload_ext flaxoptim_compat:"
        " nothing, once all files are rewritten",
    ]
    # Other files may need it, as they may need install().
    assert main(["rewrite", "--to", "shim", "--write", str(path)]) == 0
    assert main(["scan", "--ignore", "FOC111", str(path)]) == 0


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("ensure_ascii", [False, True])
@pytest.mark.parametrize("indent", [None, 1, "\t"])
@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_only_the_code_changes(
    tmp_path: Path, as_list: bool, ensure_ascii: bool, indent: Any, end: bytes
) -> None:
    def written(source: str) -> Sources:
        return source.splitlines(keepends=True) if as_list else source

    sources = [
        "%matplotlib inline\nimport jax",
        "# jax.tree_map ü\n\nx = jax.tree_map(f, 'é')\n",
        "",
        "jax.tree_map",
    ]
    options = {"ensure_ascii": ensure_ascii, "indent": indent}
    content = notebook(*map(written, sources), **options).rstrip() + end
    path = tmp_path / "n.ipynb"
    path.write_bytes(content)
    assert main(["rewrite", "--to", "shim", "--write", str(path)]) == 0
    sources[1] = sources[1].replace("= jax.tree_map", "= jax.tree.map")
    sources[3] = "jax.tree.map"
    assert path.read_bytes() == notebook(*map(written, sources), **options).rstrip() + end


def test_new_lines_look_like_the_others() -> None:
    content = notebook(["import jax\n", "x = 1"])
    found = Notebook(content)
    changed = found.encoded(found.text.replace("import jax\n", "import jax\nimport optax\n"))
    assert changed == notebook(["import jax\n", "import optax\n", "x = 1"])
    only = Notebook(notebook(["x"]))
    assert only.encoded("import optax\nx\n") == notebook(["import optax\n", "x"])


def test_line_ends_in_a_cell_stay() -> None:
    content = notebook(["a = 1\r\n", "b = 2\r\n", "c"])
    found = Notebook(content)
    assert found.text == "a = 1\nb = 2\nc\n"
    assert found.encoded("a = 1\nd\nc\n") == notebook(["a = 1\r\n", "d\r\n", "c"])


def test_a_byte_order_mark_stays() -> None:
    content = b"\xef\xbb\xbf" + notebook("x = 1")
    assert Notebook(content).encoded("y = 1\n") == b"\xef\xbb\xbf" + notebook("y = 1")


def test_a_change_across_cells_is_refused() -> None:
    found = Notebook(notebook("x = 1", "y = 2"))
    boundary = "# flaxoptim-compat: cell 3\n"
    assert found.text == f"x = 1\n{boundary}y = 2\n"
    for text in ("x = 1\ny = 2\n", f"x\n{boundary}y\n{boundary}", f"x = 1{boundary}y\n"):
        with pytest.raises(Unwritable, match="the change goes across cells"):
            found.encoded(text)


def test_places() -> None:
    content = notebook(["a\n", "b\n"], "", "c\nd", ["x\n", "y"])
    found = Notebook(content)
    lines = found.text.split("\n")
    json_lines = content.decode().split("\n")
    expected = {"b": (2, 2), "c": (4, 1), "d": (4, 2), "x": (5, 1), "y": (5, 2)}
    for name, (cell, line) in expected.items():
        at = lines.index(name) + 1
        place = found.place(at, 1, at, 2)
        assert place[:5] == (line, 1, line, 2, cell)
        assert name in json_lines[place.file_line - 1]


# What Python does not know stands in a line of its own, and the others where they were.
MAGICS = (
    "%matplotlib inline\nx = 1",
    "!pip install flax \\\n  jax \\\n  optax\nx = 1",
    "if x:\n    !ls\nelse:\n    %cd ..\nx",
    "files = !ls *.py\na, b = %who_ls\nx.y = !ls\nx['a'] = !ls",
    "?x\nx?\nx.y??\n%time?\nx",
    "%%time\nx = 1",
    '"""\n%d\n!no magic\n"""\nx = (1\n% 2)\n%cd x',
    "%time x = f(",
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


@pytest.mark.parametrize("magic", ["%%bash", "%%writefile x.py"])
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


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"{", "the file is not JSON"),
        (b'{"worksheets": [{"cells": []}], "nbformat": 3}', "no notebook of format 4"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"cells": [{"cell_type": "code", "source": [1]}]}', "cell 1 has a source"),
        (b'{"cells": [], "metadata": {"language_info": {"name": "julia"}}}', "is julia"),
        (b'{"cells": "\xe9"}', "byte 0xe9 is not UTF-8"),
    ],
)
def test_what_is_no_notebook(content: bytes, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        Notebook(content)


def test_odd_but_legal_json() -> None:
    content = (
        b'\n{"cells"\t:[ {"source" :"x = 1" , "cell_type":"code"},{"cell_type":"code",'
        b'"source":[ ]},{}, 5 ],"cells":[{"cell_type":"code","source":["y\\u0020= 1\\n" ,"z"]}]} '
    )
    found = Notebook(content)
    assert found.text == "y = 1\nz\n"
    assert found.encoded("y = 1\nw\n") == content.replace(b'"z"', b'"w"')
