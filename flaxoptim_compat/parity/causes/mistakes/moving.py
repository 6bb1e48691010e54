"""What gets lost when a run is moved over to optax on the way."""

from __future__ import annotations

from flaxoptim_compat.parity.causes.mistake import Mistake

_REMEDY = "optimizer.to_train_state(), which takes the moments and the step along"

# ``candidates.subject_of`` makes these: they are in the state, and in no optimizer.
FRESH = Mistake(
    "moments-dropped",
    (),
    says="starts with new moments and at step 0; the Optimizer goes on with those that it has",
    remedy=_REMEDY,
    made=lambda recipe: recipe,
    slot="state",
)
RESTARTED = Mistake(
    "step-restarted",
    (),
    says=(
        "has the moments of the Optimizer but counts its steps from 0; the Optimizer goes on"
        " counting"
    ),
    remedy=_REMEDY,
    made=lambda recipe: recipe,
    slot="state",
)
