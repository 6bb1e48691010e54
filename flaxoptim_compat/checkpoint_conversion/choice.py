"""Which definition, given or guessed, moves which parameters of an optimizer in a checkpoint."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from flax import serialization

from flaxoptim_compat import optim
from flaxoptim_compat.bridge import hyper_params as hp
from flaxoptim_compat.bridge.definition import Assignment
from flaxoptim_compat.bridge.train_state import Conversion
from flaxoptim_compat.checkpoint_contents.fields import Kind, alternatives
from flaxoptim_compat.checkpoint_contents.optax_states import moments
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import Path, at
from flaxoptim_compat.formula_text.stages import label_of
from flaxoptim_compat.optim.legacy_loop import formula_of

# Where a TrainState has the learning rate: in opt_state.hyperparams, built in, or in a function of
# the step. Their states differ.
Rate = Literal["settable", "fixed", "scheduled"]

_BY_DEFINITION = (
    "Give its definition as your old program made it: --definition 'optim.{0}(...)' with the"
    " arguments that it had, or MODULE:NAME of it, or of a function that returns it."
)


class Choice(NamedTuple):
    """A definition for an optimizer in a checkpoint.

    Args:
      name: its class.
      assignments: what moves which parameter, by its number in the order of jax.
      remark: what was taken for granted; empty if nothing was.
      guessed: whether it was read off the fields, which do not tell the hyper-parameters.
      in_optax: whether it is an optax transformation of the user's, with no assignments.
      rate: where the TrainState has the learning rate.
    """

    name: str
    assignments: Sequence[Assignment]
    remark: str = ""
    guessed: bool = True
    in_optax: bool = False
    rate: Rate = "settable"

    def conversion(self, params: Any) -> Conversion:
        """Between the legacy state of these parameters and the state of the TrainState."""
        settable = self.rate == "settable"
        return Conversion(
            self.assignments,
            params,
            inject_arrays=settable,
            inject_numbers=settable,
            formula_of=formula_of,
        )

    def lacks_rate(self) -> bool:
        """True if the TrainState needs a learning rate that is not known."""
        if self.rate != "settable":
            return False
        rates = [hp.flatten(each.hyper_params).get("learning_rate") for each in self.assignments]
        return any(isinstance(rate, float) and math.isnan(rate) for rate in rates)


def kept(found: FoundOptimizer, *, in_optax: bool = False) -> Choice:
    """No definition, for an optimizer whose moments are only put elsewhere."""
    return Choice(" and ".join(map(str, found.kinds)), (), guessed=False, in_optax=in_optax)


def given(definition: Any, params: Any, rate: Rate) -> Choice:
    """The definition that the user names.

    Args:
      definition: of a legacy optimizer. A hyper-parameter that is ``...`` has some value.
      params: the parameters; only their shapes and dtypes count.
      rate: where the TrainState has the learning rate.
    """
    found: list[Assignment] = []

    # Filters of a MultiOptimizer ask for shapes and dtypes, which traced parameters have.
    def assign(traced: Any) -> None:
        count = len(jax.tree.leaves(traced))
        found.extend(definition.assign(definition.hyper_params, traced, range(count)))

    jax.eval_shape(assign, params)
    assignments = [
        dataclasses.replace(each, hyper_params=_complete(each.definition, each.hyper_params))
        for each in found
    ]
    return _with_rate(Choice(type(definition).__name__, assignments, guessed=False), rate)


def _complete(definition: Any, hyper_params: Any) -> Any:
    """These hyper-parameters, with NaN for what is not said: the first step shows it."""
    values = hp.flatten(hyper_params)
    unsaid = {name for name, value in values.items() if value is ...}
    if values.get("learning_rate", 0.0) is None:
        unsaid.add("learning_rate")
    hyper_params = hp.with_values(hyper_params, dict.fromkeys(unsaid, math.nan))
    return (
        hyper_params if definition.own_code().must_be_called else definition.normalise(hyper_params)
    )


def _with_rate(choice: Choice, rate: Rate) -> Choice:
    """The choice with the learning rate there; a schedule is any function of the step."""
    if rate != "scheduled":
        return choice._replace(rate=rate)
    schedule = {"learning_rate": lambda step: step * math.nan}
    scheduled = [
        dataclasses.replace(each, hyper_params=hp.with_values(each.hyper_params, schedule))
        for each in choice.assignments
    ]
    return choice._replace(rate=rate, assignments=scheduled)


def guessed(found: FoundOptimizer, name: str | None, rate: Rate) -> Choice:
    """The definition that the fields of an optimizer tell.

    Args:
      found: the optimizer.
      name: that of a definition, which decides where several fit.
      rate: where the TrainState has the learning rate.

    Raises:
      CheckpointError: none fits, or several whose checkpoints differ; the message names them.
    """
    _refuse_unknown(found)
    if found.form != "legacy":
        # In a legacy checkpoint, all definitions with the same fields are the same.
        parts = [_in_its_place(found, _fitting(found, kind)) for kind in found.kinds]
        kinds = " and ".join(map(str, found.kinds))
        found_parts = [part for choice in parts for part in choice.assignments]
        labelled = [
            dataclasses.replace(part, label=label_of(index))
            for index, part in enumerate(found_parts)
        ]
        return Choice(kinds, labelled)
    (kind,) = found.kinds
    fitting = _fitting(found, kind)
    if name in kind.names:
        choice = next(choice for choice in fitting if choice.name == name)
        name = str(dataclasses.replace(kind, names=(choice.name,)))
        return _with_rate(choice._replace(name=name), rate)
    layouts: dict[str, list[Choice]] = {}
    for choice in fitting:
        layouts.setdefault(_layout(choice), []).append(choice)
    if len(layouts) > 1:
        raise CheckpointError(_ambiguous(found, list(layouts.values())))
    return _with_rate(fitting[0]._replace(name=str(kind), remark=""), rate)


def _layout(choice: Choice) -> str:
    """The structure of an optax state without parameters, which tells definitions apart."""
    return str(jax.tree.structure(_empty_state(choice)))


def _empty_state(choice: Choice) -> Any:
    """The state dict of no parameters."""
    empty = [dataclasses.replace(each, leaves=()) for each in choice.assignments]
    return serialization.to_state_dict(Conversion(empty, ()).opt_state(0, []))


def _in_its_place(found: FoundOptimizer, fitting: Sequence[Choice]) -> Choice:
    """The choice whose chain has its moments where they were found, or the first.

    A checkpoint of NNX does not have the parts of a chain that have no state.
    """

    def place(choice: Choice) -> Path:
        (*_, last) = [(), *(each.path for each in moments(_empty_state(choice)["inner_state"]))]
        return last

    paths = [each.path for each in moments(found.node["opt_state"])]
    fits = [
        choice
        for choice in fitting
        if any(path[len(path) - len(place(choice)) :] == place(choice) for path in paths)
    ]
    return max(fits, key=lambda choice: len(place(choice)), default=fitting[0])


def _ambiguous(found: FoundOptimizer, layouts: Sequence[Sequence[Choice]]) -> str:
    where = f"its state has the fields {', '.join(found.kinds[0].fields)}"
    names = list(dict.fromkeys(choice.name for layout in layouts for choice in layout))
    if len(names) == 1:
        remark = layouts[0][0].remark
        return (
            f"{where}, those of {names[0]}. The TrainState depends on hyper-parameters that are not"
            f" in the file. --optimizer {names[0]} takes {remark}. If it had others, the"
            f" definition decides. {_BY_DEFINITION.format(names[0])}"
        )
    flags = alternatives([f"--optimizer {name}" for name in names])
    return (
        f"{where}, which are those of {alternatives(names)}, and their TrainStates differ. Say"
        f" which it was: {flags}, without weight decay. A --definition decides too, and gives the"
        f" learning rate, such as --definition 'optim.{names[0]}(0.001, weight_decay=0.1)'."
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
            f"it is {strange[0]}. Name its definition with --definition MODULE:NAME, such as"
            " train:definition for `definition` in train.py, or a function there that returns it."
        )
    if found.parts_unknown or (found.form == "legacy" and len(found.kinds) > 1):
        kinds = ", ".join(map(str, found.kinds))
        raise CheckpointError(
            f"several optimizers move it, or none moves a part of it ({kinds}). Which of them"
            " moves which parameter is not in the file."
            f" {_BY_DEFINITION.format('MultiOptimizer')}"
        )
    if not found.kinds:
        raise CheckpointError(
            f"nothing moves its parameters. {_BY_DEFINITION.format('MultiOptimizer')}"
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
    elif any(each.text.idle_without for each in getattr(optim, name).formula.stages.values()):
        for decay in (0.0, 0.01):
            yield {"weight_decay": decay}, f"weight_decay={decay:g}"
    else:
        yield {}, ""


def _has_momentum(found: FoundOptimizer) -> bool:
    """True if any ``m`` of Adafactor is in use; one that is not has shape (1,)."""
    if found.form != "legacy":
        return "ema" in found.kinds[0].fields
    states = found.node["state"]["param_states"]
    entries = [at(states, each.path) for each in found.parameters if each.kind is not None]
    moments = [at(entry, ("m",)) or at(entry, ("direction_state", "m")) for entry in entries]
    return any(np.shape(moment) != (1,) for moment in moments)
