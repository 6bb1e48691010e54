"""The leaves of an optimizer may be taken where those of a TrainState do as well."""

from __future__ import annotations

import pytest

from tests.support.followed import assert_followed, assert_left

IMPORTS = (
    "import functools\nimport jax\nimport jax.numpy as jnp\n"
    "import numpy as np\nfrom jax.flatten_util import ravel_pytree\n"
    "from jax.tree_util import tree_flatten, tree_leaves, tree_reduce, tree_unflatten\n"
)
ROUND_TRIP = (
    "def round_trip(tree):\n    leaves, structure = tree_flatten(tree)\n"
    "    return tree_unflatten(structure, {})\n"
)


@pytest.mark.parametrize(
    "leaves",
    [
        "leaves",
        "[2 * each for each in leaves]",
        "list(map(jnp.negative, leaves))",
        "[x + y for x, y in zip(leaves, leaves)]",
        "jax.device_get(leaves)",
    ],
)
def test_those_that_go_back_to_their_places_may_be_any(leaves: str) -> None:
    assert_followed(IMPORTS, ROUND_TRIP.format(leaves), "x = round_trip(a)")


def test_they_may_be_stored_until_then() -> None:
    stored = "pickle.dump([np.asarray(each) for each in tree_leaves(a)], n)\n"
    back = "    x = tree_unflatten(jax.tree_util.tree_structure(a), pickle.load(n))"
    assert_followed(f"import pickle\nimport numpy as np\n{IMPORTS}", "", stored + back)


@pytest.mark.parametrize(
    "asked",
    [
        "assert all(jnp.isfinite(each).all() for each in tree_leaves(a))",
        "assert jnp.all(jnp.array([jnp.isfinite(each).all() for each in tree_leaves(a)]))",
        "finite = [jnp.all(jnp.isfinite(each)) for each in tree_leaves(a)]\n"
        "    assert jnp.stack(finite).all()",
        "assert tree_reduce(lambda x, y: x & jnp.isfinite(y).all(), a, True)",
        "assert not any([jnp.any(jnp.isnan(each)) for each in tree_leaves(a)])",
        "assert tree_reduce(lambda x, y: jnp.logical_and(x, jnp.isfinite(y).all()), a, True)",
        "assert functools.reduce(jnp.logical_and, [jnp.isfinite(x).all() for x in tree_leaves(a)])",
        "[each.block_until_ready() for each in tree_leaves(a)]",
        "for each in tree_leaves(a):\n        each.block_until_ready()",
        "jax.block_until_ready(tree_leaves(a))",
    ],
)
def test_what_is_asked_of_all_of_them_has_one_answer(asked: str) -> None:
    assert_followed(IMPORTS, "", f"{asked}\n    x = a")


_BACK = ROUND_TRIP.format("leaves")
_NOISE = "draws = np.random.RandomState(0)\n\n\ndef noisy(x):\n    return x + draws.randn()\n\n\n"


@pytest.mark.parametrize(
    ("top", "asked"),
    [
        ("", "print([jnp.isfinite(each).all() for each in tree_leaves(a)])"),
        ("", "print(sum(jnp.isfinite(each).sum() for each in tree_leaves(a)))"),
        ("", "print(sum(jnp.isnan(x).sum() for x in tree_leaves(a)) / n)"),
        ("", "for each in tree_leaves(a):\n        print(jnp.isfinite(each).all())"),
        ("", "print(sum(x.block_until_ready().sum() for x in tree_leaves(a)))"),
        ("", "print(tree_reduce(lambda x, y: x + jnp.isfinite(y).sum(), a, 0))"),
        ("", "print([x.shape for x in tree_leaves(a)], jnp.isfinite(n))"),
        (
            "def back(tree, n):\n    leaves, structure = tree_flatten(tree)\n"
            "    for each in leaves:\n        n = n + each.sum()\n"
            "    return tree_unflatten(structure, leaves), n\n",
            "a, n = back(a, n)",
        ),
        (
            "def back(tree, n):\n    leaves, structure = tree_flatten(tree)\n"
            "    keys = jax.random.split(n, structure.num_leaves)\n"
            "    return tree_unflatten(structure, [x for x, _ in zip(leaves, keys)])\n",
            "a = back(a, n)",
        ),
        (_NOISE + ROUND_TRIP.format("[x + draws.randn() for x in leaves]"), "a = round_trip(a)"),
        (_NOISE + ROUND_TRIP.format("list(map(noisy, leaves))"), "a = round_trip(a)"),
        (_BACK, "flat, unflatten = ravel_pytree(a)\n    a = unflatten(flat)"),
        (
            "def flat(tree):\n    leaves, structure = tree_flatten(tree)\n"
            "    return jnp.concatenate([each.ravel() for each in leaves])\n\n\n" + _BACK,
            "print(flat(a))",
        ),
        ("def flat(tree):\n    return tree_leaves(tree)\n\n\n" + _BACK, "print(flat(a))"),
        (_BACK, "for i, each in enumerate(tree_leaves(a)):\n        print(i, jnp.sum(each))"),
        (_BACK, "for each in tree_leaves(a):\n        print(jnp.sum(each))"),
        (
            "",
            "leaves, structure = tree_flatten(a)\n"
            "    a = tree_unflatten(structure, [0 * each if i else each for i, each in"
            " enumerate(leaves)])",
        ),
        (
            "",
            "leaves, structure = tree_flatten(a)\n"
            "    a = tree_unflatten(structure, [each for each in leaves if n])",
        ),
    ],
)
def test_where_they_are_looked_at_the_optimizer_stays(top: str, asked: str) -> None:
    assert_left(IMPORTS, top, f"{asked}\n    x = a", "The leaves of an optimizer are taken.")


@pytest.mark.parametrize(
    ("called", "stays"),
    [
        ("lambda each: print(each)", True),
        ("lambda each: counted.append(1) or each", True),
        ("lambda each: each + np.random.randn()", True),
        ("noisy", True),
        ("Count()", True),
        ("counted.append", True),
        ("print", True),
        ("functools.partial(noisy)", True),
        ("lambda each: 2 * each", False),
        ("lambda each: jnp.clip(each, -1, 1)", False),
    ],
)
def test_what_is_done_for_each_of_them_may_show_how_many_there_are(
    called: str, stays: bool
) -> None:
    imports = f"{IMPORTS}import numpy as np\n"
    top = (
        "counted = []\ndraws = np.random.RandomState(0)\n\n\n"
        "def noisy(each):\n    return each + draws.randn()\n\n\n"
        "class Count:\n    n = 0\n\n    def __call__(self, each):\n        self.n += 1\n"
    )
    lines = f"x = jax.tree_util.tree_map({called}, a)"
    if stays:
        assert_left(imports, top, lines, "The leaves of an optimizer are taken.")
    else:
        assert_followed(imports, top, lines)
