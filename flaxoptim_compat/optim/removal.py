"""The deprecation warning of a definition, which says what takes its place."""

from __future__ import annotations

from typing import ClassVar

from flaxoptim_compat import deprecation
from flaxoptim_compat.optim.on_optax import OnOptax

REMOVED_IN = "0.6"

# What an expression takes for granted, if this stands in it.
_PREMISES = {
    "transforms.": "after `from flaxoptim_compat import transforms`",
    "inject_hyperparams": 'with opt_state.hyperparams["learning_rate"] set before each step',
    "labels)": "where labels is a tree like the parameters that holds, for each of them, the"
    ' position of the traversal that selects it, as in "0", or "frozen"',
}


class Removal(OnOptax):
    """Warns of a definition that is made, and names the replacement for its very values."""

    # The subject of the warning, where it is not just the class.
    _removed: ClassVar[str] = ""

    def warn_of_removal(self) -> None:
        """Warn about the line of the program that makes this definition."""
        deprecation.warn(self.removal_notice())

    def removal_notice(self) -> str:
        """What is gone, and what to write instead."""
        ours = (cls for cls in type(self).__mro__ if cls.__module__.startswith(__package__))
        removed = self._removed or f"flax.optim.{next(ours).__name__}"
        return f"{removed} was removed from Flax in {REMOVED_IN}. {self._instead()}"

    def _instead(self) -> str:
        try:
            expression = self.optax_expression()
        except Exception:
            # A subclass may do anything to its hyper-parameters, and must not fail for a warning.
            expression = None
        if expression is None:
            return (
                f"No single optax expression does what this {type(self).__name__} does;"
                " optimizer.to_train_state() turns an optimizer with it into a flax TrainState on"
                " optax, at any step."
            )
        premises = [premise for name, premise in _PREMISES.items() if name in expression]
        return f"{', '.join(['Exactly the same in optax', *premises])}: {expression}"
