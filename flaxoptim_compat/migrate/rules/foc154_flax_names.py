"""Names that flax dropped, apart from those of flax.optim."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC154",
    name="removed-flax-names",
    summary="`flax.nn`, `flax.deprecated` or `ConvLSTM`",
    what=(
        "Activations, initializers and poolings of `flax.nn` come from `flax.linen`, where they are"
        " the same functions. The rest of `flax.nn`, and `flax.linen.ConvLSTM`, come from"
        " `flaxoptim_compat.era`."
    ),
    why=(
        "flax raises an AttributeError or an ImportError. The stand-in of `flax.nn` imports, and"
        " says for each name that Linen has not what to write; FOC158 finds where."
    ),
    refuses=(
        "`import *` of a module that is gone, and names that a program gives to a module itself."
    ),
    examples=(
        Example(
            before="from flax import nn\n\nprint(nn.relu(-1.0))\n",
            shim="from flax import linen as nn\n\nprint(nn.relu(-1.0))\n",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Names that flax has no more and calls otherwise today, each with its new name."""
    yield from findings(reading, RULE.code)
