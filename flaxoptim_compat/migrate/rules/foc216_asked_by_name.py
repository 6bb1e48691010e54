"""FOC216: a name in a string by which an attribute of an optimizer is read, as by ``hasattr``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import name_asked
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Recognises
from flaxoptim_compat.migrate.optimizers.use import Use, mixed, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Container, Definition, Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULE = Rule("FOC216", "asked-by-name", is_rewritten=False)
_MAKE_A_FUNCTION = {"operator.attrgetter", "operator.methodcaller"}
_ASKED_FOR = {"apply_gradient", "optimizer_def", "target"}
_ASK = {"getattr", "hasattr"}


def _uses(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """The names in a call of one of these functions."""
    names = [each for each in call.args if isinstance(getattr(each, "value", None), str)]
    # To look up the function takes work, and few calls are given a string.
    functions = points_to.package_names(call.func) if names else frozenset()
    if functions & _MAKE_A_FUNCTION:
        # The object is not seen if the function is handed on at once, or reads another name first.
        handed_on = isinstance(document.parents[call], ast.Call | ast.keyword)
        for name in names:
            asked = str(getattr(name, "value", ""))
            if (handed_on or "." in asked) and _ASKED_FOR.intersection(asked.split(".")):
                problem = f"An optimizer may be asked for `{asked}` by this name, which stays."
                yield Use(RULE.code, document, name, frozenset({None}), problem)
    elif functions & _ASK and name_asked(call):
        yield from _asked(points_to, document, call, name_asked(call))


def _asked(points_to: PointsTo, document: Document, call: ast.Call, asked: str) -> Iterator[Use]:
    """The use of an attribute that is asked for by its name."""
    owner, name = call.args[:2]
    values = points_to.values(owner)
    by_name = f"is asked for `{asked}` by this name: write it with a dot, or use isinstance."
    if asked == "create" and (made := sites_of(values, Definition)):
        yield Use(RULE.code, document, name, made, f"The definition {by_name}")
    if not (sites := sites_of(values, Optimizer)):
        return
    # A container has none of these attributes, whatever it holds.
    others = [each for each in values if not isinstance(each, Optimizer | Container)]
    if others or points_to.is_unknown(owner):
        yield Use("FOC219", document, call, sites, mixed(others), is_doubt=True)
    else:
        yield Use(RULE.code, document, name, sites, f"The optimizer {by_name}")


RECOGNISES = Recognises(nodes=[(ast.Call, _uses)])


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Each name in a string by which an attribute of an optimizer is read."""
    what = "the name of something that an optimizer has"
    instead = "the name that a TrainState has, with a dot"
    yield from findings(reading, RULE.code, what, instead, lambda use, unit, imports: ())
