"""``flaxoptim_compat/formula_text/recorded.json``: what texts need of the classes and of optax."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flaxoptim_compat import formula_text
from flaxoptim_compat.catalogue import OPTIMIZERS
from flaxoptim_compat.formula_text.stages import SHORTHANDS, StageText
from flaxoptim_compat.optim.formula import parameters_of
from flaxoptim_compat.optim.kinds import KINDS
from flaxoptim_compat.optim.weight_norm import WEIGHT_NORM_CHAIN
from tests.generate.generator import Files, Generator

RECORD = Path(formula_text.__file__).with_name("recorded.json")
# What texts call beside the stages, their shorthands, and optax's namesakes.
ALWAYS = ("optax.chain", "optax.inject_hyperparams", "optax.partition")


def files() -> Files:
    """The record."""
    stages = {kind.__name__: kind.formula.texts for kind in KINDS} | {
        "WeightNorm": WEIGHT_NORM_CHAIN.texts
    }
    named = {name for each in stages.values() for name in functions_in(each)}
    short = {each.function for each in SHORTHANDS.values()}
    namesakes = {f"optax.{row.namesake}" for row in OPTIMIZERS if row.namesake}
    content = {
        "stages": {name: [*map(saved_stage, each)] for name, each in stages.items()},
        "parameters": {
            name: [*saved_parameters(parameters_of(name))]
            for name in sorted({*named, *short, *namesakes, *ALWAYS})
        },
    }
    return {RECORD: f"{json.dumps(content, indent=1)}\n".encode()}


def functions_in(stages: Sequence[StageText]) -> Iterator[str]:
    """The functions that make these stages, and those that take their place."""
    for each in stages:
        yield each.function
        if each.otherwise is not None:
            yield from functions_in([each.otherwise])


def saved_stage(stage: StageText) -> dict[str, Any]:
    """What the record has of a stage: what is not as it mostly is."""
    return {
        name: saved_stage(each) if isinstance(each, StageText) else each
        for name, each in vars(stage).items()
        if each
    }


def saved_parameters(parameters: Mapping[str, Any]) -> Iterator[list[Any]]:
    """Each parameter with its default, if that is one that a text can have."""
    for name, default in parameters.items():
        yield [name, default] if default is None or isinstance(default, _PLAIN) else [name]


_PLAIN = (bool, int, float, str)

GENERATOR = Generator("formula_text/recorded.json: the formulas of the classes, and optax", files)
