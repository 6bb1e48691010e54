"""The state of an optimizer, in the layout of Flax 0.5.3."""

from __future__ import annotations

from flax import struct

from flaxoptim_compat.bridge.definition import Leaf, PyTree


@struct.dataclass
class OptimizerState:
    """The number of steps done and the state of every parameter, in the structure of the target."""

    step: Leaf
    param_states: PyTree

    # Up to Flax 0.3.2 a MultiOptimizer had a list of states, all at the same step, and programs
    # read optimizer.state[0].step.
    def __getitem__(self, index: int) -> OptimizerState:
        del index
        return self

    # Without this, __getitem__ would make a state iterable without end.
    __iter__ = None
