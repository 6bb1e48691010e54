"""Names that numpy dropped without a successor that does the same."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC157",
    name="stand-ins-for-numpy",
    summary="a name that numpy removed, and that only this package still has",
    what=(
        "The name is imported from `flaxoptim_compat.era`, where it does what it did:"
        " `find_common_type`, `cast`, `sctypes`, `obj2sctype`, `alen`, `disp` and others."
    ),
    why=(
        "numpy raises an AttributeError, and what it has instead takes other arguments. The finding"
        " says what to write in the long run."
    ),
    refuses="Names that a program gives to numpy itself, and `getattr` with a default.",
    examples=(
        Example(
            before="import numpy as np\n\nprint(np.obj2sctype('f4'))\n",
            shim=("from flaxoptim_compat import era\n\nprint(era.obj2sctype('f4'))\n"),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names of numpy without successor, each with what this package serves in its place."""
    yield from findings(reading, RULE.code)
