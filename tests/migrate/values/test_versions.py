"""Where a variable holds an optimizer that averages its gradients, and where the one before."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.rewriting_texts import rewrite

START = """\
import jax
from flax import jax_utils, optim


def train_step(optimizer):
    return optimizer.apply_gradient(optimizer.target)


p_train_step = jax.pmap(train_step, axis_name="batch")


"""
CERTAIN = {
    "in a row": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "with a value of its own at once": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params).replicate()
            return p_train_step(optimizer)
        """,
    "in a loop afterwards": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate()
            for _ in range(3):
                optimizer = p_train_step(optimizer)
            return optimizer
        """,
    "in with": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            with jax.disable_jit(False):
                optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "in a branch, and used there": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            if params:
                optimizer = optimizer.replicate()
                return p_train_step(optimizer)
            return optimizer
        """,
    "in both branches": """
        def train(params):
            if params:
                optimizer = optim.Momentum(0.1).create(params)
                optimizer = optimizer.replicate()
                optimizer = p_train_step(optimizer)
            else:
                optimizer = optim.Momentum(0.2).create(params)
                optimizer = optimizer.replicate()
                optimizer = p_train_step(optimizer)
            return optimizer
        """,
    "asked in a comprehension": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate()
            return [p_train_step(optimizer) for _ in range(2)]
        """,
    "given to a function that makes the copies": """
        def on_all_devices(optimizer):
            optimizer = optimizer.replicate()
            return p_train_step(optimizer)


        def train(params):
            return on_all_devices(optim.Momentum(0.1).create(params))
        """,
    "given to a function as a definition": """
        def made(optimizer, params):
            optimizer = optimizer.create(params)
            optimizer = optimizer.replicate()
            return [p_train_step(optimizer) for _ in range(2)]


        def train(params):
            return made(optim.Momentum(0.1), params)
        """,
    "in a field": """
        class Trainer:
            def __init__(self, params):
                optimizer = optim.Momentum(0.1).create(params)
                optimizer = optimizer.replicate()
                self.optimizer = optimizer

            def step(self):
                self.optimizer = p_train_step(self.optimizer)
        """,
    "in a tuple": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate()
            both = optimizer, params
            return p_train_step(both[0])
        """,
    "at the top of a file": """
        optimizer = optim.Momentum(0.1).create(1.0)
        optimizer = optimizer.replicate()
        if __name__ == "__main__":
            for _ in range(2):
                optimizer = p_train_step(optimizer)
        """,
    "by another name": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            copies = optimizer.replicate()
            return p_train_step(copies)
        """,
}
NOT_CERTAIN = {
    "used before as well": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            train_step(optimizer)
            optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "in a branch only": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            if params:
                optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "in a loop": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            for _ in range(2):
                optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "in try": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            try:
                optimizer = optimizer.replicate()
            finally:
                optimizer = p_train_step(optimizer)
        """,
    "at the top of a file, in a function": """
        optimizer = optim.Momentum(0.1).create(1.0)


        def train():
            return p_train_step(optimizer)


        optimizer = optimizer.replicate()
        train()
        """,
    "asked in a nested function": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)

            def step():
                return p_train_step(optimizer)

            optimizer = optimizer.replicate()
            return step()
        """,
    "a parameter that a nested function asks": """
        def made(optimizer):
            def step():
                return p_train_step(optimizer)

            optimizer = optimizer.replicate()
            return step()


        def train(params):
            return made(optim.Momentum(0.1).create(params))
        """,
    "a parameter in one branch": """
        def made(optimizer, params):
            if params:
                optimizer = optimizer.replicate()
            return p_train_step(optimizer)


        def train(params):
            return made(optim.Momentum(0.1).create(params), params)
        """,
    "asked in a generator": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            steps = (p_train_step(optimizer) for _ in range(2))
            optimizer = optimizer.replicate()
            return next(steps), optimizer
        """,
    "set by a nested function": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)

            def again():
                nonlocal optimizer
                optimizer = optim.Momentum(0.1).create(params)

            optimizer = optimizer.replicate()
            again()
            return p_train_step(optimizer)
        """,
    "of the whole file": """
        def train(params):
            global optimizer
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "by flax.jax_utils in the other branch": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            if params:
                optimizer = jax_utils.replicate(optimizer)
            else:
                optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "over axes of two names": """
        def train(params):
            optimizer = optim.Momentum(0.1).create(params)
            optimizer = optimizer.replicate(axis_name="i")
            p_train_step(optimizer)
            optimizer = optimizer.unreplicate()
            optimizer = optimizer.replicate()
            return p_train_step(optimizer)
        """,
    "in a function that nobody calls here": """
        def create(params):
            optimizer = optim.Momentum(0.1).create(params)
            return optimizer.replicate()


        def train(optimizer: optim.Optimizer):
            return p_train_step(optimizer)
        """,
}


def program(text: str) -> str:
    return START + textwrap.dedent(text).lstrip()


def asking(expression: str) -> str:
    made = "    optimizer = optim.Momentum(0.1).create(params)\n"
    return f"{START}def f(params):\n{made}    return {expression}\n"


@pytest.mark.parametrize("name", CERTAIN)
def test_what_averages_gets_the_mean(name: str) -> None:
    text = rewrite(program(CERTAIN[name]), "optax")
    assert 'apply_gradients(grads=jax.lax.pmean(optimizer.params, "batch"))' in text
    assert "jax_utils.replicate(" in text and "# FOC" not in text


@pytest.mark.parametrize("name", NOT_CERTAIN)
def test_what_may_not_average_stays(name: str) -> None:
    text = rewrite(program(NOT_CERTAIN[name]), "optax")
    assert "    # FOC205: The step may average its gradients after" in text
    assert "apply_gradients" not in text and "TrainState" not in text


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("replicate()", ""),
        ("replicate(jax.devices())", ", devices=jax.devices()"),
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
        ("replicate(axis_name=params)", "The axis of `replicate` is not written out."),
        ("replicate(*params)", "The axis of `replicate` is not written out."),
        ("replicate(**params)", "The axis of `replicate` is not written out."),
        ("replicate", "The method is not called where it stands."),
        ("unreplicate(0)", "The arguments are not those of flax.optim."),
        ("replicate().state_dict()", "`state_dict` is asked of an optimizer after"),
        ("replicate().state", "`state` is asked of an optimizer after"),
        (
            "replicate().optimizer_def",
            "`optimizer_def` is asked of an optimizer after",
        ),
    ],
)
def test_what_is_asked_otherwise_stays(call: str, problem: str) -> None:
    text = rewrite(asking(f"optimizer.{call}"), "optax")
    assert f": {problem}" in text and "TrainState" not in text
