"""Names that numpy dropped, and that are written in another way today."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC156",
    name="removed-numpy-calls",
    summary="a function or a constant that numpy removed, and that is written in another way",
    what=(
        "`np.NINF` becomes `-np.inf`, `np.asscalar(a)` becomes `a.item()`, `np.in1d(a, b)` becomes"
        " `np.isin(a, b).ravel()`, `np.msort(a)` becomes `np.sort(a, axis=0)`, and"
        " `np.asfarray(a)` becomes `np.asarray(a, dtype=np.float64)`."
    ),
    why="numpy raises an AttributeError. The new form computes the same.",
    refuses=(
        "Unpacked arguments, keywords that have another name today, and functions that are passed"
        " on without being called: there the stand-in of `flaxoptim_compat.era` takes the place of"
        " the name."
    ),
    examples=(
        Example(
            before="import numpy as np\n\nprint(np.NINF, np.asscalar(np.ones(1)))\n",
            shim="import numpy as np\n\nprint(-np.inf, np.ones(1).item())\n",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Calls of numpy that have another form today, with the new form where it is the same."""
    yield from findings(reading, RULE.code)
