"""Which functions are read, how often and in which order."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.program.imported_files import imported_files
from flaxoptim_compat.migrate.values.cells import Cells
from flaxoptim_compat.migrate.values.objects import ONE
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
    defining = _readings({**PROGRAM, "library": LIBRARY + OF_NO_USE}) - _readings(PROGRAM)
    assert defining == OF_NO_USE.count("def ")
    # They are where an optimizer may be, as the name tells: each has parameters and a statement.
    named = {**PROGRAM, "library": f"{LIBRARY}\n{OF_NO_USE}\noptim = None\n"}
    assert _readings(named) >= _readings(PROGRAM) + 3 * defining


STEPS_OF_ITS_OWN = "".join(f"    x{n} = x{n - 1}.a\n" for n in range(1, 200))
LONG = f"from flax import optim\n\ndef f(x0, other):\n{STEPS_OF_ITS_OWN}    return other\n"


def test_a_statement_is_read_again_without_those_around_it() -> None:
    called = f"{LONG}\ndef g():\n    return f(1, optim.Adam(0.1))\n"
    again = f"{called}\ndef h():\n    return f(1, optim.Momentum(0.1))\n"
    # What h has itself, and of f only the parameters and the statement that returns one of them.
    assert _readings({"program": again}) <= _readings({"program": called}) + 10


def test_functions_are_read_again_in_the_order_in_which_they_asked() -> None:
    cells = Cells()
    # By their places in memory they would come in another order.
    functions = [ast.parse(f"f{number}").body[0] for number in range(200)][::-1]
    for function in functions:
        cells.let_wait(function)
    for _ in cells.waiting():
        cells.read(("variable", "module", "x"))
    cells.write(("variable", "module", "x"), [ONE])
    assert list(cells.waiting()) == functions
