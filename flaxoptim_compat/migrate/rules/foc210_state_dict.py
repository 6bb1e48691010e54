"""FOC210: ``optimizer.state_dict()`` and ``optimizer.restore_state(entries)``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.fragments import listed, replaced, span
from flaxoptim_compat.migrate.optimizers.optimizer_findings import findings
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import ANY, Asked, Recognises
from flaxoptim_compat.migrate.optimizers.restored_elsewhere import copies, stored_entries
from flaxoptim_compat.migrate.optimizers.units import Unit
from flaxoptim_compat.migrate.optimizers.use import Use, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.values.objects import Optimizer, StateDict, Stored
from flaxoptim_compat.migrate.values.points_to import PointsTo

RULE = Rule("FOC210", "state-dict")
_FUNCTIONS = {"state_dict": "to_state_dict", "restore_state": "from_state_dict"}


def _use(asked: Asked) -> Use:
    call = asked.call
    wanted = 1 if asked.node.attr == "restore_state" else 0
    if call is None or len(call.args) != wanted or call.keywords:
        return asked.use(RULE.code, OTHER_ARGUMENTS.format(asked.node.attr))
    return asked.use(RULE.code, node=call)


def _use_of_dict(asked: Asked) -> Use:
    problem = f"A TrainState has other entries, for which `{asked.node.attr}` may ask."
    return asked.use(RULE.code, problem, fails_dual=True)


def _entry(points_to: PointsTo, document: Document, node: ast.AST) -> Iterator[Use]:
    """An entry of a state dict, of which a TrainState has only the parameters."""
    match node:
        case ast.Subscript(value=holder, slice=key):
            pass
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[holder]):
            pass
        case _:
            return
    if sites := sites_of(points_to.values(holder), StateDict):
        problem = _OTHER_ENTRIES.format(ast.unparse(key))
        yield Use(RULE.code, document, node, sites, problem, fails_dual=True)


def _of_copy(points_to: PointsTo, document: Document, made: ast.Dict) -> Iterator[Use]:
    """The entries that are set in a copy of a state dict, ``{**entries, "target": params}``."""
    for copied in copies(made):
        sites = sites_of(points_to.values(copied), StateDict)
        for key in filter(None, made.keys if sites else ()):
            problem = _OTHER_ENTRIES.format(ast.unparse(key))
            yield Use(RULE.code, document, key, sites, problem, fails_dual=True)


def _put_together(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is restored from a checkpoint whose entries the program knows."""
    match call.args:
        case [target, saved]:
            sites = sites_of(points_to.values(target), Optimizer) - {None}
            if not sites or _RESTORES not in points_to.package_names(call.func):
                return
            if Stored() in points_to.values(saved) and any(stored_entries(points_to, document)):
                yield Use(RULE.code, document, call, sites, _KNOWN_ENTRIES, fails_dual=True)


# A problem of other rules too, about calls with arguments that flax.optim does not know.
OTHER_ARGUMENTS = "The call of `{}` has other arguments than in flax.optim."
_OTHER_ENTRIES = "A TrainState has other entries than `{}`: write the entries of the TrainState."
_RESTORES = "flax.serialization.from_state_dict"
_KNOWN_ENTRIES = (
    "The program knows the entries from which the optimizer is restored; a TrainState has others."
)
RECOGNISES = Recognises(
    {Optimizer: {"state_dict": _use, "restore_state": _use}, StateDict: {ANY: _use_of_dict}},
    [
        (ast.Subscript, _entry),
        (ast.Compare, _entry),
        (ast.Dict, _of_copy),
        (ast.Call, _put_together),
    ],
)


def find(reading: Reading) -> Iterator[FoundPlace]:
    """Each call of ``state_dict`` or ``restore_state``."""

    def edits_of(use: Use, unit: Unit, imports: ImportPlan) -> tuple[Edit, ...]:
        del unit
        call = use.node
        assert isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)
        function = imports.name_of(f"flax.serialization:{_FUNCTIONS[call.func.attr]}", call)
        given = listed((span(reading, each),) for each in (call.func.value, *call.args))
        return (replaced(reading, call, f"{function}(", *given, ")"),)

    what = "the values of an optimizer as dicts"
    yield from findings(reading, RULE.code, what, "flax.serialization", edits_of)
