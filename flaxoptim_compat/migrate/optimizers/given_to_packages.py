"""Optimizers in calls of functions that do something else with a TrainState, as ``pickle.dump``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.names.dotted import arguments_of
from flaxoptim_compat.migrate.optimizers.out_of_sight import whose_fields
from flaxoptim_compat.migrate.optimizers.taken_leaves import leaves_taken
from flaxoptim_compat.migrate.optimizers.use import Use, axes_of, sites_of
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.values.objects import Instance, Object, Optimizer
from flaxoptim_compat.migrate.values.points_to import PointsTo


def given_to_package(points_to: PointsTo, document: Document, call: ast.Call) -> Iterator[Use]:
    """An optimizer that is given to a function of a package to which it is not a tree of arrays.

    Args:
      points_to: what is known of the program.
      document: the file.
      call: the call.
    """
    # To ask what is called takes work, and few calls are given anything of flax.optim.
    if not any(points_to.legacy(whose_fields(each)) for each in arguments_of(call)):
        return
    functions = points_to.package_names(call.func)
    yield from _serialized(points_to, document, call, functions)
    yield from leaves_taken(points_to, document, call, functions)


def _serialized(
    points_to: PointsTo, document: Document, call: ast.Call, functions: frozenset[str]
) -> Iterator[Use]:
    """An optimizer that is stored in another way than a TrainState."""
    pickles = bool(functions & _PICKLERS)
    if not pickles and not any(each.startswith(_SERIALIZERS) for each in functions):
        return
    for argument in arguments_of(call):
        given = points_to.legacy(whose_fields(argument) if pickles else argument)
        sites = sites_of(points_to.inside(given), Optimizer)
        if not sites:
            continue
        if pickles:
            if not any(map(_pickles_itself, given)):
                yield Use("FOC218", document, argument, sites, _PICKLED)
            continue
        data = points_to.data_inside(given)
        if axes_of(data) - {""}:
            yield Use("FOC211", document, argument, sites_of(data, Optimizer), _FIRST_COPY)


def _pickles_itself(each: Object) -> bool:
    """Whether it is an object of a class that says what of it is pickled."""
    return isinstance(each, Instance) and any(
        isinstance(method, ast.FunctionDef) and method.name in _PICKLING
        for method in each.of.node.body
    )


_PICKLING = {"__getnewargs__", "__getnewargs_ex__", "__getstate__", "__reduce__", "__reduce_ex__"}
_PICKLERS = {"pickle.dump", "pickle.dumps"}
_PICKLED = (
    "It is pickled, which the functions of optax in a TrainState cannot be: pickle"
    " `flax.serialization.to_state_dict(...)` of it."
)
_SERIALIZERS = ("flax.serialization.", "flax.training.checkpoints.")
_FIRST_COPY = (
    "It is stored as its first copy, a TrainState as all of them: store its `unreplicate()`, and"
    " restore before `replicate()`."
)
