"""FOC171: recurrent cells of Linen, which take their number of features since flax 0.7.0."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import call_of
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

RULE = Rule("FOC171", "recurrent-cells", is_rewritten=False)
_CELLS = {
    **dict.fromkeys(("GRUCell", "LSTMCell", "OptimizedLSTMCell"), "features"),
    # This cell always took both.
    "ConvLSTMCell": "features, kernel_size",
}
_METHOD = ".initialize_carry"


def find(reading: Reading) -> Iterator[FoundPlace]:
    """The cells that are made without their features, and methods that are called on a class."""
    for use in reading.names.uses:
        call = call_of(reading.document, use.node)
        module, _, cell = use.name.removesuffix(_METHOD).rpartition(".")
        if call is None or module != "flax.linen" or cell not in _CELLS:
            continue
        source = reading.document.source(call.func)
        has_features = call.args or any(each.arg in ("features", None) for each in call.keywords)
        if use.name.endswith(_METHOD):
            made = f"{source.removesuffix(_METHOD)}({_CELLS[cell]})"
            what = f"{source} is a method of a cell since flax 0.7.0"
            yield FoundPlace(call.func, what, f"write {made}{_METHOD}(rng, input_shape)")
        elif _CELLS[cell] == "features" and not has_features:
            what = f"{source}() takes the number of features since flax 0.7.0"
            yield FoundPlace(call.func, what, f"write {source}(features)")
