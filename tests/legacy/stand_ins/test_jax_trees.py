"""Functions of trees of which jax has others today: where these say that trees differ."""

from __future__ import annotations

from typing import Any

import pytest

from flaxoptim_compat.legacy.stand_ins import jax_trees


def test_tree_map_says_where_trees_differ() -> None:
    with pytest.raises(ValueError, match=r"'b'|\(1, 2, 3\)"):
        jax_trees.tree_map(lambda *leaves: leaves, {"b": (1, None)}, {"b": (1, 2, 3)})
    with pytest.raises(ValueError, match="of the function itself"):
        jax_trees.tree_map(_raising, {"a": 1}, {"a": 2})


def _raising(*leaves: Any) -> None:
    raise ValueError("of the function itself")
