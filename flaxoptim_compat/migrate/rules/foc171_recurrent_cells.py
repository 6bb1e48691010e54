"""Recurrent cells of Linen, which are made with their number of features today."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule

RULE = Rule(
    code="FOC171",
    name="recurrent-cells",
    summary="`LSTMCell()` without features, and `initialize_carry(rng, batch_dims, size)`",
    what="Nothing; the finding says what to write.",
    why=(
        "Since Flax 0.7.0 a cell is made with its number of features, and its `initialize_carry` is"
        " a method that takes the key and the shape of the input. Both raise a TypeError otherwise."
    ),
    refuses=(
        "Always: the number of features stands where the carry is made, which can be elsewhere."
    ),
    examples=(
        Example.alike(
            before=(
                "from flax import linen as nn\n\n\ndef carry(rng):\n"
                "    return nn.LSTMCell.initialize_carry(rng, (8,), 32)\n"
            ),
            after=(
                "from flax import linen as nn\n\n\ndef carry(rng):\n"
                "    # FOC171: nn.LSTMCell.initialize_carry is a method of a cell since flax 0.7.0:"
                " write\n    #   nn.LSTMCell(features).initialize_carry(rng, input_shape)\n"
                "    return nn.LSTMCell.initialize_carry(rng, (8,), 32)\n"
            ),
        ),
    ),
)
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
