"""Recurrent cells of Linen, which are made with their number of features today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC171", "recurrent-cells", is_rewritten=False)
_CELLS = {
    **dict.fromkeys(("GRUCell", "LSTMCell", "OptimizedLSTMCell"), "features"),
    # It always was made with these.
    "ConvLSTMCell": "features, kernel_size",
}
_METHOD = ".initialize_carry"


def find(reading: Reading) -> Iterator[Finding]:
    """The cells, and the methods of their classes."""
    for use in reading.names.uses:
        module, _, cell = use.name.removesuffix(_METHOD).rpartition(".")
        if module != "flax.linen" or cell not in _CELLS or isinstance(use.node, ast.alias):
            continue
        call = reading.document.parents[use.node]
        if not isinstance(call, ast.Call) or call.func is not use.node:
            continue
        source = reading.document.source(use.node)
        if use.name.endswith(_METHOD):
            what = f"{source} is a method of a cell since flax 0.7.0"
            made = f"{source.removesuffix(_METHOD)}({_CELLS[cell]})"
            instead = f"write {made}{_METHOD}(rng, input_shape)"
        elif _CELLS[cell] != "features" or call.args or _has_features(call):
            continue
        else:
            what = f"{source}() wants its number of features since flax 0.7.0"
            instead = f"write {source}(features)"
        if reading.allows(RULE.code, use.node):
            span = reading.document.span(use.node)
            yield Finding(RULE.code, *span, what, instead, None, None, reason=f"{what}: {instead}")


def _has_features(call: ast.Call) -> bool:
    return any(each.arg in ("features", None) for each in call.keywords)
