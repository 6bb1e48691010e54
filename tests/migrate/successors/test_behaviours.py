"""Methods of FrozenDicts, rewritten, do to them and to dicts what they did."""

from __future__ import annotations

from typing import Any

import numpy as np
from flax.core import FrozenDict, unfreeze

from tests.legacy.cases.old_names import encode
from tests.migrate.successors.old_code import run
from tests.support.rewriting_texts import rewrite_alone

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
