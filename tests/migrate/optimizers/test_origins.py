"""Where a value comes from is seen, or the text does not show it."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite, why_dual

HEAD = "from flax import optim\nfrom jax.flatten_util import ravel_pytree\n\n\n"
STEPS = (
    "\n\ndef steps(o, g):\n    for n in range(2):\n"
    "        o = o.apply_gradient(g, learning_rate=0.1 / (n + 1))\n    return o\n\n\n"
)

# Programs, each with a rate that is None when the program runs, and the expression for it.
WITHOUT_A_RATE = {
    "a default": (
        "def make(p, rate=None):\n    return optim.Adam(rate, eps=0.1).create(p)\n\n\n"
        "steps(make(P), G)\n",
        "rate",
    ),
    "an attribute": (
        "class T:\n    def __init__(self, p, rate=None):\n        self.rate = rate\n"
        "        self.o = steps(optim.Adam(self.rate, eps=0.1).create(p), G)\n\n\nT(P)\n",
        "self.rate",
    ),
    "an entry": (
        "CONFIG = {'rate': None}\n\n\ndef make(p, config):\n"
        "    return optim.Adam(config['rate'], eps=0.1).create(p)\n\n\nsteps(make(P, CONFIG), G)\n",
        "config['rate']",
    ),
    "an entry that is set elsewhere": (
        "CONFIG = {}\nCONFIG['rate'] = None\n\n\ndef make(p, config):\n"
        "    return optim.Adam(config['rate'], eps=0.1).create(p)\n\n\nsteps(make(P, CONFIG), G)\n",
        "config['rate']",
    ),
    "an attribute of a class": (
        "class T:\n    pass\n\n\nT.rate = None\nsteps(optim.Adam(T.rate, eps=0.1).create(P), G)\n",
        "T.rate",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_A_RATE)
def test_a_rate_that_may_be_none_starts_as_zero(name: str) -> None:
    program, rate = WITHOUT_A_RATE[name]
    text = " ".join(rewrite(f"{HEAD}P, G = load(){STEPS}{program}", "optax").split())
    assert f"learning_rate=0.0 if {rate} is None else {rate}" in text


def test_a_call_whose_result_may_be_none_is_not_made_twice() -> None:
    program = (
        "def rate(at=None):\n    return at\n\n\nsteps(optim.Adam(rate(), eps=0.1).create(P), G)\n"
    )
    text = rewrite(f"{HEAD}P, G = load(){STEPS}{program}", "optax")
    assert "# learning_rate: each step sets it.\n" in text
    assert "learning_rate=rate() or 0.0" in text and text.count("rate()") == 1


def test_a_rate_that_is_a_number_starts_as_it_is() -> None:
    program = (
        "class T:\n    def __init__(self, p, rate=0.1):\n        self.rate = rate\n"
        "        self.o = steps(optim.Adam(self.rate, eps=0.1).create(p), G)\n\n\nT(P)\n"
    )
    text = rewrite(f"{HEAD}P, G = load(){STEPS}{program}", "optax")
    assert "learning_rate=self.rate" in text and "None else" not in text


@pytest.mark.parametrize(
    "target",
    [
        "v = {}\nv['flat'], v['back'] = ravel_pytree(P)\nmade = D.create(v['flat'])\n",
        "class F:\n    def __init__(self):\n        self.flat, self.back = ravel_pytree(P)\n"
        "        self.made = D.create(self.flat)\n",
    ],
)
def test_a_single_array_that_is_unpacked_into_attributes_is_seen(target: str) -> None:
    text = rewrite(f"{HEAD}P = load()\nD = optim.Adam(0.1)\n{target}", "optax")
    assert "Flax's TrainState takes no single array" in text or ".to_train_state(" in text
    assert "train_state.TrainState.create" not in text


def test_a_rate_that_may_be_among_others_starts_as_zero() -> None:
    program = (
        "def build(*args, **kwargs):\n    return optim.Momentum(*args, **kwargs)\n\n\n"
        "steps(build(beta=0.9).create(P), G)\n"
    )
    text = rewrite(f"{HEAD}P, G = load(){STEPS}{program}", "optax")
    assert ".to_train_state(learning_rate=0.0)" in text


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
def test_an_optimizer_in_a_config_dict_is_dual(made: str) -> None:
    program = (
        f"{IMPORTS}def f(p):\n    o = optim.Momentum(0.1).create(p)\n    config = {made}\n"
        "    return config.kept.target\n"
    )
    left = rewrite(program, "optax")
    assert why_dual(program)[0].code == "FOC218"
    assert "dual(optim.Momentum(0.1), inject=False)" in left and left.endswith(
        "return config.kept.target\n"
    )


@pytest.mark.parametrize(
    "kept", ["(p):\n    kept = package.Kept(optim.Momentum(0.1)).get()", "(p, kept):"]
)
def test_where_one_may_be_among_others_these_are_dual(kept: str) -> None:
    program = f"{IMPORTS}{MADE}def f{kept}\n{BOTH.format('kept')}"
    reasons = [each.reason for each in why_dual(program) if each.code == "FOC219"]
    assert "The text does not show whether `definition.create(p)`" in reasons[0]
    left = rewrite(program, "optax")
    assert left.endswith("p).target\n") and "dual(optim.Adam(0.2), inject=False)" in left


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
