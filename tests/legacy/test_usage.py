"""Which legacy names a program uses is counted, and the line at the end of ``run`` says them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy import usage
from tests.support.processes import compat
from tests.support.written_programs import write


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is counted yet, and what was before comes back."""
    monkeypatch.setattr(usage, "counts", Counter())
    monkeypatch.setattr(usage, "imports", Counter())
    monkeypatch.setattr(usage, "imported_files", set())
    with flaxoptim_compat.installed(era=True):
        yield


def run(program: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "program.py", "exec", dont_inherit=True), names)


PROGRAM = """
import jax
from jax import partial, mask
import flax
import jax.numpy as jnp
from flax import optim as optimizers
for _ in range(3):
    jax.tree_multimap(abs, [1])
class State:
    optimizer: flax.optim.Optimizer
optimizers.Adam(0.1), optimizers.Adam(0.2)
hasattr(jax, "tree_nonsense")
x = jnp.arange(3.0)
for _ in range(4):
    jnp.clip(x, 1, 2, None)
jnp.clip(x, min=1)
jnp.clip(x, 1, 2)
x.device().id
jnp.broadcast_to(arr=[1, 2], shape=(2, 2))
"""


def test_names_and_calls_are_counted(counted: None) -> None:
    with pytest.warns(flaxoptim_compat.FlaxOptimDeprecationWarning) as warned:
        run(PROGRAM)
    assert usage.closing_line("program.py", None, "/") == (
        "flaxoptim-compat: used jax.numpy.clip() (4x), jax.tree_multimap (3x), flax.optim.Adam"
        " (2x), jax.partial (1x), jax.mask (1x), flax.optim.Optimizer (1x), jax.Array.device()"
        " (1x), jax.numpy.broadcast_to() (1x). To see where: flaxoptim-compat scan program.py"
    )
    assert usage.closing_line("program.py", 2, "/") == (
        "flaxoptim-compat: used jax.numpy.clip() (4x), jax.tree_multimap (3x) and 6 other names,"
        " which run --verbose lists. To see where: flaxoptim-compat scan program.py"
    )
    lines = {(each.lineno, str(each.message).partition(" ")[0]) for each in warned}
    assert {
        (8, "jax.tree_multimap"),
        (15, "jax.numpy.clip"),
        (19, "jax.numpy.broadcast_to"),
    } <= lines
    assert {each.filename for each in warned} == {"program.py"}


def test_each_name_of_flax_nn_warns_once(tmp_path: Path) -> None:
    program = """
from flax import nn
class Net(nn.Module):
    def apply(self, x):
        return nn.Dense(nn.relu(nn.Dense(x, 3)), 2)
class Other(nn.Module):
    def apply(self, x):
        return nn.Dense(nn.relu(x), 2)
Net.init_by_shape, Other.init_by_shape, nn.Dense, nn.relu, nn.Dense
"""
    write(tmp_path, program=program)
    done = compat(["run", "program.py"], tmp_path)
    used = "flax.nn.Module (2x), flax.nn.Dense (2x), flax.nn.relu (1x)"
    assert f"flaxoptim-compat: used {used}. To see" in done.stderr.splitlines()[-1]
    warned = [line for line in done.stderr.splitlines() if "is gone since" in line]
    warned = [line.removeprefix(f"{tmp_path}/") for line in warned]
    assert [line.partition(": FlaxOptimDeprecationWarning: ")[::2] for line in warned] == [
        (
            "program.py:3",
            "flax.nn.Module is gone since flax 0.4.0. In Linen: subclass flax.linen.Module, turn"
            " the arguments of apply that configure it into annotated fields of the class, and"
            " rename apply to __call__, decorated with flax.linen.compact.",
        ),
        (
            "program.py:9",
            "flax.nn.Dense is gone since flax 0.4.0. In Linen: flax.nn.Dense(inputs, ...) is"
            " flax.linen.Dense(...)(inputs), with use_bias= for bias=.",
        ),
        ("program.py:9", "flax.nn.relu is gone since flax 0.4.0. Use flax.linen.relu instead."),
    ]


def test_names_and_calls_with_lists_that_an_imported_file_used(tmp_path: Path) -> None:
    calls = "reshape([1, 2], newshape=(2, 1))", "broadcast_to(arr=[1, 2], shape=(2, 2))"
    inner = f"from flax import optim\nfrom jax import numpy\noptim.Adam\nnumpy.{calls[0]}\n"
    inner += f"numpy.{calls[1]}\n"
    write(tmp_path, program="import os, inner\nos.chdir('/')", inner=inner)
    done = compat(["run", "program.py"], tmp_path)
    assert done.stderr.endswith(
        "used flax.optim.Adam (1x), jax.numpy.reshape() (1x), jax.numpy.broadcast_to() (1x)."
        " To see where: flaxoptim-compat scan .\n"
    )
    assert done.returncode == 0


def test_a_program_that_failed_before_it_used_any(tmp_path: Path) -> None:
    write(tmp_path, train="import missing_module")
    done = compat(["run", "train.py"], tmp_path)
    assert done.returncode == 1
    assert done.stderr.endswith("flaxoptim-compat: no legacy names were used.\n")


@pytest.mark.parametrize("statement", ["from flax import optim", "import flax.optim"])
def test_a_module_that_is_imported_and_not_used(statement: str, counted: None) -> None:
    run(statement)
    assert usage.closing_line("program.py", 3, "/") == (
        "flaxoptim-compat: used flax.optim (1x). To see where: flaxoptim-compat scan program.py"
    )


@pytest.mark.parametrize(
    ("program", "used", "expected"),
    [
        ("main.py", [], "main.py"),
        ("main.py", ["package/inner.py"], "."),
        ("a b/main.py", ["a b/inner.py"], "'a b'"),
        ("main/main.py", ["library/one.py", "library/two.py"], "main {}/library"),
        ("main/main.py", ["a/one.py", "a-b/one.py", "a/b/one.py"], "main {0}/a {0}/a-b"),
        (".", ["package/inner.py"], "."),
    ],
)
def test_what_to_scan(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    counted: None,
    program: str,
    used: list[str],
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in used:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    usage.counts["flax.optim.Adam"] = 1
    usage.imported_files.update({*(str(tmp_path / name) for name in used), "<string>"})
    expected = expected.format(tmp_path)
    assert usage.closing_line(program, 3, str((tmp_path / program).parent)) == (
        "flaxoptim-compat: used flax.optim.Adam (1x)."
        f" To see where: flaxoptim-compat scan {expected}"
    )
