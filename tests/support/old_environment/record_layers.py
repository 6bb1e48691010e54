"""Print the variables of all layers of Linen and flax.nn, of the Flax that is found, as JSON."""

from __future__ import annotations

import contextlib
import importlib
import json

from tests.support.layers import layers_of_linen, layers_of_nn


def main() -> None:
    """Print all."""
    found = {"flax.linen": layers_of_linen(importlib.import_module("flax.linen"))}
    # Flax 0.4.0 has no flax.nn.
    with contextlib.suppress(ImportError):
        found["flax.nn"] = layers_of_nn(importlib.import_module("flax.nn"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
