"""FOC213 to FOC219: uses of an optimizer that have no counterpart in optax."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.escapes import (
    class_asked,
    given_away,
    leaves_taken,
    put_away,
    stored_otherwise,
)
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import ANY, Asked, Recognises
from flaxoptim_compat.migrate.optimizers.use import Use
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Definition, Optimizer

RULES = (
    Rule("FOC213", "state"),
    Rule("FOC214", "optimizer-def"),
    Rule("FOC218", "given-away", is_rewritten=False),
    Rule("FOC219", "other-use"),
)

# The name of the code in a sentence, and its replacement.
_TEXTS = {
    "FOC213": ("the state of an optimizer", "opt_state, in the structure of optax"),
    "FOC214": ("the definition in an optimizer", "opt_state.hyperparams, for what steps set"),
    "FOC218": ("an optimizer that is given away", "a TrainState, if the package takes one"),
    "FOC219": ("another use of an optimizer", "a use of the TrainState that you write"),
}


def _state(asked: Asked) -> Use:
    parent = asked.document.parents[asked.node]
    name = f"state.{parent.attr}" if isinstance(parent, ast.Attribute) else "state"
    return asked.use("FOC213", OTHER_STRUCTURE.format(name), bridge="reads")


OTHER_STRUCTURE = "`{}` has another structure in optax."


def _definition(asked: Asked) -> Use:
    problem = "A TrainState keeps the transformation as `tx`, without its hyper-parameters."
    return asked.use("FOC214", problem, bridge="reads")


def _unknown(asked: Asked) -> Use | None:
    if asked.sites == {None} and asked.points_to.unknown(asked.node.value) is not None:
        return None  # only a hint said that this is an optimizer, and the attribute says otherwise
    # All that an optimizer had is known to a rule.
    problem = f"An optimizer has no `{asked.node.attr}`: change the line, or delete it."
    return asked.use("FOC219", problem)


def _assigned(asked: Asked) -> Use:
    problem = f"The program assigns to `{asked.node.attr}`, which stays as it is in optax."
    return asked.use("FOC219", problem)


# FOC201 is about attributes that are only read from a definition.
RECOGNISES = Recognises(
    {
        Optimizer: {"state": _state, "optimizer_def": _definition, ANY: _unknown},
        Definition: {ANY: _assigned},
    },
    [(ast.Call, stored_otherwise), (ast.Call, leaves_taken), (ast.Call, class_asked)],
    [(ast.Assign, put_away), (ast.Call, given_away)],
)


def find(code: str, reading: Reading) -> Iterator[FoundPlace]:
    """The uses that one of these rules is about, and why each stays."""
    yield from findings(reading, code, *_TEXTS[code], lambda use, unit, imports: ())
