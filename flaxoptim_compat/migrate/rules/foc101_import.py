"""FOC101: an import of ``flax.optim``, or of something in it."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.names_of_flax_optim import finding, uses_for
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC101",
    name="import-of-flax-optim",
    summary="an import of `flax.optim` or of something in it",
    what="""\
The name is imported from `flaxoptim_compat.optim`, under the name that it has in the file. Other
names of the same statement stay where they are, and so do comments. `import flax.optim` without
`as` goes, because what uses it is written differently (FOC102), or becomes `import flax` where that
is still needed. With `--to optax` the import goes altogether when nothing uses it any more.""",
    why="""\
Flax 0.6 removed `flax.optim`: the import raises `ModuleNotFoundError` or `ImportError`.
`flaxoptim_compat.optim` has the same modules, with the same names in them.""",
    refuses="""\
Where the name is one that `flax.optim` had only by the way, such as
`flax.optim.base.traverse_util`. An import in an `__init__.py`, or one that is listed in `__all__`
or taken by other files, is kept though nothing in its own file uses it.""",
    examples=(
        Example(
            before="""\
from flax import linen as nn, optim
from flax.optim.adam import Adam, _AdamParamState


def create(params):
    return optim.Momentum(0.1).create(params), Adam(0.1), _AdamParamState, nn
""",
            shim="""\
from flax import linen as nn
from flaxoptim_compat import optim
from flaxoptim_compat.optim.adam import Adam, _AdamParamState


def create(params):
    return optim.Momentum(0.1).create(params), Adam(0.1), _AdamParamState, nn
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each name of ``flax.optim`` that is imported."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
