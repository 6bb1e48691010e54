"""Orbax's names for its files, and for the types of leaves and keys in them."""

from __future__ import annotations

METADATA = "_METADATA"
STRINGS = "_strings.json"
AGGREGATE = "checkpoint"
MANIFEST = "manifest.ocdbt"
# The types of leaves without an array.
NONE, TEXT = "None", "string"
EMPTY = frozenset(["Dict", "List", "Tuple", "NamedTuple"])
ARRAY, SCALAR = "np.ndarray", "scalar"
# The types of keys.
IN_SEQUENCE, IN_MAPPING = 1, 2


def is_inside(place: str) -> bool:
    """True if the folder of an array is inside the directory of its checkpoint."""
    return "\0" not in place and not any(part in ("", ".", "..") for part in place.split("/"))
