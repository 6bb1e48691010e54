"""The warning at each definition that a program makes: the removed name, and its replacement."""

from __future__ import annotations

REMOVED_IN = "0.6"

# {part of an expression: what the reader must know or import for the expression}
_PREMISES = {
    "transforms.": "after `from flaxoptim_compat import transforms`",
    "inject_hyperparams": 'with opt_state.hyperparams["learning_rate"] set before each step',
    "labels)": "where labels is a tree like the parameters that holds, for each parameter, the"
    ' position of the traversal that selects it, as in "part_0", or "frozen"',
}


def notice(removed: str, kind: str, expression: str | None) -> str:
    """The text of the notice, for a definition of the class ``kind``.

    The expression is that of optax that does the same; None if no single one does.
    """
    subject = f"{removed} was removed from Flax in {REMOVED_IN}."
    if expression is None:
        return (
            f"{subject} No single optax expression does what this {kind} does. At any step,"
            " optimizer.to_train_state() turns the optimizer into a flax TrainState on optax."
        )
    premises = [premise for part, premise in _PREMISES.items() if part in expression]
    return f"{subject} {', '.join(['Exactly the same in optax', *premises])}: {expression}"
