"""Where a variable holds an optimizer that averages its gradients, and where the one before."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite, why_dual

START = """\
import jax
from flax import jax_utils, optim


def train_step(optimizer):
    return optimizer.apply_gradient(optimizer.target)


p_train_step = jax.pmap(train_step, axis_name="batch")


"""
MAKE = "optimizer = optim.Momentum(0.1).create(params)"
COPY = "optimizer = optimizer.replicate()"
STEP = "return p_train_step(optimizer)"


def train(*lines: str) -> str:
    """A function that makes an optimizer first, and then does this."""
    return "".join(f"{line}\n" for line in ("def train(params):", *indented(MAKE, *lines)))


def indented(*lines: str) -> list[str]:
    return [f"    {line}" for each in lines for line in each.splitlines()]


CERTAIN = {
    "in a row": train(COPY, STEP),
    "in a loop afterwards": train(
        COPY, "for _ in range(3):", "    optimizer = p_train_step(optimizer)", "return optimizer"
    ),
    "in both branches": train(
        "if params:",
        *indented(MAKE, COPY, "optimizer = p_train_step(optimizer)"),
        "else:",
        *indented(MAKE.replace("0.1", "0.2"), COPY, "optimizer = p_train_step(optimizer)"),
        "return optimizer",
    ).replace(f"    {MAKE}\n", "", 1),
    "given to a function that makes the copies": (
        f"def on_all_devices(optimizer):\n    {COPY}\n    {STEP}\n\n\n"
        + train("return on_all_devices(optimizer)")
    ),
    "in a field": (
        f"class Trainer:\n    def __init__(self, params):\n        {MAKE}\n        {COPY}\n"
        "        self.optimizer = optimizer\n\n"
        "    def step(self):\n        self.optimizer = p_train_step(self.optimizer)\n"
    ),
    "at the top of a file": (
        f"{MAKE.replace('params', '1.0')}\n{COPY}\nif __name__ == '__main__':\n"
        "    for _ in range(2):\n        optimizer = p_train_step(optimizer)\n"
    ),
}
NOT_CERTAIN = {
    "used before as well": train("train_step(optimizer)", COPY, STEP),
    "in a branch only": train("if params:", f"    {COPY}", STEP),
    "in try": train("try:", f"    {COPY}", "finally:", "    optimizer = p_train_step(optimizer)"),
    "at the top of a file, in a function": (
        f"{MAKE.replace('params', '1.0')}\n\n\ndef train():\n    {STEP}\n\n\n{COPY}\ntrain()\n"
    ),
    "a parameter that a nested function asks": (
        f"def made(optimizer):\n    def step():\n        {STEP}\n\n"
        f"    {COPY}\n    return step()\n\n\n" + train("return made(optimizer)")
    ),
    "set by a nested function": train(
        "def again():", "    nonlocal optimizer", f"    {MAKE}", COPY, "again()", STEP
    ),
    "over axes of two names": train(
        "optimizer = optimizer.replicate(axis_name='i')",
        "p_train_step(optimizer)",
        "optimizer = optimizer.unreplicate()",
        COPY,
        STEP,
    ),
    "in a function that nobody calls here": (
        f"def create(params):\n    {MAKE}\n    return optimizer.replicate()\n\n\n"
        f"def train(optimizer: optim.Optimizer):\n    {STEP}\n"
    ),
}


def asking(expression: str) -> str:
    made = "    optimizer = optim.Momentum(0.1).create(params)\n"
    return f"{START}def f(params):\n{made}    return {expression}\n"


@pytest.mark.parametrize("name", CERTAIN)
def test_what_averages_gets_the_mean(name: str) -> None:
    text = rewrite(START + CERTAIN[name], "optax")
    assert 'apply_gradients(grads=jax.lax.pmean(optimizer.params, "batch"))' in text
    assert "jax_utils.replicate(" in text and "# FOC" not in text


@pytest.mark.parametrize("name", NOT_CERTAIN)
def test_what_may_not_average_is_dual(name: str) -> None:
    text = rewrite(START + NOT_CERTAIN[name], "optax")
    (why,) = {each.reason for each in why_dual(START + NOT_CERTAIN[name])}
    assert why.startswith("The step may average its gradients after")
    assert "apply_gradients" not in text and "TrainState" not in text and "dual(optim." in text


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("replicate()", ""),
        ("replicate(axis_name='batch', devices=None)", ", devices=None"),
        ("replicate(None, 'batch')", ", devices=None"),
    ],
)
def test_devices_are_given_on(call: str, written: str) -> None:
    text = rewrite(asking(f"p_train_step(optimizer.{call})"), "optax")
    assert f"return p_train_step(jax_utils.replicate(optimizer{written}))\n" in text


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        ("replicate(*params)", "The axis of `replicate` is not written out."),
        ("replicate(**params)", "The axis of `replicate` is not written out."),
        ("replicate", "`replicate` is not called where it stands: call the method there."),
        ("unreplicate(0)", "The call of `unreplicate` has other arguments than in flax.optim."),
        (
            "replicate().optimizer_def",
            "`optimizer_def` is asked of an optimizer after",
        ),
    ],
)
def test_what_is_asked_otherwise_is_dual(call: str, problem: str) -> None:
    program = asking(f"optimizer.{call}")
    assert any(each.reason.startswith(problem) for each in why_dual(program))
    assert "dual(optim.Momentum(0.1), inject=False)" in rewrite(program, "optax")


def test_the_first_copy_is_stored_of_an_optimizer_only() -> None:
    text = rewrite(asking("optimizer.replicate().state_dict()"), "optax")
    assert ": `state_dict` is asked of an optimizer after" in text and "dual(" not in text
