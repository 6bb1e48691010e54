"""What a program does with optimizers and their classes, told by the field that it names."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite


def test_an_optimizer_that_is_matched_by_its_fields_stays_one() -> None:
    matched = "match optimizer:\n    case optim.Optimizer(target=found):\n        print(found)\n"
    program = f"from flax import optim\n\noptimizer = optim.Adam(0.1).create({{}})\n{matched}"
    rewritten = rewrite(program, "optax")
    assert rewritten.startswith("from flaxoptim_compat import optim\n")
    assert rewritten.endswith(f"# FOC219: It is matched by its fields.\n{matched}")


OPTIMIZER = "from flax import optim\n\noptimizer = optim.Adam(0.1).create({})\n"


def test_the_whole_state_is_that_of_flax_again() -> None:
    rewritten = rewrite(f"{OPTIMIZER}print(optimizer.state)\n", "optax")
    assert "optim.Adam(0.1).create({}).to_train_state(inject=False)\n" in rewritten
    assert "print(optim.Optimizer.from_train_state(optimizer).state)\n" in rewritten


@pytest.mark.parametrize(
    ("given", "name"), [("**changes", "**"), ("target=x, optimizer_def=y", "optimizer_def")]
)
def test_what_a_train_state_has_not_is_not_replaced(given: str, name: str) -> None:
    step = f"optimizer = optimizer.replace({given})\n"
    mark = f"# FOC207: A TrainState has no `{name}` to replace.\n"
    rewritten = rewrite(OPTIMIZER + step, "optax")
    assert rewritten.endswith(f"optimizer = optim.Adam(0.1).create({{}})\n{mark}{step}")
