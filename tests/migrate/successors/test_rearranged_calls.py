"""Updates of ``jax.ops``, rewritten as methods, compute what they did."""

from __future__ import annotations

import pytest

from tests.legacy.cases.jax_updates import UPDATES
from tests.legacy.cases.old_names import encode
from tests.migrate.successors.old_code import run, run_as_it_was
from tests.support.rewriting_texts import rewrite_alone


@pytest.mark.parametrize("name", ["update", "add", "mul", "min", "max"])
def test_updates_compute_what_they_did(name: str) -> None:
    text = f"import jax\ndef f(x, i, y):\n    return jax.ops.index_{name}(x, i, y)\n"
    text += "result = [f(*each) for each in cases]\n"
    new = rewrite_alone(text)
    assert ".at[i]." in new
    with_order = [x for what, x in UPDATES.items() if what != "complex numbers"]
    assert encode(run(new, cases=with_order)) == encode(run_as_it_was(text, cases=with_order))
