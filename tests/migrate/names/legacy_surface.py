"""The names that flax.optim had, in all of its modules."""

from __future__ import annotations

import json

from tests.support.places import DATA


def full_names() -> list[str]:
    """Such as ``flax.optim.adam.Adam``."""
    surface = json.loads((DATA / "legacy_surface.json").read_text())["surface"]
    return [f"{module}.{name}" for module, names in surface.items() for name in names]
