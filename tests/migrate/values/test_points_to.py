"""Values are followed to where they are used."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite_all

METHOD = "class Mine:\n    @staticmethod\n    def made():\n        return optim.Adam(0.1)\n"
PROGRAMS = {
    "a variable of another file": ("made = optim.Adam(0.1)\n", "settings.made"),
    "a field of a class": ("class Mine:\n    made = optim.Adam(0.1)\n", "settings.Mine.made"),
    "a field of an instance": ("class Mine:\n    made = optim.Adam(0.1)\n", "settings.Mine().made"),
    "a method of a class": (METHOD, "settings.Mine.made()"),
    "a function in a class, which takes nothing": (
        METHOD.replace("    @staticmethod\n", "") + "\n\nclass Other(Mine):\n    pass\n",
        "settings.Other.made()",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_comes_from_another_file(name: str) -> None:
    made, used = PROGRAMS[name]
    train = (
        f"import settings\n\n\ndef train(params, grads):\n    optimizer = {used}.create(params)\n"
        "    return optimizer.apply_gradient(grads).target\n"
    )
    rewritten = rewrite_all(
        {"settings": f"from flax import optim\n\n\n{made}", "train": train}, "optax"
    )
    assert "optax.adam(0.1)" in rewritten["settings"]
    assert f"tx={used}," in rewritten["train"]
    assert "return optimizer.apply_gradients(grads=grads).params" in rewritten["train"]
