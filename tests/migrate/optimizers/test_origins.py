"""Where a value comes from is seen through attributes, arguments, entries and what is unpacked."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

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
