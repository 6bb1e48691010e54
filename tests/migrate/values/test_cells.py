"""The order in which functions are read again is the same in every run."""

from __future__ import annotations

import ast

from flaxoptim_compat.migrate.values.cells import Cells
from flaxoptim_compat.migrate.values.objects import ONE


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
