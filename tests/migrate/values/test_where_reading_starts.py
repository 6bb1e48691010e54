"""Functions of files that name nothing of optimizers are read once something calls them."""

from __future__ import annotations

from flaxoptim_compat.migrate.program.imported_files import imported_files
from flaxoptim_compat.migrate.values.points_to import PointsTo
from tests.support.rewriting_texts import document, rewrite_all

TRAINING = """\
from flax import optim

import library

def make(params):
    return library.kept({"all": optim.Adam(0.1).create(params)})

def step(held, grads):
    optimizer = library.taken(held)
    return library.kept({"all": optimizer.apply_gradient(grads)})
"""
LIBRARY = """\
def kept(held):
    return held

def taken(held):
    return held["all"]
"""
# Whoever calls the training hands the optimizer on, without a name of it.
CALLER = """\
import training

def main(params, grads):
    held = training.make(params)
    for _ in range(3):
        held = training.step(held, grads)
    return held
"""
PROGRAM = {"training": TRAINING, "library": LIBRARY, "caller": CALLER}
OF_NO_USE = "\n".join(
    f"def f{n}(x):\n    return g{n}(x)\n\ndef g{n}(x):\n    return x.y\n" for n in range(50)
)


def test_an_optimizer_is_followed_through_files_that_do_not_name_it() -> None:
    new = rewrite_all(PROGRAM, "optax")
    assert "optimizer.apply_gradients(grads=grads)" in new["training"]
    assert "FOC" not in "".join(new.values())
    assert (new["library"], new["caller"]) == (LIBRARY, CALLER)


def _readings(texts: dict[str, str]) -> int:
    documents = [document(text, name) for name, text in texts.items()]
    return PointsTo(documents, imported_files(documents)).readings


def test_functions_that_nothing_calls_are_not_read() -> None:
    with_more = {**PROGRAM, "library": f"{LIBRARY}\n{OF_NO_USE}"}
    assert _readings(with_more) == _readings(PROGRAM)
    # They are where an optimizer may be, as the name tells.
    named = {**with_more, "library": f"{LIBRARY}\n{OF_NO_USE}\noptim = None\n"}
    assert _readings(named) > _readings(PROGRAM) + 50


def test_what_decorates_a_function_may_give_it_something() -> None:
    wrapper = (
        "def registered(function):\n"
        "    def call(*given):\n        return f0(given)\n    return call\n"
    )
    library = f"{LIBRARY}\n{wrapper}\n{OF_NO_USE}"
    decorated = TRAINING.replace("def step", "@library.registered\ndef step")
    usual = _readings({**PROGRAM, "library": library})
    # The decorator, what it returns, and the two functions that this calls.
    assert _readings({**PROGRAM, "training": decorated, "library": library}) >= usual + 4


def test_what_an_unknown_object_has_under_a_name_that_nothing_stores_takes_no_second_reading() -> (
    None
):
    chain = "from flax import optim\n\ndef f(config):\n    return config.a.b.c.d.e\n"
    stored = f"{chain}\ndef g(x, p):\n    x.a = x.b = x.c = x.d = x.e = optim.Adam(0.1).create(p)\n"
    assert _readings({"program": chain}) <= 3
    assert _readings({"program": stored}) > 3
