"""``migration_guide/checkpoints.md``: its commands print what it shows, and its code runs."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.checkpoint_conversion.convert import ConversionSettings, convert
from flaxoptim_compat.checkpoint_files.stored import StoredArray, array_in_memory
from flaxoptim_compat.cli import main
from tests.support.places import ROOT
from tests.support.processes import compat

KERNEL = optim.ModelParamTraversal(lambda path, _: path.endswith("P"))
BIAS = optim.ModelParamTraversal(lambda path, _: path.endswith("Q"))

# Under the headings of the guide: parameters, and the definition that moves them.
MATRIX = {"P": jnp.ones((4, 6))}
BOTH = {"P": jnp.ones((4, 6)), "Q": jnp.ones(6)}
MAPS: dict[str, tuple[Any, Any]] = {
    "GradientDescent": (MATRIX, optim.GradientDescent(0.1)),
    "Momentum": (MATRIX, optim.Momentum(0.1)),
    "LARS": (MATRIX, optim.LARS(0.1)),
    "Adam": (MATRIX, optim.Adam(0.1)),
    "AdaBelief": (MATRIX, optim.AdaBelief(0.1)),
    "LAMB": (MATRIX, optim.LAMB(0.1)),
    "RMSProp": (MATRIX, optim.RMSProp(0.1)),
    "RMSProp(centered=True)": (MATRIX, optim.RMSProp(0.1, centered=True)),
    "Adadelta": (MATRIX, optim.Adadelta(0.1)),
    "Adagrad": (MATRIX, optim.Adagrad(0.1)),
    "Adafactor": (MATRIX, optim.Adafactor(0.1)),
    "Adafactor(beta1=0.9)": (MATRIX, optim.Adafactor(0.1, beta1=0.9)),
    "WeightNorm(Momentum)": (BOTH, optim.WeightNorm(optim.Momentum(0.1))),
    "create(focus=...)": (BOTH, optim.MultiOptimizer((KERNEL, optim.Momentum(0.1)))),
    "MultiOptimizer": (
        BOTH,
        optim.MultiOptimizer((KERNEL, optim.Momentum(0.1)), (BIAS, optim.RMSProp(0.1))),
    ),
}


# What all optimizers have in common, and the guide says once.
COMMON = (
    ("target/P", "params/P"),
    ("target/Q", "params/Q"),
    ("nothing", "opt_state/hyperparams/learning_rate"),
)


def field_map(name: str) -> list[tuple[str, str]]:
    """The rows of the table of an optimizer: legacy path, and paths in the TrainState."""
    params, definition = MAPS[name]
    legacy = _stored(serialization.to_state_dict(definition.create(params)))
    state, _ = convert(legacy, ConversionSettings("train-state", definitions=definition))
    places: dict[int, list[str]] = {}
    for path, leaf in _leaves(state):
        places.setdefault(id(leaf), []).append(path)
    rows = [(path, ", ".join(places.pop(id(leaf), ["nothing"]))) for path, leaf in _leaves(legacy)]
    return rows + [("nothing", ", ".join(paths)) for paths in places.values()]


def table(name: str) -> str:
    """The same as a table of the guide."""
    rows = ["| legacy | TrainState |", "| --- | --- |"]
    for cells in field_map(name):
        if cells in COMMON:
            continue
        quoted = [
            ", ".join(part if part == "nothing" else f"`{part}`" for part in cell.split(", "))
            for cell in cells
        ]
        rows.append(f"| {quoted[0]} | {quoted[1]} |")
    return "\n".join(rows)


def _stored(tree: Any) -> Any:
    if isinstance(tree, Mapping):
        return {name: _stored(child) for name, child in tree.items()}
    return array_in_memory(np.asarray(tree)) if isinstance(tree, jax.Array) else tree


def _leaves(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(tree, Mapping):
        for name, child in tree.items():
            yield from _leaves(child, f"{path}/{name}")
    elif isinstance(tree, StoredArray):
        yield path[1:], tree


GUIDE = (ROOT / "migration_guide" / "checkpoints.md").read_text()
BLOCK = re.compile(r"^```(py|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.exhaustive
def test_the_commands_print_what_is_shown_and_the_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(GUIDE)]
    assert [language for language, _ in blocks].count("sh") == 10
    for number, (language, text) in enumerate(blocks):
        if language == "py" and (file := re.match(r"# (\w+\.py)\n", text)):
            (tmp_path / file[1]).write_text(text)
            assert compat(["run", file[1]], tmp_path).returncode == 0
        elif language == "py":
            exec(compile(text, "<example>", "exec"), {"__name__": "example"})
        elif language == "sh":
            program, *arguments = shlex.split(text)
            assert program == "flaxoptim-compat"
            status = main(arguments)
            out, err = capsys.readouterr()
            if blocks[number + 1][0] == "text":
                assert blocks[number + 1][1] == (out or err)
            else:
                assert status == 0, err
    for name in ("new", "today"):
        del sys.modules[name]


@pytest.mark.parametrize("name", MAPS)
def test_the_field_maps_are_those_of_the_code(name: str) -> None:
    section = GUIDE.partition(f"\n### {name}\n")[2].partition("\n###")[0]
    assert section.rstrip().endswith(table(name))


def test_every_optimizer_has_a_map_with_the_rows_that_all_have() -> None:
    assert re.findall(r"^### (.*)$", GUIDE, re.MULTILINE) == list(MAPS)
    for legacy, state in (COMMON[0], COMMON[2]):
        cells = [cell if cell == "nothing" else f"`{cell}`" for cell in (legacy, state)]
        assert f"| {cells[0]} | {cells[1]} |" in GUIDE
    for name in MAPS:
        assert (COMMON[0] in field_map(name)) and (
            COMMON[2] in field_map(name) or name == "MultiOptimizer"
        )
