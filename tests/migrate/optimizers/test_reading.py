"""What is used like an optimizer is one."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

CREATE = "from flax import optim\n\nfirst = optim.Adam(0.1).create({})\n\n\n"


@pytest.mark.parametrize("owner", ["optimizer", "state.optimizer"])
def test_a_step_of_something_unknown(owner: str) -> None:
    argument = owner.partition(".")[0]
    step = f"def step({argument}, grads):\n    return {owner}.apply_gradient(grads)\n"
    assert f"return {owner}.apply_gradients(grads=grads)\n" in rewrite(CREATE + step, "optax")


def test_steps_stay_where_it_is_not_seen_what_is_created() -> None:
    program = (
        "import settings\nfrom flax import optim\n\nsettings.made = optim.Adam(0.1)\n\n\n"
        "def train(params, grads):\n    optimizer = settings.made.create(params)\n"
        "    return optimizer.apply_gradient(grads).target\n"
    )
    rewritten = rewrite(program, "optax")
    assert "settings.made = optim.Adam(0.1)\n" in rewritten
    assert "    return optimizer.apply_gradient(grads).target\n" in rewritten
    assert "Nothing in these files makes this optimizer" in rewritten
