"""An optimizer stays what it is where it is given to a function that is not read."""

from __future__ import annotations

import pytest

from tests.support.followed import assert_left
from tests.support.rewriting_texts import rewrite

IMPORTS = "import functools\nimport jax\nimport package\n"


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ("functools.partial(package.asked, a)()", "an optimizer"),
        ("list(map(package.asked, [a, b]))", "an object that holds an optimizer"),
        ("functools.reduce(package.asked, g, a)", "an optimizer"),
        ("sorted([a, b], key=package.asked)[0]", "an object that holds an optimizer"),
        ("jax.lax.scan(package.asked, a, g)[0]", "an optimizer"),
        ("jax.lax.fori_loop(0, n, package.asked, a)", "an optimizer"),
        (
            "jax.lax.while_loop(lambda o: True, functools.partial(package.asked, n), a)",
            "an optimizer",
        ),
        ("jax.lax.cond(n, lambda o: o, package.asked, a)", "an optimizer"),
        ("jax.jit(package.asked)(a)", "an optimizer"),
        ("jax.tree_util.tree_map(package.asked, a, is_leaf=lambda x: x is a)", "an optimizer"),
    ],
)
def test_it_is_so_by_what_calls_that_function_too(given: str, holds: str) -> None:
    reason = f"may give {holds} to package.asked, which may expect an Optimizer."
    assert_left(IMPORTS, "", f"package.kept = {given}\n    x = a", reason)


@pytest.mark.parametrize("given", ["C(a)", "C(of=a)"])
def test_it_is_so_by_a_class_that_a_package_constructs(given: str) -> None:
    top = "class C(package.Trainer):\n    def asked(self):\n        return self.of\n"
    reason = "` may give an optimizer to package.Trainer, which may expect an Optimizer."
    assert_left(IMPORTS, top, f"{given}.run()\n    x = a", reason)


@pytest.mark.parametrize(
    "held", ["[made(p)]", "[made(p) for _ in g]", "zip([made(p)])", "map(made, [p])"]
)
def test_a_loop_over_optimizers_holds_nothing(held: str) -> None:
    # Of what `asked` is given nothing is known: nothing calls it.
    program = (
        "from flax import optim\n\n\ndef made(p):\n    return optim.Adam(0.1).create(p)\n\n\n"
        "def asked(model):\n    return model.target\n\n\n"
        f"def f(p, g):\n    for x in {held}:\n        print(x)\n    return made(p).target\n"
    )
    assert "return made(p).params\n" in rewrite(program, "optax")


@pytest.mark.parametrize("put", ["box[0], box[1] = a, b", "box[0], (n, box[1]) = a, (1, b)"])
def test_it_is_put_into_something_unknown_among_others(put: str) -> None:
    lines = f"box = package.Box()\n    {put}\n    x = box[0]"
    assert_left(IMPORTS, "", lines, "An optimizer is put into `box`, of which nothing is known")
