"""Names that jax dropped, and that are the same thing under another name."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC151",
    name="removed-jax-names",
    summary="a name that jax removed, and that is there under another name",
    what=(
        "The new name takes the place of the old one: `jax.tree_map` becomes `jax.tree.map`,"
        " `jnp.DeviceArray` becomes `jax.Array`, and `jax.partial` becomes `functools.partial`."
        " What is imported by name keeps the name that it has in the file: `from jax import"
        " tree_map` becomes `from jax.tree_util import tree_map`."
    ),
    why=(
        "jax raises an AttributeError or an ImportError. The new name stands for the same object,"
        " or for one that does the same."
    ),
    refuses=(
        "`import *` of a module that is gone, names that a program gives to a module itself"
        " (`jax.tree_map = ...`), and `getattr` with a default. Where a tree that `tree_map` is"
        " given first has `None` evidently, it becomes the stand-in"
        " `flaxoptim_compat.era.tree_map`: the old one let `None` there stand for"
        " anything in the others, while `jax.tree.map` raises an error."
    ),
    examples=(
        Example(
            before=(
                "import jax\nimport jax.numpy as jnp\nfrom jax import tree_leaves\n\n\n"
                "def size(x: jnp.DeviceArray):\n"
                "    return jax.tree_map(jnp.size, tree_leaves(x))\n"
            ),
            shim=(
                "import jax\nimport jax.numpy as jnp\nfrom jax.tree_util import tree_leaves\n\n\n"
                "def size(x: jax.Array):\n"
                "    return jax.tree.map(jnp.size, tree_leaves(x))\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names that jax has no more and calls otherwise today, each with its new name."""
    yield from findings(reading, RULE.code)
