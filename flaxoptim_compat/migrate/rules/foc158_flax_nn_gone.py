"""Names of flax.nn that have to be written anew with Linen."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC158",
    name="flax-nn-without-linen",
    summary="a name of `flax.nn` that has to be written anew",
    what="Nothing; the finding says what to write in `flax.linen`.",
    why=(
        "A module of `flax.nn` got its inputs and what configures it in one call, and kept the"
        " parameters by its own names. In Linen these are two calls, and what becomes of which is"
        " for the owner of the program to say."
    ),
    refuses="Always.",
    examples=(
        Example(
            before="from flax.nn import Dense\n",
            shim=(
                "# FOC158: flax.nn.Dense, gone since flax 0.4.0: flax.nn.Dense(inputs, ...) is"
                " flax.linen.Dense(...)(inputs), with use_bias= for bias=\n"
                "from flax.nn import Dense\n"
            ),
            optax=(
                "# FOC158: flax.nn.Dense, gone since flax 0.4.0: flax.nn.Dense(inputs, ...) is"
                " flax.linen.Dense(...)(inputs), with use_bias= for bias=\n"
                "from flax.nn import Dense\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names of flax.nn, the API before Linen, for which nothing takes the place."""
    yield from findings(reading, RULE.code)
