"""FOC106: a class of the program that is derived from one of ``flax.optim``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names.surface import OPTIMIZERS, as_of_old, is_of_flax_optim
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC106",
    name="subclass",
    summary="a class derived from `OptimizerDef` or from an optimizer",
    what="""\
The base comes from `flaxoptim_compat.optim`, with either target. The class itself stays as it is;
with `--to optax` it is marked.""",
    why="""\
`flaxoptim_compat` obeys what the class overrides: `init_param_state`, `apply_param_gradient` and
`apply_gradient` are called as Flax 0.5.3 called them. `flaxoptim_compat.to_optax(definition)` makes
an optax transformation of an instance, so that the rest of the program can move on before the class
does.""",
    refuses="With `--to optax`, always: what the methods compute is the program's own.",
    examples=(
        Example(
            before="""\
from flax import optim


class Clipped(optim.Momentum):
    pass
""",
            shim="""\
from flaxoptim_compat import optim


class Clipped(optim.Momentum):
    pass
""",
            optax="""\
from flaxoptim_compat import optim


# FOC106: Its arithmetic is its own; flaxoptim_compat.to_optax takes it.
class Clipped(optim.Momentum):
    pass
""",
        ),
    ),
)

_CLASSES = OPTIMIZERS | {"OptimizerDef", "MultiOptimizer"}


def find(reading: Reading) -> Iterator[Finding]:
    """Each class with a base from ``flax.optim``, or from what serves it."""
    for node in reading.names.walk.scopes:
        if not isinstance(node, ast.ClassDef) or not reading.allows(RULE.code, node):
            continue
        for base in node.bases:
            name = reading.names.full_name(base) or ""
            # To optax, there is something left to be done after `rewrite --to shim` as well.
            if is_of_flax_optim(as_of_old(name)) and name.rpartition(".")[2] in _CLASSES:
                start = reading.document.offset(node.lineno, node.col_offset)
                yield Finding(
                    RULE.code,
                    start,
                    reading.document.span(base)[1],
                    f"a subclass of {name}",
                    "flaxoptim_compat.to_optax(definition) makes an optax transformation of it",
                    optax=None,
                    reason="Its arithmetic is its own; flaxoptim_compat.to_optax takes it.",
                )
                break
