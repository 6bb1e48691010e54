"""FOC106: a class of the program that is derived from one of ``flax.optim``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names.surface import OPTIMIZERS, as_of_old, is_of_flax_optim
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC106", "subclass")

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
                    reason="The class computes in its own way: flaxoptim_compat.to_optax takes it.",
                )
                break
