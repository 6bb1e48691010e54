"""Functions that jax dropped, and that are written in another way today."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC152",
    name="removed-jax-calls",
    summary="a function that jax removed, and that is written in another way",
    what=(
        "The call is written anew: `jax.ops.index_update(x, jax.ops.index[i], y)` becomes"
        " `x.at[i].set(y)`, `jax.lax.tie_in(x, y)` becomes `y`, `jax.random.shuffle(key, x)`"
        " becomes `jax.random.permutation(key, x, independent=True)`, and `jnp.NINF` becomes"
        " `-jnp.inf`."
    ),
    why=(
        "jax raises an AttributeError or an ImportError. The new form computes the same, from"
        " `jnp.asarray(x)` where x could be a list or an array of numpy, which have no `at`. Where"
        " y has a wider dtype than x, jax warns that it will be an error one day."
    ),
    refuses=(
        "Unpacked arguments, arguments in another order, and functions that are passed on without"
        " being called: there the stand-in of `flaxoptim_compat.era` takes the place of the name."
    ),
    examples=(
        Example(
            before=(
                "import jax\nimport jax.numpy as jnp\n\n"
                "x = jnp.zeros(3)\nx = jax.ops.index_add(x, jax.ops.index[1:], 2.0)\n"
            ),
            shim="import jax.numpy as jnp\n\nx = jnp.zeros(3)\nx = x.at[1:].add(2.0)\n",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Calls of jax that have another form today, with the new form where the arguments allow it."""
    yield from findings(reading, RULE.code)
