"""An optax transformation as the definition of flax.optim that does the same, if there is one.

optax keeps the settings of a transformation in the closures of its functions, under the names of
its arguments, where they can be read. A definition is made of these settings, and fits if the
closures of its own chain hold the same. Nothing is run for that: the caller compares the definition
with the transformation before it relies on the definition.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import optax

from flaxoptim_compat import optim
from flaxoptim_compat.catalogue import PLAIN, RATE

# The function that made one transformation of a chain, and its settings.
Made = tuple[str, Mapping[str, Any]]


def definition_of(tx: optax.GradientTransformation) -> Any:
    """The definition of flax.optim that a transformation could be; None if there is none."""
    theirs = _stages(tx)
    known = {name: value for _, settings in theirs for name, value in settings.items()}
    rate = known.get("step_size")
    if not isinstance(rate, int | float) or not all(maker for maker, _ in theirs):
        return None
    known[RATE] = -rate
    # Definitions with a stage of this package are no transformation of plain optax.
    for row in (row for row in PLAIN if not row.needs_transforms):
        kind = getattr(optim, row.name)
        stages = kind.formula.stages.values()
        arguments = [item for stage in stages for item in stage.arguments.items()]
        read = {name: known[called] for called, name in arguments if called in known}
        numbers = {
            name: value
            for name, value in read.items()
            if name in row.hyper_params and isinstance(value, int | float)
        }
        # No closure holds a flag that chooses between two functions.
        for flag in (False, True):
            definition = kind(**{**dict.fromkeys(row.flags, flag), **numbers})
            values = definition.values(definition.hyper_params)
            ours = _stages(definition.formula.transformation(values))
            if len(ours) == len(theirs) and all(map(_is_like, ours, theirs)):
                return definition
    return None


def _stages(tx: optax.GradientTransformation) -> list[Made]:
    """The transformations of a chain that change the updates."""
    return [
        (maker, settings)
        for maker, settings in _all_stages(tx.init, tx.update)
        # optax.adadelta adds a weight decay of 0.
        if maker != "identity"
        and not (maker == "add_decayed_weights" and _is_same(settings.get("weight_decay"), 0))
    ]


def _all_stages(init: Any, update: Any) -> Iterator[Made]:
    maker = getattr(update, "__qualname__", "").partition(".<locals>")[0]
    inside = {**_closure(init), **_closure(update)}
    if not getattr(update, "__module__", "").startswith("optax."):
        yield "", {}
    elif maker == "chain":
        for each in zip(inside["init_fns"], inside["update_fns"], strict=True):
            yield from _all_stages(*each)
    elif maker == "with_extra_args_support":
        yield from _all_stages(inside["tx"].init, inside["tx"].update)
    else:
        yield maker, inside


def _closure(function: Any) -> Mapping[str, Any]:
    return inspect.getclosurevars(function).nonlocals if inspect.isfunction(function) else {}


def _is_like(ours: Made, theirs: Made) -> bool:
    return ours[0] == theirs[0] and all(
        callable(value) or _is_same(value, theirs[1].get(name)) for name, value in ours[1].items()
    )


def _is_same(first: Any, second: Any) -> bool:
    if first is None or second is None:
        return first is second
    return isinstance(second, bool | int | float) and bool(first == second)
