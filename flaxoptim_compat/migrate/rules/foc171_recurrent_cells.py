"""Recurrent cells of Linen, which are made with their number of features today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.found import Found
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC171", "recurrent-cells", is_rewritten=False)
_CELLS = {
    **dict.fromkeys(("GRUCell", "LSTMCell", "OptimizedLSTMCell"), "features"),
    # It always was made with these.
    "ConvLSTMCell": "features, kernel_size",
}
_METHOD = ".initialize_carry"


def find(reading: Reading) -> Iterator[Found]:
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
            yield Found(use.node, what, instead)
        elif _CELLS[cell] == "features" and not (call.args or _has_features(call)):
            what = f"{source}() wants its number of features since flax 0.7.0"
            yield Found(use.node, what, f"write {source}(features)")


def _has_features(call: ast.Call) -> bool:
    return any(each.arg in ("features", None) for each in call.keywords)
