"""Definitions that go into something which is not read, and may come out of it elsewhere."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

IMPORTS = "import package\nfrom flax import optim\nfrom ml_collections import ConfigDict\n\n\n"
MADE = "def made(definition, p):\n    return definition.create(p)\n\n\n"
BOTH = "    return made({}, p).target, made(optim.Adam(0.2), p).target\n"


@pytest.mark.parametrize(
    "kept", ["ConfigDict({'kept': optim.Momentum(0.1)})", "ConfigDict(kept=optim.Momentum(0.1))"]
)
def test_those_in_a_config_dict_stay(kept: str) -> None:
    program = f"{IMPORTS}def f(p):\n    config = {kept}\n    return config.kept.create(p).target\n"
    left = rewrite(program, "optax")
    assert left.endswith("return config.kept.create(p).target\n") and "optim.Momentum(0.1)" in left


@pytest.mark.parametrize("made", ["ConfigDict(kept=o)", "ConfigDict()\n    config.kept = o"])
def test_an_optimizer_in_a_config_dict_stays(made: str) -> None:
    program = (
        f"{IMPORTS}def f(p):\n    o = optim.Momentum(0.1).create(p)\n    config = {made}\n"
        "    return config.kept.target\n"
    )
    left = rewrite(program, "optax")
    assert "# FOC218: " in left and left.endswith("return config.kept.target\n"), left


@pytest.mark.parametrize(
    "kept", ["(p):\n    kept = package.Kept(optim.Momentum(0.1)).get()", "(p, kept):"]
)
def test_where_one_may_be_among_others_these_stay(kept: str) -> None:
    left = rewrite(f"{IMPORTS}{MADE}def f{kept}\n{BOTH.format('kept')}", "optax")
    assert "# FOC219: The text does not show whether `definition.create(p)`" in left
    assert left.endswith("p).target\n") and "optim.Adam(0.2)" in left


def test_a_part_that_is_not_known_leaves_the_whole_as_it_is() -> None:
    program = (
        f"{IMPORTS}def f(p, part):\n"
        "    every = optim.ModelParamTraversal(lambda path, _: True)\n"
        "    none = optim.ModelParamTraversal(lambda path, _: False)\n"
        "    both = optim.MultiOptimizer((every, {}), (none, optim.Adam(0.1)))\n"
        "    return both.create(p).target\n"
    )
    assert "optax.partition(" in rewrite(program.format("optim.Momentum(0.1)"), "optax")
    left = rewrite(program.format("part"), "optax")
    assert left.endswith("    return both.create(p).to_train_state(inject=False).params\n")
    assert "optim.MultiOptimizer((every, part), (none, optim.Adam(0.1)))" in left
