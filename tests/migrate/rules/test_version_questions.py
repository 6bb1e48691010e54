"""A program that asks which version it is on has a branch for today's, which is left alone."""

from __future__ import annotations

import pytest

from tests.support.rewriting_texts import rewrite

RIGHT = {
    "an import": """\
try:
    from jax import linear_util as lu
except ImportError:
    from jax.extend import linear_util as lu
lu.wrap_init(f)
""",
    "one without a successor of its own": """\
try:
    from jax.experimental import maps
except (ImportError, ValueError):
    maps = None
""",
    "an attribute": """\
try:
    tree_map = jax.tree_map
except AttributeError:
    tree_map = jax.tree.map
""",
    "a function": """\
def mapped(f, tree):
    try:
        return jax.tree_map(f, tree)
    except AttributeError:
        return jax.tree.map(f, tree)
""",
    "a question": """\
if hasattr(jax, "tree_map"):
    tree_map = jax.tree_map
else:
    tree_map = jax.tree.map
""",
    "its opposite": """\
if not hasattr(jax, "tree_map"):
    tree_map = jax.tree.map
else:
    tree_map = jax.tree_map
""",
    "an expression": """\
tree_map = jax.tree_map if hasattr(jax, "tree_map") else jax.tree.map
""",
}
WRONG = {
    "both are gone": """\
try:
    tree_map = jax.tree_multimap
except AttributeError:
    tree_map = jax.tree_map
""",
    "nothing instead": """\
try:
    jax.tree_map(f, x)
except AttributeError:
    pass
""",
    "another error": """\
try:
    x = jax.tree_map(f, x)
except KeyError:
    x = None
""",
    "the error again": """\
try:
    x = jax.tree_map(f, x)
except AttributeError:
    raise SystemExit
""",
    "much more than a question": """\
try:
    for each in x:
        jax.tree_map(f, each)
except AttributeError:
    print("none")
""",
    "another question": """\
if hasattr(jax, "Array"):
    x = jax.tree_map(f, x)
""",
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("target", ["shim", "optax"])
def test_it_stays(name: str, target: str) -> None:
    program = f"import jax\n\n{RIGHT[name]}"
    assert rewrite(program, target) == program


@pytest.mark.parametrize("name", WRONG)
def test_without_a_branch_for_today_it_is_rewritten(name: str) -> None:
    new = rewrite(f"import jax\n\n{WRONG[name]}", "shim")
    assert "jax.tree.map" in new and "tree_map(" not in new and "multimap" not in new
