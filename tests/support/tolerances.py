"""How far from the genuine flax.optim each optimizer may end up, and why.

Bounds are in units in the last place of the largest value that the leaf had, per square root of the
number of steps: rounding errors add up like a random walk. Of the rows that match, the last counts.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

FULL = ("float32", "float64")
HALF = ("bfloat16", "float16")
ALL = FULL + HALF
EVERY = ("varying", "tiny", "zero")
ANYTHING = np.inf

# Cases whose name ends in "all" set every hyper-parameter, weight decay among them.
DECAYED = r"(Adam|AdaBelief|Adadelta)-(weight_decay|all)|Adafactor-(weight_decay_rate|all.*)"
EXACT = r"(GradientDescent|Momentum|Adagrad|Adafactor)-.*|MultiOptimizer-single"
CORRECTED = r"(Adam|AdaBelief|LAMB)-.*|WeightNorm-over_(Adam|LAMB)"


class Tolerance(NamedTuple):
    """A row of the table."""

    cases: str  # a regular expression for the name of the case
    dtypes: tuple[str, ...]
    kinds: tuple[str, ...]  # of gradients
    params: float
    moments_jit: float
    moments: float  # op by op
    reason: str


TABLE = (
    # Of LARS in float16 as well, where a processor has instructions for it.
    Tolerance(".*", ALL, EVERY, 1.5, 1.5, 0.0, "the same operations, fused in another order"),
    Tolerance(EXACT, ALL, EVERY, 0.0, 0.0, 0.0, "the very same operations"),
    Tolerance(
        "Adafactor-bf16_momentum",
        FULL,
        EVERY,
        1.5,
        1.5,
        0.0,
        "XLA may keep the bfloat16 momentum in float32 between two fused operations",
    ),
    Tolerance(
        DECAYED + "|MultiOptimizer-(two|three)",
        FULL,
        EVERY,
        2.5,
        1.5,
        0.0,
        "flax subtracts the update and then the decay, optax their sum: one rounding fewer",
    ),
    Tolerance(
        "WeightNorm-.*",
        FULL,
        EVERY,
        2.5,
        2.5,
        2.5,
        "the two factors are parameters to the wrapped optimizer, and stand in the state",
    ),
    Tolerance(
        "Adafactor-all_factored|WeightNorm-over_Adafactor",
        ("float64",),
        EVERY,
        2.0**28,
        2.0**28,
        1.5,
        "Adafactor computes in float32 whatever the parameter, and that is fused in another order",
    ),
    Tolerance("LARS-.*", ("bfloat16",), EVERY, 0.0, 0.0, 0.0, "the very same operations"),
    Tolerance(
        DECAYED + "|MultiOptimizer-(two|three)",
        HALF,
        EVERY,
        4.0,
        1.5,
        0.0,
        "as in full precision",
    ),
    Tolerance("WeightNorm-.*", HALF, EVERY, 3.0, 3.0, 3.0, "as in full precision"),
    Tolerance(
        "(Adam|AdaBelief|LAMB|RMSProp)-.*|MultiOptimizer-(two|three)",
        ("float16",),
        ("tiny",),
        ANYTHING,
        1.5,
        0.0,
        "flax multiplies a gradient of 1e-5 by the rate, which underflows, before it divides",
    ),
    Tolerance(
        CORRECTED,
        HALF,
        EVERY,
        ANYTHING,
        1.5,
        0.0,
        "a known difference: flax's bias correction in half precision divides by zero",
    ),
    Tolerance(
        "WeightNorm-over_(Adam|LAMB)",
        HALF,
        EVERY,
        ANYTHING,
        ANYTHING,
        ANYTHING,
        "the same known difference, with the parameters among the moments",
    ),
    Tolerance(
        "LAMB-.*|WeightNorm-over_LAMB",
        ALL,
        ("zero",),
        ANYTHING,
        ANYTHING,
        ANYTHING,
        "a known difference: flax makes NaN of an update of zeros",
    ),
)


def tolerance(case: str, dtype: str, kind: str) -> Tolerance:
    """The row that counts."""
    return [
        row
        for row in TABLE
        if dtype in row.dtypes and kind in row.kinds and re.fullmatch(row.cases, case)
    ][-1]
