"""The formulas without jax: the stages of each class, and the parameters of what texts call.

They are read off the classes and off optax by ``python -m tests.generate formulas``. A program is
so rewritten in the time that reading it takes; importing jax, flax and optax takes longer.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flaxoptim_compat.catalogue import REQUIRED
from flaxoptim_compat.formula_text.stages import StageText


def stages_of(name: str) -> list[StageText]:
    """The stages of a class as program text, first to last; ``name`` is a row's."""
    return [_stage(each) for each in _record()["stages"][name]]


@functools.cache
def parameters_of(function: str) -> Mapping[str, Any]:
    """The parameters of a function, by the name that texts have for it, with their defaults.

    A default that is no number, no truth value and not None is left out, as if there were none.
    """
    parameters = _record()["parameters"][function]
    return {name: default[0] if default else REQUIRED for name, *default in parameters}


@functools.cache
def _record() -> Any:
    return json.loads(Path(__file__).with_name("recorded.json").read_text("utf-8"))


def _stage(saved: dict[str, Any]) -> StageText:
    fields = dict(saved)
    for name in {"positional", "within"} & saved.keys():
        fields[name] = tuple(saved[name])
    if "otherwise" in saved:
        fields["otherwise"] = _stage(saved["otherwise"])
    return StageText(**fields)
