"""The notice that the making of a definition gives: what is gone, and what to write instead."""

from __future__ import annotations

REMOVED_IN = "0.6"

# What the text of a notice takes for granted, if this stands in it.
_PREMISES = {
    "transforms.": "after `from flaxoptim_compat import transforms`",
    "inject_hyperparams": 'with opt_state.hyperparams["learning_rate"] set before each step',
    "labels)": "where labels is a tree like the parameters that holds, for each of them, the"
    ' position of the traversal that selects it, as in "part_0", or "frozen"',
}


def notice(removed: str, kind: str, expression: str | None) -> str:
    """The text of the notice.

    Args:
      removed: what is gone from Flax.
      kind: the name of the class of the definition.
      expression: what does the same in optax; None if no single expression does.
    """
    subject = f"{removed} was removed from Flax in {REMOVED_IN}."
    if expression is None:
        return (
            f"{subject} No single optax expression does what this {kind} does;"
            " optimizer.to_train_state() turns an optimizer with it into a flax TrainState on"
            " optax, at any step."
        )
    premises = [premise for name, premise in _PREMISES.items() if name in expression]
    return f"{subject} {', '.join(['Exactly the same in optax', *premises])}: {expression}"
