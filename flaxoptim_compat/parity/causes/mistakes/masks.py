"""What becomes of parameters that no optimizer moves."""

from __future__ import annotations

from flaxoptim_compat import optim
from flaxoptim_compat.parity.causes.mistake import Mistake

# ``mistaken.RawWhereUnmatched`` makes this one: it is in no single optimizer.
RAW = Mistake(
    "raw-gradient-on-unmatched",
    (optim.MultiOptimizer,),
    says=(
        "adds the raw gradient to parameters that no traversal selects, as a chain of optax.masked"
        " does; flax.optim leaves them alone"
    ),
    remedy='optax.partition({..., "frozen": optax.set_to_zero()}, labels)',
    made=lambda recipe: recipe,
    slot="raw",
)
