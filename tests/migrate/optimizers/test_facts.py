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
