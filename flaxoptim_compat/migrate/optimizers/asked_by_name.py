"""What an optimizer is asked for by a name that stands in a string."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.optimizers.models_of_flax_nn import may_be_models
from flaxoptim_compat.migrate.optimizers.use import MIXED, Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Container, Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo


def asked_by_name(
    points_to: PointsTo, document: Document, call: ast.Call, functions: frozenset[str]
) -> Iterator[Use]:
    """The names in a call of one of these functions.

    Args:
      points_to: what is known of the program.
      document: the file.
      call: the call.
      functions: what of ``ASK`` it calls, by full names.
    """
    if not functions & _MAKE_A_FUNCTION:
        if is_named(call):
            yield from _asked(points_to, document, call, "hasattr" in functions)
        return
    # What it is applied to is not seen where it is handed on at once, or asks for a field before.
    handed_on = isinstance(document.parents[call], ast.Call | ast.keyword)
    for name in call.args:
        match name:
            case ast.Constant(value=str(asked)) if (
                handed_on or "." in asked
            ) and _ASKED_FOR.intersection(asked.split(".")):
                problem = f"An optimizer may be asked for `{asked}` by this name, which stays."
                yield Use("FOC218", document, name, frozenset({None}), problem)


def is_named(call: ast.Call) -> bool:
    """Whether a call of ``getattr`` or ``hasattr`` writes out the name that it asks for."""
    match call.args:
        case [_, ast.Constant(value=str()), *_]:
            return True
    return False


def _asked(
    points_to: PointsTo, document: Document, call: ast.Call, only_whether: bool
) -> Iterator[Use]:
    owner, name = call.args[:2]
    assert isinstance(name, ast.Constant) and isinstance(name.value, str)
    if not sites_of(points_to.legacy(owner), Optimizer):
        return
    values = points_to.values(owner)
    sites = sites_of(values, Optimizer)
    # A container has none of these, whatever it holds.
    others = any(not isinstance(each, Optimizer | Container) for each in values)
    if others or points_to.is_unknown(owner):
        yield Use("FOC219", document, call, sites, MIXED)
    elif name.value not in NAMES_TODAY or (name.value == "apply_gradient" and not only_whether):
        problem = f"It is asked for `{name.value}` by this name, which a TrainState may not have."
        yield Use("FOC218", document, name, sites, problem)
    elif name.value == "target" and may_be_models(points_to, [document]):
        yield Use("FOC218", document, name, sites, _MODELS)
    else:
        yield Use("FOC216", document, name, sites)


# What a TrainState calls them.
NAMES_TODAY = {"apply_gradient": "apply_gradients", "target": "params"}
_MODELS = (
    "It is asked for its target by this name, and models of flax.nn have what a TrainState calls"
    " so: `params`."
)
_MAKE_A_FUNCTION = {"operator.attrgetter", "operator.methodcaller"}
ASK = {"getattr", "hasattr", *_MAKE_A_FUNCTION}
_ASKED_FOR = {"apply_gradient", "optimizer_def", "target"}
