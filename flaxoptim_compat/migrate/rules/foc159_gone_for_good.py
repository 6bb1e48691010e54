"""Names that jax and numpy dropped, and that nothing takes the place of."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC159",
    name="gone-for-good",
    summary="a name that jax or numpy removed, and that nothing replaces as it is",
    what="Nothing; the finding says what there is instead.",
    why="What came after was made differently, so that the program around it has to change.",
    refuses="Always.",
    examples=(
        Example(
            before="from jax.experimental.maps import xmap\n",
            shim=(
                "# FOC159: jax.experimental.maps.xmap, gone since jax 0.4.31: use jax.shard_map, or"
                " jax.jit with jax.sharding.NamedSharding\n"
                "from jax.experimental.maps import xmap\n"
            ),
            optax=(
                "# FOC159: jax.experimental.maps.xmap, gone since jax 0.4.31: use jax.shard_map, or"
                " jax.jit with jax.sharding.NamedSharding\n"
                "from jax.experimental.maps import xmap\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names for which nothing takes the place, with what to do instead."""
    yield from findings(reading, RULE.code)
