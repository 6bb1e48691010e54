"""Names that numpy dropped, and that are the same thing under another name."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC155",
    name="removed-numpy-names",
    summary="a name that numpy removed, and that is there under another name",
    what=(
        "The new name takes the place of the old one: `np.float_` becomes `np.float64`, `np.float`"
        " becomes `float`, `np.product` becomes `np.prod`, `np.math` becomes `math`, and"
        " `np.VisibleDeprecationWarning` becomes `np.exceptions.VisibleDeprecationWarning`."
    ),
    why="numpy raises an AttributeError. The new name stands for the same object.",
    refuses=(
        "`import *`, names that a program gives to numpy itself (`np.float = float`), and `getattr`"
        " with a default."
    ),
    examples=(
        Example(
            before="import numpy as np\n\nprint(np.product([2, 3], dtype=np.float_))\n",
            shim="import numpy as np\n\nprint(np.prod([2, 3], dtype=np.float64))\n",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names that numpy has no more and calls otherwise today, each with its new name."""
    yield from findings(reading, RULE.code)
