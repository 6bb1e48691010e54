"""``flaxoptim-compat scan`` finds what a file uses under whatever name, and runs nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.scan import scan

Scan = Callable[..., tuple[int, list[str], str]]

NOTHING = {
    "today's names": "import jax\njax.tree.map(abs, [1])\nfrom flax import linen as nn\nnn.Dense",
    "a name of one's own": "optim = 1\noptim.Adam\njax = 2\nself.tree_map",
    "another package": "from torch import optim\noptim.Adam",
    "a relative import": "from . import optim\nfrom .flax import optim as o\no.Adam",
    "an object of today": "from jax import config\nconfig.x\nimport jax\njax.config.update('x', 1)",
    "a string": "'flax.optim.Adam'",
    "this package": "from flaxoptim_compat import optim\noptim.Adam(0.1)",
}

FOUND = {
    "import flax\nflax.optim.Adam(0.1)": ["2:1 flax.optim.Adam"],
    "import flax.optim\nflax.optim.Adam": ["1:8 flax.optim", "2:1 flax.optim.Adam"],
    "from flax import optim\noptim.Adam": ["1:18 flax.optim", "2:1 flax.optim.Adam"],
    "from flax import optim as o\nx = o.adam.Adam": ["1:18 flax.optim", "2:5 flax.optim.adam.Adam"],
    "from flax.optim import Adam as A\nA(1)": ["1:24 flax.optim.Adam", "2:1 flax.optim.Adam"],
    "from flax.optim import *": ["1:24 flax.optim"],
    "import flax\nclass S:\n  o: flax.optim.Optimizer": ["3:6 flax.optim.Optimizer"],
    "import jax.numpy as jnp\ndef f(x: jnp.DeviceArray): ...": ["2:10 jax.numpy.DeviceArray"],
    "from jax import numpy as jnp\njnp.product(x)": ["2:1 jax.numpy.product"],
    "import jax\njax.tree_map(f, jax.tree_leaves(x))": ["2:1 jax.tree_map", "2:17 jax.tree_leaves"],
    "import jax\njax.ops.index_update(x, jax.ops.index[0], 1)": [
        "2:1 jax.ops.index_update",
        "2:25 jax.ops.index",
    ],
    "from jax.config import config\nconfig.update('x', 1)": ["1:24 jax.config.config"],
    "import jax.config\njax.config.update('x', 1)": ["1:8 jax.config"],
    "import numpy as onp\nonp.float_(1).real": ["2:1 numpy.float_"],
    "f().g(h)\nimport jax\nf(jax.tree_map).x": ["3:3 jax.tree_map"],
}


@pytest.mark.parametrize("source", NOTHING.values(), ids=NOTHING)
def test_nothing_to_find(source: str) -> None:
    assert scan(source.encode()) == []


@pytest.mark.parametrize("source", FOUND)
def test_finds(source: str) -> None:
    found = [f"{use.line}:{use.column} {use.name}" for use in scan(source.encode())]
    assert found == FOUND[source]


def test_names_the_replacement() -> None:
    source = "import jax\nfrom flax import optim\njax.tree_map\noptim.Adam\n"
    replacements = [use.replacement for use in scan(source.encode())]
    assert replacements == ["flaxoptim_compat.optim", "jax.tree.map", "flaxoptim_compat.optim.Adam"]


@pytest.fixture
def scanned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Scan:
    def run(**files: str) -> tuple[int, list[str], str]:
        for name, text in files.items():
            file = tmp_path / name.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.with_suffix(".py").write_text(text)
        status = main(["scan", str(tmp_path)])
        output, errors = capsys.readouterr()
        return status, output.replace(f"{tmp_path}/", "").splitlines(), errors

    return run


def test_the_command(scanned: Scan) -> None:
    status, lines, errors = scanned(
        a="import jax\njax.tree_map\n",
        package__b="import flax\n\nflax.optim.Adam\n",
        c="",
    )
    assert (status, errors) == (1, "")
    assert lines == [
        "a.py:2:1: jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "package/b.py:3:1: flax.optim.Adam, gone since flax 0.6.0: flaxoptim_compat.optim.Adam",
        "2 uses in 2 of 3 files.",
    ]


def test_nothing_found(scanned: Scan) -> None:
    assert scanned(a="1") == (0, ["0 uses in 0 of 1 file."], "")


def test_what_cannot_be_read_is_never_a_clean_bill(scanned: Scan) -> None:
    status, lines, errors = scanned(a="print 'hello'", b="x = 1\0", c="-" * 100_000 + "1")
    assert status == 2
    assert lines == ["0 uses in 0 of 3 files, 3 not read."]
    assert errors.count("not read: ") == 3
    assert "a.py: Missing parentheses in call to 'print'" in errors


def test_it_runs_nothing(scanned: Scan) -> None:
    status, _, _ = scanned(a="raise SystemExit(9)\n", setup="import a")
    assert status == 0


def test_folders_that_are_not_the_program(scanned: Scan) -> None:
    use = "import jax\njax.tree_map"
    folders = ("lib__site-packages__x", "__pycache____x")
    status, lines, _ = scanned(**dict.fromkeys(folders, use), a="")
    assert (status, lines) == (0, ["0 uses in 0 of 1 file."])


def test_a_path_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", str(tmp_path / "missing")]) == 2
    assert f"there is no {tmp_path / 'missing'}." in capsys.readouterr().err


def test_nothing_to_read(scanned: Scan) -> None:
    status, lines, _ = scanned()
    assert (status, lines) == (2, ["0 uses in 0 of 0 files."])
