"""Training that goes on from a checkpoint of step 10 to step 20, here and elsewhere."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax

from flaxoptim_compat import compiled_steps
from tests.support.cases import case
from tests.support.tolerances import tolerance
from tests.support.training import train
from tests.support.ulps import LargestValues, errors_in_ulps, worst

# One unit of bfloat16 in units of float32: XLA has changed since jax 0.4.13, and where the last bit
# of a float32 tips the rounding to bfloat16, the next step starts from another momentum.
# Run kernel by kernel, jax 0.4.30 ends 1.016 of these units away; jax 0.4.38 to 0.12 within one.
ALLOWED_FOR = {
    "Adafactor-bf16_momentum": 2.0**16 * (1.0 if jax.__version_info__ >= (0, 4, 38) else 1.02)
}


def allowed(name: str) -> float:
    """How far ten steps may lead away, on another jax version even where nothing else differs."""
    row = tolerance(name.removeprefix("Replicated-"), "float32", "varying")
    return ALLOWED_FOR.get(name, max(1.5, row.params) * math.sqrt(10))


@dataclasses.dataclass
class Continued:
    """An optimizer after steps 10 to 20, and how large its leaves became."""

    optimizer: Any
    largest: LargestValues

    @classmethod
    def of(cls, name: str, optimizer: Any, compiled: bool = True) -> Continued:
        """Train an optimizer that has done ten steps."""
        largest = LargestValues(optimizer)
        with compiled_steps(compiled):
            optimizer = train(optimizer, case(name), range(10, 20), largest.add)
        return cls(optimizer, largest)

    def error(self, other: Any) -> float:
        """The largest error of any leaf of another optimizer."""
        assert int(self.optimizer.state.step) == int(other.state.step) == 20
        return worst(errors_in_ulps(self.optimizer, other, self.largest))
