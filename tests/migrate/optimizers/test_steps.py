"""``optimize``, a gradient and a step in one call, as two statements."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

HEAD = """\
from flax import optim


def train(params, loss_fn, rate):
    optimizer = optim.Adam(0.1).create(params)
"""


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "optimizer, loss = optimizer.optimize(loss_fn)",
            [
                "loss, grads = jax.value_and_grad(loss_fn)(optimizer.params)",
                "optimizer = optimizer.apply_gradients(grads=grads)",
            ],
        ),
        (
            "(optimizer, _, (a, b)) = optimizer.optimize(loss_fn=lambda p: loss_fn(p, 2))",
            [
                "(_, (a, b)), grads = jax.value_and_grad(lambda p: loss_fn(p, 2), has_aux=True)(",
                "    optimizer.params",
                ")",
                "optimizer = optimizer.apply_gradients(grads=grads)",
            ],
        ),
        (
            "grads, grads_2 = optimizer.optimize(loss_fn)  # both",
            [
                "grads_2, grads_3 = jax.value_and_grad(loss_fn)(optimizer.params)",
                "grads = optimizer.apply_gradients(grads=grads_3)  # both",
            ],
        ),
        (
            "optimizer, loss = optimizer.optimize(\n        # what it learns\n        loss_fn)",
            [
                "# what it learns",
                "loss, grads = jax.value_and_grad(loss_fn)(optimizer.params)",
                "optimizer = optimizer.apply_gradients(grads=grads)",
            ],
        ),
    ],
)
def test_one_statement_becomes_two(statement: str, expected: list[str]) -> None:
    text = rewrite(f"{HEAD}    {statement}\n    return optimizer\n", "optax")
    lines = "".join(f"    {line}\n" for line in expected)
    assert text.endswith(f"    )\n{lines}    return optimizer\n")
    assert text.startswith("import jax\nimport optax\n")


def test_the_step_sets_its_rate() -> None:
    text = rewrite(
        f"{HEAD}    optimizer, loss = optimizer.optimize(loss_fn, learning_rate=rate)\n"
        "    return optimizer\n",
        "optax",
    )
    assert (
        "    loss, grads = jax.value_and_grad(loss_fn)(optimizer.params)\n"
        "    optimizer = optimizer.replace(\n"
        "        opt_state=optax.tree_utils.tree_set(optimizer.opt_state, learning_rate=rate)\n"
        "    ).apply_gradients(grads=grads)\n"
    ) in text


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("return optimizer.optimize(loss_fn)", "Its results are not taken apart"),
        ("optimizer, *rest = optimizer.optimize(loss_fn)", "Its results are not taken apart"),
        ("optimizer, a, b, c = optimizer.optimize(loss_fn)", "Its results are not taken apart"),
        ("(optimizer,), a = optimizer.optimize(loss_fn)", "Its results are not taken apart"),
        ("result = optimizer, loss = optimizer.optimize(loss_fn)", "Its results are not taken"),
        ("step = lambda: optimizer.optimize(loss_fn)", "Its results are not taken apart"),
        ("step = optimizer.optimize", "The method is not called where it stands."),
        ("optimizer, a = optimizer.optimize(*loss_fn)", "Its arguments are not written out."),
        (
            "optimizer, a = optimizer.optimize(loss_fn, **rate)",
            "Its arguments are not written out.",
        ),
        (
            "optimizer, a = optimizer.optimize(loss_fn, hyper_params=rate)",
            "It is given hyper-parameters as an object.",
        ),
        (
            "optimizer, a = optimizer.replace(target=params).optimize(loss_fn)",
            "The optimizer has no name, and is needed twice.",
        ),
        ("pass; optimizer, a = optimizer.optimize(loss_fn)", "Its statement shares a line"),
        ("optimizer, a = optimizer.optimize(loss_fn); print(a)", "Its statement shares a line"),
        ("if rate: optimizer, a = optimizer.optimize(loss_fn)", "Its statement shares a line"),
        (
            "optimizer, rate = optimizer.optimize(loss_fn, learning_rate=rate)",
            "A result has the name of something that the step is given",
        ),
        (
            "new, optimizer = optimizer.optimize(loss_fn)",
            "A result has the name of something that the step is given",
        ),
        (
            "new, params.rate = optimizer.optimize(loss_fn, learning_rate=params.rate)",
            "A result has the name of something that the step is given",
        ),
    ],
)
def test_what_cannot_be_two_statements_stays(statement: str, problem: str) -> None:
    text = rewrite(f"{HEAD}    {statement}\n", "optax")
    assert f"# FOC20{'5' if 'not called' in problem else '6'}: {problem}" in text
    assert "TrainState" not in text
