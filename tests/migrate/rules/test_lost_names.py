"""What a finding says of a name that is gone."""

from __future__ import annotations

from tests.support.rewriting_texts import findings_alone


def test_a_finding_says_what_it_is_and_what_is_instead() -> None:
    text = "import jax\nfrom jax.util import safe_map\njax.tree_map, safe_map\n"
    module, use = findings_alone(text)
    assert (use.code, text[use.start : use.end]) == ("FOC151", "jax.tree_map")
    assert (use.what, use.instead) == ("jax.tree_map, gone since jax 0.6.0", "jax.tree.map")
    assert module.instead == (
        "flaxoptim_compat.era.jax_util.safe_map; later list(map(..., strict=True))"
    )
