"""FOC201: a definition, such as ``optim.Adam(1e-3)``, as the optax that does the same."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.definitions import change_of, why_no_text
from flaxoptim_compat.migrate.optimizers.optimizer_findings import definition_text
from flaxoptim_compat.migrate.optimizers.reading import Facts, Reading
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.values.objects import Site

RULE = Rule(
    code="FOC201",
    name="constructor",
    summary="a definition of flax.optim, such as `optim.Adam(1e-3)`",
    what="`--to optax` writes the optax transformation that does exactly the same, with "
    "your own expressions in it. Where optax has none, it takes the missing piece from "
    "`flaxoptim_compat.transforms`. `--to shim` only changes where the class comes from.",
    why="The namesakes in optax have other defaults and other formulas: `optax.sgd` has no "
    "momentum unless it is given one, `optax.rmsprop` adds `eps` inside the root, "
    "`optax.adagrad` starts its sum at 0.1. The pages on the optimizers say what each would "
    "change, and by how much.",
    refuses="Where the arguments come from `*` or `**`, where an expression decides which "
    "optax it is (`nesterov=flag`), where the class is your own or is looked up by name, and "
    "where the program asks the definition for something, such as `hyper_params`. The "
    "definition then stays, and its optimizers become TrainStates by `to_train_state()`: "
    "FOC202."
    "\n\nWith `--accept-changes` it writes optax's own namesake where the exact text needs this "
    "package, runs both on a small model, and lists how far apart they end.",
    examples=(
        Example(
            before="""\
from flax import optim


def make(params, args):
    return optim.Adam(args.rate, beta2=0.98, eps=1e-9, weight_decay=args.decay).create(params)
""",
            optax="""\
import optax
from flax.training import train_state


def make(params, args):
    return train_state.TrainState.create(
        apply_fn=None,
        tx=optax.adamw(args.rate, b2=0.98, eps=1e-9, weight_decay=args.decay),
        params=params,
    )
""",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each constructor call; those inside of another are a part of its text."""
    facts = reading.facts
    if facts is None:
        return
    for site, unit in facts.definitions(reading.document):
        if site.name and site.name != "MultiOptimizer" and reading.allows(RULE.code, site.node):
            yield definition_finding(reading, facts, RULE.code, site, unit)


def definition_finding(
    reading: Reading, facts: Facts, code: str, site: Site, unit: Unit
) -> Finding:
    """The finding of a constructor call.

    Args:
      reading: the file.
      facts: what is known of the program.
      code: the rule.
      site: the call.
      unit: what it belongs to.
    """
    document = reading.document
    start, end = document.span(site.node)
    what = f"a definition, flax.optim.{site.name}"
    if not unit.converts:
        cause = unit.problems[0].problem if unit.problems else ""
        instead = "it stays with its optimizer"
        return Finding(code, start, end, what, instead, optax=None, cause=cause)
    if unit.definition_stays:
        # One of those that stay together says why it does itself.
        own = why_no_text(facts.points_to, site, unit.overrides, scheduled=False)
        reason = own or unit.definition_stays
        return Finding(code, start, end, what, f"it stays. {reason}", optax=None, cause=reason)
    gone = (site.node.func,)
    if is_part_of_another(facts, site):
        instead = "a part of the optax around it"
        return Finding(code, start, end, what, instead, optax=Change(drops=gone))
    instead, change = "exactly the same in optax", ""
    if reading.accept_changes and reading.writes:
        change = change_of(facts.points_to, site)
        instead = f"its namesake in optax: {change}" if change else instead

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        if facts.created_here(site.node) is not None or not reading.writes:
            return ()  # FOC202 writes it where the optimizer is created
        text = definition_text(reading, facts.points_to, site, unit, imports)
        return (Edit(start, end, text),)

    optax = Change(edits, drops=gone)
    return Finding(code, start, end, what, instead, optax=optax, change=change)


def is_part_of_another(facts: Facts, site: Site) -> bool:
    """Whether a call stands among the arguments of a MultiOptimizer or a WeightNorm."""
    around = site.document.parents[site.node]
    if isinstance(around, ast.keyword):
        around = site.document.parents[around]
    if isinstance(around, ast.Tuple | ast.List):
        around = site.document.parents[around]
    return any(other.node is around for unit in facts.units for other in unit.sites)
