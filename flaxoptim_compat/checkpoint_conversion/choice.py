"""Which definition, given or guessed, moves which parameters of an optimizer in a checkpoint."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.checkpoint_contents.fields import Kind, alternatives
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer, at
from flaxoptim_compat.checkpoint_files.stored import CheckpointError

BY_DEFINITION = (
    "Name its definition as your old program made it, or a function that returns it, with"
    " --definition MODULE:NAME. For --definition optimizers:definition, that is a file"
    " optimizers.py here with\n\n"
    "  from flaxoptim_compat import optim\n\n"
    "  definition = optim.{example}"
)


class Choice(NamedTuple):
    """A definition for an optimizer in a checkpoint.

    Args:
      name: its class.
      assignments: what moves which parameter, by its number in the order of jax.
      remark: what was taken for granted; empty if nothing was.
      guessed: whether it was read off the fields, which do not tell the hyper-parameters.
      in_optax: whether it is an optax transformation of the user's, with no assignments.
    """

    name: str
    assignments: Sequence[Assignment]
    remark: str = ""
    guessed: bool = True
    in_optax: bool = False

    def lacks_rate(self) -> bool:
        """Whether the learning rate is not known."""
        rates = [hp.flatten(each.hyper_params).get("learning_rate") for each in self.assignments]
        return any(isinstance(rate, float) and math.isnan(rate) for rate in rates)


def given(definition: Any, params: Any) -> Choice:
    """The definition that the user names.

    Args:
      definition: of a legacy optimizer.
      params: the parameters, as stand-ins.
    """
    found: list[Assignment] = []

    # Filters of a MultiOptimizer ask for shapes and dtypes, which traced parameters have.
    def assign(traced: Any) -> None:
        count = len(jax.tree.leaves(traced))
        found.extend(definition.assign(definition.hyper_params, traced, range(count)))

    jax.eval_shape(assign, params)
    assignments = [
        Assignment(each.definition, _complete(each.definition, each.hyper_params), each.leaves)
        for each in found
    ]
    return Choice(type(definition).__name__, assignments, guessed=False)


def _complete(definition: Any, hyper_params: Any) -> Any:
    """These hyper-parameters, with NaN for a missing learning rate: the first step shows it."""
    if hp.flatten(hyper_params).get("learning_rate", 0.0) is None:
        hyper_params = hp.with_values(hyper_params, {"learning_rate": math.nan})
    return definition.normalise(hyper_params) if definition.on_optax() else hyper_params


def guessed(found: FoundOptimizer, name: str | None) -> Choice:
    """The definition that the fields of an optimizer tell.

    Args:
      found: the optimizer.
      name: that of a definition, which decides where several fit.

    Raises:
      CheckpointError: none fits, or several whose checkpoints differ; the message names them.
    """
    _refuse_unknown(found)
    if found.form != "legacy":
        # In a legacy checkpoint, all definitions with the same fields are the same.
        parts = [_fitting(found, kind)[0] for kind in found.kinds]
        kinds = " and ".join(map(str, found.kinds))
        return Choice(kinds, [part for choice in parts for part in choice.assignments])
    (kind,) = found.kinds
    fitting = _fitting(found, kind)
    if name in kind.names:
        choice = next(choice for choice in fitting if choice.name == name)
        return choice._replace(name=str(dataclasses.replace(kind, names=(choice.name,))))
    layouts: dict[str, list[Choice]] = {}
    for choice in fitting:
        layouts.setdefault(_layout(choice), []).append(choice)
    if len(layouts) > 1:
        raise CheckpointError(_ambiguous(found, list(layouts.values())))
    return fitting[0]._replace(name=str(kind), remark="")


def _layout(choice: Choice) -> str:
    """What distinguishes the optax states of two definitions, before there are moments in them."""
    empty = [Assignment(each.definition, each.hyper_params, ()) for each in choice.assignments]
    state = Conversion(empty, ()).opt_state(0, [])
    return str(jax.tree.structure(serialization.to_state_dict(state)))


def _ambiguous(found: FoundOptimizer, layouts: Sequence[Sequence[Choice]]) -> str:
    where = f"its state has the fields {', '.join(found.kinds[0].fields)}"
    names = list(dict.fromkeys(choice.name for layout in layouts for choice in layout))
    if len(names) == 1:
        remark = layouts[0][0].remark
        return (
            f"{where}, those of {names[0]}. The TrainState depends on hyper-parameters that are not"
            f" in the file. --optimizer {names[0]} takes {remark}. If it had others,"
            f" --definition decides. {BY_DEFINITION.format(example=f'{names[0]}(...)')}"
        )
    flags = " or ".join(f"--optimizer {layout[0].name}" for layout in layouts)
    same = [" and ".join(choice.name for choice in layout) for layout in layouts if layout[1:]]
    note = "".join(f" {each} become the same." for each in same)
    return (
        f"{where}, which are those of {alternatives(names)}, and their TrainStates differ. Say"
        f" which it was: {flags}.{note} A --definition decides too, and gives the learning rate."
    )


def _fitting(found: FoundOptimizer, kind: Kind) -> list[Choice]:
    """All definitions of a kind, for the parameters of this kind."""
    in_order = sorted(found.parameters, key=lambda parameter: parameter.path)
    leaves = tuple(index for index, each in enumerate(in_order) if each.kind == kind)
    fitting = []
    for name in kind.names:
        for options, remark in _options(name, found, kind):
            definition = getattr(optim, name)(learning_rate=math.nan, **options)
            definition = optim.WeightNorm(definition) if kind.weight_norm else definition
            hyper_params = definition.normalise(definition.hyper_params)
            fitting.append(Choice(name, [Assignment(definition, hyper_params, leaves)], remark))
    return fitting


def _refuse_unknown(found: FoundOptimizer) -> None:
    strange = [kind for kind in found.kinds if not kind.names]
    if strange:
        raise CheckpointError(
            f"it is {strange[0]}. {BY_DEFINITION.format(example='MyOptimizer(...)')}"
        )
    if found.parts_unknown or (found.form == "legacy" and len(found.kinds) > 1):
        kinds = ", ".join(map(str, found.kinds))
        raise CheckpointError(
            f"several optimizers move it, or none moves a part of it ({kinds}). Which of them"
            " moves which parameter is not in the file."
            f" {BY_DEFINITION.format(example='MultiOptimizer(...)')}"
        )
    if not found.kinds:
        raise CheckpointError(
            f"nothing moves its parameters. {BY_DEFINITION.format(example='MultiOptimizer(...)')}"
        )


def _options(
    name: str, found: FoundOptimizer, kind: Kind
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """The hyper-parameters that shape a TrainState, each way that the fields leave open."""
    if name == "RMSProp":
        yield {"centered": bool({"mg", "mu"} & set(kind.fields))}, ""
    elif name == "Adafactor":
        beta1 = 0.9 if _has_momentum(found) else None
        for clipping, decay in itertools.product((1.0, None), (None, 0.01)):
            options = {"clipping_threshold": clipping, "weight_decay_rate": decay}
            remark = f"clipping_threshold={clipping} and weight_decay_rate={decay}"
            yield {"beta1": beta1, **options}, remark
    else:
        yield {}, ""


def _has_momentum(found: FoundOptimizer) -> bool:
    """Whether any ``m`` of Adafactor is in use; one that is not has shape (1,)."""
    if found.form != "legacy":
        return "ema" in found.kinds[0].fields
    states = found.node["state"]["param_states"]
    entries = [at(states, each.path) for each in found.parameters if each.kind is not None]
    moments = [at(entry, ("m",)) or at(entry, ("direction_state", "m")) for entry in entries]
    return any(np.shape(moment) != (1,) for moment in moments)
