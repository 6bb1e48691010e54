"""FOC215: checkpoints, in which a TrainState has other entries than an optimizer."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.optimizers.restored_elsewhere import stored_entries
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.known_names import RESTORING

RULE = Rule(
    code="FOC215",
    name="checkpoint",
    summary="a checkpoint with an optimizer is restored, or one is read as nested dicts",
    what="Neither target changes the call: it restores a `TrainState` as it restored an "
    "optimizer."
    "\n\nWhere the program reads `target` or `param_states` from the nested dicts of a checkpoint, "
    "`--to optax` marks the place. Where the same process or folder saves optimizers, these stay "
    "until the line asks for what a TrainState has."
    "\n\nAn optimizer that is restored and never saved, as in an `eval.py` beside `train.py`, or "
    "that is saved in another place than it is restored from, gets the entries of those in its "
    "folder that are saved: the same injected rate, and where one has a weight decay and the other "
    "none, a decay of 0.0. So does one that is given the bytes or the state dict of another. Where "
    "a `MultiOptimizer` is on one side only, or moves other parts, nothing fits, and both stay.",
    why="Checkpoints from before the rewrite have the entries of an optimizer, `target` "
    "and `state`. `flaxoptim-compat checkpoint convert OLD NEW --to train-state` makes those "
    "of a TrainState of them, with moments and step. From then on parameters are saved under "
    "`params`.",
    refuses="Always, where entries are read: it depends on who wrote the file. That others than "
    "those of this program are read or restored there says `# noqa: FOC215`.",
    examples=(
        Example(
            before="""\
from flax import optim
from flax.training import checkpoints


def make(params, pretrained_dir):
    pretrained = checkpoints.restore_checkpoint(pretrained_dir, None)["optimizer"]["target"]
    return optim.GradientDescent(0.1).create(pretrained)
""",
            optax="""\
import optax
from flax.training import checkpoints
from flax.training import train_state


def make(params, pretrained_dir):
    # FOC215: What was saved as an optimizer has this entry; a TrainState has `params`.
    pretrained = checkpoints.restore_checkpoint(pretrained_dir, None)["optimizer"]["target"]
    return train_state.TrainState.create(
        apply_fn=None, tx=optax.sgd(0.1), params=pretrained
    )
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each restored optimizer, and each entry that only an optimizer has in a checkpoint."""
    facts, document = reading.facts, reading.document
    if facts is None:
        return
    found = [use for use, _ in facts.of(RULE.code, document)]
    # Some only keep an optimizer because of what becomes of another one.
    found += [each for unit in facts.units for each in unit.problems if each.code == RULE.code]
    holding = {use.node: use.problem for use in found if use.problem}
    moves = _moves_something(facts, document)
    for call in document.of_kind(ast.Call) if moves or holding else ():
        if call in holding or (moves and _restores_optimizer(facts, call)):
            reason = holding.get(call, "")
            yield from _finding(reading, call, "an optimizer is restored", _CONVERT, reason)
    for node, today in stored_entries(facts.points_to, document):
        if moves or node in holding:
            reason = holding.get(node, _READS.format(today))
            instead = f"{today} of a TrainState"
            yield from _finding(reading, node, _ENTRY, instead, reason)


def _moves_something(facts: Facts, document: Document) -> bool:
    """Whether an optimizer becomes a TrainState where a file runs."""
    together = facts.points_to.processes.together_with(document)
    moving = (unit for unit in facts.units if unit.sites and unit.converts)
    return any(not together.isdisjoint(unit.documents) for unit in moving)


_CONVERT = "flaxoptim-compat checkpoint convert, for those that were saved before"
_ENTRY = "an entry of an optimizer in a checkpoint"
_READS = "What was saved as an optimizer has this entry; a TrainState has `{}`."


def _finding(
    reading: Reading, node: ast.expr, what: str, instead: str, reason: str = ""
) -> Iterator[Finding]:
    if reading.allows(RULE.code, node):
        start, end = reading.document.span(node)
        optax = None if reason else ()
        yield Finding(RULE.code, start, end, what, instead, optax=optax, reason=reason)


def _restores_optimizer(facts: Facts, call: ast.Call) -> bool:
    points_to = facts.points_to
    if not points_to.holds_optimizer(points_to.legacy(call)):
        return False
    names = points_to.package_names(call.func)
    return bool(names & RESTORING)
