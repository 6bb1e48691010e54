"""Where the classes of flax.optim themselves are used."""

from __future__ import annotations

from tests.support.rewriting_texts import rewrite


def test_an_optimizer_that_is_matched_by_its_fields_stays_one() -> None:
    matched = "match optimizer:\n    case optim.Optimizer(target=found):\n        print(found)\n"
    program = f"from flax import optim\n\noptimizer = optim.Adam(0.1).create({{}})\n{matched}"
    rewritten = rewrite(program, "optax")
    assert rewritten.startswith("from flaxoptim_compat import optim\n")
    assert rewritten.endswith(f"# FOC219: It is matched by its fields.\n{matched}")
