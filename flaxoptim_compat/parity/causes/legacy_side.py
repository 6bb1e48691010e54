"""A legacy side as definitions of this package, whose settings are known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from flaxoptim_compat import optim
from flaxoptim_compat.parity.counterparts import (
    counterpart,
    is_definition,
    is_optimizer,
    recorded_optimizer,
)
from flaxoptim_compat.parity.recordings.recording import Recording

OF_FLAX = "flax.optim's definition"


@dataclasses.dataclass(frozen=True)
class Legacy:
    """A definition of this package, and the Optimizer that goes on with it, if there is one.

    Args:
      definition: the definition.
      optimizer: the Optimizer.
      called: what to call the side in a sentence.
    """

    definition: Any
    optimizer: Any = None
    called: str = OF_FLAX

    @property
    def steps(self) -> int:
        """How many steps the Optimizer has done; a replicated one counts on each device."""
        return 0 if self.optimizer is None else int(np.reshape(self.optimizer.state.step, -1)[0])


def legacy(subject: Any) -> Legacy | None:
    """What a side is in this package; None if it is nothing that flax.optim had.

    Args:
      subject: any side. Those of the genuine flax.optim are recognised by their names and fields,
        and of a recording its first state goes on.
    """
    if isinstance(subject, Recording):
        ours = recorded_optimizer(subject)
    elif is_optimizer(subject) or is_definition(subject):
        ours = counterpart(subject, optim)
    else:
        return None
    if is_optimizer(ours):
        return Legacy(ours.optimizer_def, ours)
    return None if ours is None else Legacy(ours)
