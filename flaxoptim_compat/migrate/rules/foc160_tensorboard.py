"""flax.metrics.tensorboard, which wants TensorFlow."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.finding_names import findings

RULE = Rule(
    code="FOC160",
    name="tensorboard-without-tensorflow",
    summary="`flax.metrics.tensorboard`, which cannot be imported without TensorFlow",
    what=(
        "Nothing; the finding says what to install, or what to write with instead. Where TensorFlow"
        " and TensorBoard are installed, `# noqa: FOC160` silences it."
    ),
    why=(
        "flax still has the module, but it imports TensorFlow and TensorBoard, which neither flax"
        " nor this package installs."
    ),
    refuses="Always.",
    examples=(
        Example(
            before="from flax.metrics import tensorboard\n",
            shim=(
                "# FOC160: flax.metrics.tensorboard, which needs TensorFlow: install tensorflow and"
                " tensorboard, or use tensorboardX.SummaryWriter, whose methods have other names\n"
                "from flax.metrics import tensorboard\n"
            ),
            optax=(
                "# FOC160: flax.metrics.tensorboard, which needs TensorFlow: install tensorflow and"
                " tensorboard, or use tensorboardX.SummaryWriter, whose methods have other names\n"
                "from flax.metrics import tensorboard\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Uses of the module, each with what to install or to write instead."""
    yield from findings(reading, RULE.code)
