"""Definitions that go into something which is not read, and may come out of it elsewhere."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

IMPORTS = (
    "import package\nfrom flax import optim\n"
    "from ml_collections import ConfigDict, FrozenConfigDict\n\n\n"
)
MADE = "def made(definition, p):\n    return definition.create(p)\n\n\n"
BOTH = "    return made({}, p).target, made(optim.Adam(0.2), p).target\n"


@pytest.mark.parametrize(
    ("kept", "taken"),
    [
        ("ConfigDict({'kept': optim.Momentum(0.1)})", "config.kept"),
        ("ConfigDict(kept=optim.Momentum(0.1))", "config['kept']"),
        ("ConfigDict(dict(inner=dict(kept=optim.Momentum(0.1))))", "config.inner.kept"),
        ("FrozenConfigDict(ConfigDict({'kept': optim.Momentum(0.1)}))", "config.kept"),
        ("ConfigDict(dict(make=lambda rate: optim.Momentum(rate)))", "config.make(0.1)"),
    ],
)
def test_those_in_a_config_dict_are_followed(kept: str, taken: str) -> None:
    program = f"{IMPORTS}{MADE}def f(p):\n    config = {kept}\n{BOTH.format(taken)}"
    text = rewrite(program, "optax")
    assert text.endswith("p).params\n") and "optax.sgd(" in text and "optim.M" not in text


def test_a_field_of_a_config_dict_is_followed() -> None:
    program = (
        f"{IMPORTS}def f(p):\n    config = ConfigDict()\n    config.kept = optim.Momentum(0.1)\n"
        "    config.optimizer = config.kept.create(p)\n    return config['optimizer'].target\n"
    )
    assert rewrite(program, "optax").endswith("return config['optimizer'].params\n")


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
