"""FOC108: something that the program puts in the place of ``flax.optim``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.rules.table_of_flax_optim_names import uses_for

_AFTER = """\
import sys
from unittest import mock

# FOC108: Nothing needs this once no file uses flax.optim.
sys.modules["flax.optim"] = mock.MagicMock()
"""

RULE = Rule(
    code="FOC108",
    name="stand-in",
    summary="something put in the place of `flax.optim` by hand",
    what="Nothing: it is reported, and marked.",
    why="""\
Programs helped themselves when `flax.optim` was gone, with copies and with mocks. After a rewrite
nothing looks at `flax.optim` any more, so the line has no effect and can be deleted; what it did
until now, and whether anybody relied on that, only its owner can tell.""",
    refuses="Always.",
    examples=(
        Example.alike(
            before="""\
import sys
from unittest import mock

sys.modules["flax.optim"] = mock.MagicMock()
""",
            after=_AFTER,
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each assignment to ``flax.optim`` and each use of its entry in ``sys.modules``."""
    nodes: list[ast.expr] = [
        node for node, _ in reading.names.strings if is_in_modules_of_sys(node, reading)
    ]
    nodes += [
        call
        for call in reading.names.lookups
        if isinstance(call.func, ast.Name) and call.func.id in ("setattr", "delattr")
    ]
    uses = (use.node for use in uses_for(RULE.code, reading))
    nodes += [each for each in uses if isinstance(each, ast.expr)]
    for node in nodes:
        if reading.allows(RULE.code, node):
            yield Finding(
                RULE.code,
                *reading.document.span(node),
                "a stand-in for flax.optim",
                "nothing, once no code needs flax.optim",
                None,
                None,
                reason="Nothing needs this once no file uses flax.optim.",
            )


def is_in_modules_of_sys(node: ast.Constant, reading: Reading) -> bool:
    """Whether a string names an entry of ``sys.modules``.

    As in ``sys.modules["flax.optim"]``, ``sys.modules.setdefault("flax.optim", fake)`` and
    ``mock.patch.dict("sys.modules", {"flax.optim": fake})``.
    """
    parent = reading.document.parents[node]
    if isinstance(parent, ast.Subscript):
        return _is_modules(parent.value, reading)
    if isinstance(parent, ast.Compare):
        return any(_is_modules(each, reading) for each in parent.comparators)
    if isinstance(parent, ast.Dict):
        around = reading.document.parents[parent]
        parent = around if isinstance(around, ast.Call) and node in parent.keys else parent
    if isinstance(parent, ast.Call):
        first = parent.args[0] if parent.args else None
        is_named = isinstance(first, ast.Constant) and first.value == "sys.modules"
        function = parent.func
        is_method = isinstance(function, ast.Attribute) and _is_modules(function.value, reading)
        return is_method or is_named or (first is not None and _is_modules(first, reading))
    return False


def _is_modules(node: ast.expr, reading: Reading) -> bool:
    return reading.names.full_name(node) == "sys.modules"
