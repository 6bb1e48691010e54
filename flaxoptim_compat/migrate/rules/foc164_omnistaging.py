"""FOC164: ``config.enable_omnistaging()``, which has no effect since omnistaging is always on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Change
from flaxoptim_compat.migrate.editing.import_statements import without
from flaxoptim_compat.migrate.names.dotted import call_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC164", "enable-omnistaging")
_NAMES = frozenset({"jax.config.enable_omnistaging", "jax.config.config.enable_omnistaging"})
_WHAT = "jax.config.enable_omnistaging, gone since jax 0.3.15"


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Calls of ``enable_omnistaging``, which are deleted where they are statements."""
    for use in reading.names.uses:
        if use.name not in _NAMES or isinstance(use.node, ast.alias):
            continue
        call = call_of(reading.document, use.node)
        statement = None if call is None or call.args else reading.document.parents[call]
        if isinstance(statement, ast.Expr):
            change = Change((without(reading.document, statement),), drops=(use.node,))
            yield FoundPlace(use.node, _WHAT, "nothing", change)
        elif isinstance(getattr(use.node, "ctx", None), ast.Load):
            reason = f"{_WHAT}: delete this, as omnistaging is always on"
            yield FoundPlace(use.node, _WHAT, "nothing", reason=reason)
