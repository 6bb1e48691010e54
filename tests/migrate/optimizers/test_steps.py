"""Steps of an optimizer as those of a TrainState, with the same numbers."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import in_one_line_each, rewrite, why_dual

HEAD = """\
from flax import optim


def train(params, loss_fn, rate):
    optimizer = optim.Adam(0.1).create(params)
"""


@pytest.mark.parametrize(
    "statement",
    ["optimizer, loss = optimizer.optimize(loss_fn, learning_rate=rate)", "optimizer.optimize"],
)
def test_a_method_that_returns_the_loss_too_is_of_a_dual_state(statement: str) -> None:
    program = f"{HEAD}    {statement}\n"
    (why,) = why_dual(program)
    assert why.reason.startswith("`optimize` returns the loss as well: write")
    text = rewrite(program, "optax")
    assert f"    {statement}\n" in text and "TrainState" not in text and "dual(optim." in text


STEP = "    return optimizer.apply_gradient(loss_fn(params), learning_rate=rate)\n"
FILTERED = 'lambda path, _: "hyperparams" in str(path)'


@pytest.mark.parametrize(
    ("line", "is_filtered"),
    [
        ("params = {'learning_rate': loss_fn(1), 'w': params}", True),
        ("params = dict(learning_rate=loss_fn(1), w=params)", True),
        ("params = module.param('learning_rate', loss_fn, ())", True),
        ("module = nn.Dense(3, name='learning_rate')", True),
        ("config = {'learning_rate': 0.1}", False),
        ("config = dict(learning_rate=0.1)", False),
        ("other = loss_fn(learning_rate=params)", False),
    ],
)
def test_moments_of_a_parameter_with_that_name_are_not_set(line: str, is_filtered: bool) -> None:
    text = rewrite(f"{HEAD}    {line}\n{STEP}", "optax").replace("'", '"')
    assert ".tree_utils.tree_set(" in text
    assert (FILTERED in text) == is_filtered


CHANGES = """\
from flax import optim


def call(function):
    return function()


def grads_of(trainer):
    trainer.rate /= 2
    return trainer.optimizer.target


class Trainer:
    def __init__(self, params):
        self.rate = 0.1
        self.optimizer = optim.Adam(0.1).create(params)

    def grads(self):
        return grads_of(self)

    def step(self):
        self.optimizer = self.optimizer.apply_gradient(GRADS, learning_rate=self.rate)
"""


@pytest.mark.parametrize(
    "grads", ["self.grads()", "call(self.grads)", "call(lambda: self.grads())", "grads_of(self)"]
)
def test_gradients_that_may_change_the_rate_are_computed_before_it(grads: str) -> None:
    text = rewrite(CHANGES.replace("GRADS", grads), "optax")
    assert "optim.Optimizer.from_train_state(self.optimizer)" in in_one_line_each(text)
    assert "tree_set" not in text
    text = rewrite(CHANGES.replace("GRADS", "self.optimizer.target"), "optax")
    assert "tree_set" in text and "from_train_state" not in text


_GIVEN = "def given(o, r):\n    return o.apply_gradient(grads(o.target), learning_rate={})\n"


@pytest.mark.parametrize(
    ("grads", "rate", "is_kept"),
    [
        ("    global steps\n    steps += 1\n    return p\n", "rate()", True),
        ("    return np.random.randn(*p.shape)\n", "np.random.rand()", True),
        ("    return draws.randn(*p.shape)\n", "draws.rand()", True),
        ("    draws.seed(1)\n    return p\n", "r", False),
        ("    counted.n += 1\n    return p\n", "rate()", True),
        ("    return other(p)\n", "rate()", True),
        ("    return p\n", "counted.pop('n')", True),
        ("    counted['n'] = 1\n    return p\n", "counted['n']", True),
        ("    global steps\n    steps = 1\n    return p\n", "steps", True),
        ("    return p + counted.draws.normal()\n", "rate()", True),
    ],
)
def test_a_rate_is_not_computed_before_gradients_that_may_change_it(
    grads: str, rate: str, is_kept: bool
) -> None:
    program = (
        "import numpy as np\nfrom flax import optim\n\nsteps = 0\n"
        "draws = np.random.RandomState(0)\ncounted = {}\n\n\n"
        "def other(p):\n    draws.seed(1)\n    return p\n\n\n"
        "def rate():\n    return 0.1 / (1 + steps)\n\n\n"
        f"def grads(p):\n{grads}\n\n{_GIVEN.format(rate)}\n\n"
        "def f(p, r):\n    return given(optim.Momentum(0.1).create(p), r).target\n"
    )
    text = rewrite(program, "optax")
    assert text.endswith(".params\n")
    assert ("optim.Momentum(0.1)" in text) is is_kept


@pytest.mark.parametrize("grads", ["self.loss(o.target)", "jax.grad(self.loss)(o.target)"])
def test_a_method_may_change_what_the_step_is_given(grads: str) -> None:
    program = (
        "import jax\nfrom flax import optim\n\n\nclass Trainer:\n"
        "    def __init__(self, lr):\n        self.lr = lr\n\n"
        "    def loss(self, p):\n        self.lr /= 2\n        return p.sum()\n\n"
        "    def step(self, p):\n"
        "        o = optim.Momentum(0.1).create(p)\n"
        f"        return o.apply_gradient({grads}, learning_rate=self.lr)\n"
    )
    assert "optim.Momentum(0.1)" in rewrite(program, "optax")


@pytest.mark.parametrize("signature", ["lr=None", "lr"])
def test_a_rate_that_a_parameter_may_have_is_set_in_each_step(signature: str) -> None:
    text = (
        "from flax import optim\n\ndef rate_at(step):\n    return 0.1 / (1 + step)\n\n"
        "def make(params):\n    return optim.Adam(0.1).create(params)\n\n"
        f"def step(optimizer: optim.Optimizer, grads, {signature}):\n"
        "    if lr is None:\n        lr = rate_at(optimizer.state.step)\n"
        "    return optimizer.apply_gradient(grads, learning_rate=lr)\n"
    )
    new = rewrite(text, "optax")
    assert "learning_rate=lr" in new and "optax.adam(rate_at)" not in new
