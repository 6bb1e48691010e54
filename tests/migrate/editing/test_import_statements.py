"""Names that go out of an import leave its comments where they are."""

from __future__ import annotations

from tests.support.rewriting_texts import rewrite_alone


def test_comments_behind_the_last_name_that_stays() -> None:
    text = (
        "from jax import (\n    numpy,  # arrays\n    tree_map,  # maps\n    tree_leaves,\n)\n\n"
        "tree_map(tree_leaves, numpy)\n"
    )
    lines = rewrite_alone(text).splitlines()
    assert lines[0] == "from jax import ("
    assert lines[1] == "    numpy,  # arrays"
    assert lines[2].strip() == "# maps"
    assert "from jax.tree_util import tree_leaves, tree_map" in lines
