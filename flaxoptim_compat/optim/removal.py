"""The deprecation warning of a definition, which says what takes its place."""

from __future__ import annotations

from typing import Final

REMOVED_IN: Final = "0.6"

# What an expression takes for granted, if this stands in it.
_PREMISES: Final = {
    "transforms.": "after `from flaxoptim_compat import transforms`",
    "inject_hyperparams": 'with opt_state.hyperparams["learning_rate"] set before each step',
    "labels)": "where labels is a tree like the parameters that holds, for each of them, the"
    ' position of the traversal that selects it, as in "0", or "frozen"',
}


def notice(removed: str, made: str, expression: str | None) -> str:
    """What is gone, and what to write instead.

    Args:
      removed: what was removed.
      made: what to call the class of the definition.
      expression: what does the same in optax, if a single expression does.
    """
    subject = f"{removed} was removed from Flax in {REMOVED_IN}."
    if expression is None:
        return (
            f"{subject} No single optax expression does what this {made} does;"
            " optimizer.to_train_state() turns an optimizer with it into a flax TrainState on"
            " optax, at any step."
        )
    premises = [premise for name, premise in _PREMISES.items() if name in expression]
    return f"{subject} {', '.join(['Exactly the same in optax', *premises])}: {expression}"
