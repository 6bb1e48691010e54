"""What is otherwise today: rewritten programs do what the old ones do under ``install``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from flax.core import FrozenDict, unfreeze

from flaxoptim_compat.legacy.took_lists import TOOK_LISTS
from tests.legacy.cases.lists import ARGUMENTS
from tests.legacy.cases.old_names import encode
from tests.migrate.successors.old_code import run, run_as_it_was
from tests.support.processes import output_of
from tests.support.rewriting_texts import rewrite_alone


def written(value: Any, names: dict[str, Any]) -> str:
    """A list as it is written in a program; arrays in it have names."""
    if isinstance(value, list | tuple):
        start, end = ("[", "]") if isinstance(value, list) else ("(", ",)")
        return f"{start}{', '.join(written(each, names) for each in value)}{end}"
    if isinstance(value, int | float | None):
        return repr(value)
    names[f"array_{len(names)}"] = value
    return f"array_{len(names) - 1}"


def test_functions_take_lists_as_they_did() -> None:
    names: dict[str, Any] = {}
    lines = [f"import {module}" for module in TOOK_LISTS]
    lines.append("result = {}")
    for function, arguments in ARGUMENTS.items():
        call = ", ".join(written(each, names) for each in arguments)
        lines.append(f"result['{function}'] = {function}({call})")
    text = "\n".join([*lines, ""])
    new = rewrite_alone(text)
    assert all("asarray(" in each for each in new.split("result['")[1:])
    results, expected = run(new, **names), run_as_it_was(text, **names)
    for function, value in expected.items():
        assert encode(results[function]) == encode(value), function


CHECKPOINTS = """
import flax.serialization
from flax.training import checkpoints
import os
import warnings

warnings.simplefilter("ignore")
checkpoints.save_checkpoint("work", {"a": 1}, 3)
print(os.path.isfile("work/checkpoint_3"), checkpoints.restore_checkpoint("work", None))
"""


def test_checkpoints_are_msgpack_files_at_relative_paths(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(rewrite_alone(CHECKPOINTS))
    assert output_of(["program.py"], tmp_path) == "True {'a': 1}\n"


VECTOR = np.linspace(-2.5, 4.0, 7).astype(np.float32)

VARIABLES: dict[str, Any] = {"params": {"a": {"w": VECTOR}}, "batch_stats": {"mean": 1.0}}
METHODS = (
    "import flax\n"
    "def f(variables):\n"
    "    state, params = variables.pop('params')\n"
    "    again = state.copy({'params': params})\n"
    "    mutable = again.unfreeze()\n"
    "    mutable['params']['a']['w'] = 2\n"
    "    return dict(enumerate([state, params, again, mutable, variables.pop('batch_stats')[1]]))\n"
    "result = f(variables)\n"
)


def test_methods_of_frozen_dicts_do_what_they_did_to_both() -> None:
    new = rewrite_alone(METHODS)
    expected = run(METHODS, variables=FrozenDict(VARIABLES))
    frozen = run(new, variables=FrozenDict(VARIABLES))
    assert [type(each) for each in frozen.values()] == [type(each) for each in expected.values()]
    assert encode(unfreeze(frozen)) == encode(unfreeze(expected))
    plain = run(new, variables=VARIABLES)
    assert {type(each) for each in plain.values()} == {dict}
    assert encode(plain) == encode(unfreeze(expected))
    assert VARIABLES["params"]["a"]["w"] is VECTOR
