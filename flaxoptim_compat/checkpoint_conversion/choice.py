"""The definition of an optimizer in a checkpoint: from the user, or from its state's fields."""

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
from flaxoptim_compat.checkpoint_contents.fields import OptimizerKind, alternatives
from flaxoptim_compat.checkpoint_contents.optax_states import moments
from flaxoptim_compat.checkpoint_contents.recognise import FoundOptimizer
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import TreePath, at
from flaxoptim_compat.formula_text.stages import label_of
from flaxoptim_compat.optim.legacy_loop import formula_of

# The place of the learning rate in a TrainState: in opt_state.hyperparams, built in, or in a
# function of the step. The states of these three differ.
Rate = Literal["settable", "fixed", "scheduled"]

_BY_DEFINITION = (
    "Give the definition of your old program: --definition 'optim.{0}(...)' with the same"
    " arguments, or MODULE:NAME of the definition or of a function that returns the definition."
)


class Choice(NamedTuple):
    """A definition for an optimizer in a checkpoint.

    Args:
      name: the name of the definition's class.
      assignments: the definitions, and the parameters that each one moves, by number in jax's
        order.
      remark: the hyper-parameters that were assumed; empty without an assumption.
      guessed: whether the definition comes from the fields, which do not tell hyper-parameters.
      rate: the place of the learning rate in the TrainState.
    """

    name: str
    assignments: Sequence[Assignment]
    remark: str = ""
    guessed: bool = True
    rate: Rate = "settable"

    def conversion(self, params: Any) -> Conversion:
        """The conversion between the legacy state of these parameters and the TrainState's."""
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


def without_definition(optimizer: FoundOptimizer, rate: Rate = "settable") -> Choice:
    """The choice for an optimizer whose moments only move to other places: no definition."""
    return Choice(" and ".join(map(str, optimizer.kinds)), (), guessed=False, rate=rate)


def from_definition(definition: Any, params: Any, rate: Rate) -> Choice:
    """The choice of the definition that the user gives.

    Args:
      definition: a legacy definition. A hyper-parameter that is ``...`` has an unknown value.
      params: the parameters; only their shapes and dtypes count.
      rate: the place of the learning rate in the TrainState.
    """
    assigned: list[Assignment] = []

    # Filters of a MultiOptimizer ask for shapes and dtypes, which traced parameters have.
    def assign(traced: Any) -> None:
        count = len(jax.tree.leaves(traced))
        assigned.extend(definition.assign(definition.hyper_params, traced, range(count)))

    jax.eval_shape(assign, params)
    assignments = [
        dataclasses.replace(each, hyper_params=_complete(each.definition, each.hyper_params))
        for each in assigned
    ]
    return _with_rate(Choice(type(definition).__name__, assignments, guessed=False), rate)


def _complete(definition: Any, hyper_params: Any) -> Any:
    """The hyper-parameters with NaN for unknown values, which the first step would show."""
    values = hp.flatten(hyper_params)
    unknown = {name for name, value in values.items() if value is ...}
    if values.get("learning_rate", 0.0) is None:
        unknown.add("learning_rate")
    hyper_params = hp.with_values(hyper_params, dict.fromkeys(unknown, math.nan))
    own = definition.own_code()
    return hyper_params if own.must_be_called else definition.normalise(hyper_params)


def _with_rate(choice: Choice, rate: Rate) -> Choice:
    """The choice with the learning rate at a place; the schedule is any function of the step."""
    if rate != "scheduled":
        return choice._replace(rate=rate)
    schedule = {"learning_rate": lambda step: step * math.nan}
    scheduled = [
        dataclasses.replace(each, hyper_params=hp.with_values(each.hyper_params, schedule))
        for each in choice.assignments
    ]
    return choice._replace(rate=rate, assignments=scheduled)


def from_fields(optimizer: FoundOptimizer, name: str | None, rate: Rate) -> Choice:
    """The choice of a definition with the fields of an optimizer.

    Args:
      optimizer: the optimizer.
      name: the name of a definition, which decides if several fit.
      rate: the place of the learning rate in the TrainState.

    Raises:
      CheckpointError: no definition fits, or several whose TrainStates differ do; the message names
        them.
    """
    _refuse_unknown(optimizer)
    if optimizer.form != "legacy":
        # In a legacy checkpoint, all definitions with the same fields are the same.
        parts = [_in_its_place(optimizer, _fitting(optimizer, kind)) for kind in optimizer.kinds]
        kinds = " and ".join(map(str, optimizer.kinds))
        found_parts = [part for choice in parts for part in choice.assignments]
        labelled = [
            dataclasses.replace(part, label=label_of(index))
            for index, part in enumerate(found_parts)
        ]
        return Choice(kinds, labelled)
    (kind,) = optimizer.kinds
    fitting = _fitting(optimizer, kind)
    if name in kind.names:
        choice = next(choice for choice in fitting if choice.name == name)
        name = str(dataclasses.replace(kind, names=(choice.name,)))
        return _with_rate(choice._replace(name=name), rate)
    layouts: dict[str, list[Choice]] = {}
    for choice in fitting:
        layouts.setdefault(_layout(choice), []).append(choice)
    if len(layouts) > 1:
        raise CheckpointError(_ambiguous(optimizer, list(layouts.values())))
    return _with_rate(fitting[0]._replace(name=str(kind), remark=""), rate)


def _layout(choice: Choice) -> str:
    """The structure of the optax state without parameters; it differs between definitions."""
    return str(jax.tree.structure(_empty_state(choice)))


def _empty_state(choice: Choice) -> Any:
    """The state dict of the optax state without parameters."""
    empty = [dataclasses.replace(each, leaves=()) for each in choice.assignments]
    return serialization.to_state_dict(Conversion(empty, ()).opt_state(0, []))


def _in_its_place(optimizer: FoundOptimizer, fitting: Sequence[Choice]) -> Choice:
    """The choice whose chain has its moments at the paths of the checkpoint; else the first one.

    A checkpoint of NNX leaves out the parts of a chain without a state.
    """

    def place(choice: Choice) -> TreePath:
        (*_, last) = [(), *(each.path for each in moments(_empty_state(choice)["inner_state"]))]
        return last

    paths = [each.path for each in moments(optimizer.node["opt_state"])]
    fits = [
        choice
        for choice in fitting
        if any(path[len(path) - len(place(choice)) :] == place(choice) for path in paths)
    ]
    return max(fits, key=lambda choice: len(place(choice)), default=fitting[0])


def _ambiguous(optimizer: FoundOptimizer, layouts: Sequence[Sequence[Choice]]) -> str:
    fields = f"the fields of the state are {', '.join(optimizer.kinds[0].fields)}"
    names = list(dict.fromkeys(choice.name for layout in layouts for choice in layout))
    if len(names) == 1:
        remark = layouts[0][0].remark
        return (
            f"{fields}, those of {names[0]}. The TrainState depends on hyper-parameters that are"
            f" not in the file. --optimizer {names[0]} assumes {remark}. For other values, give"
            f" the definition. {_BY_DEFINITION.format(names[0])}"
        )
    flags = alternatives([f"--optimizer {name}" for name in names])
    return (
        f"{fields}, those of {alternatives(names)}, whose TrainStates differ. Name the optimizer:"
        f" {flags}, without weight decay. A --definition names the optimizer too, with its learning"
        f" rate, such as --definition 'optim.{names[0]}(0.001, weight_decay=0.1)'."
    )


def _fitting(optimizer: FoundOptimizer, kind: OptimizerKind) -> list[Choice]:
    """The choices of all definitions with the fields of a kind, for the parameters of this kind."""
    in_order = sorted(optimizer.parameters, key=lambda parameter: parameter.path)
    leaves = tuple(index for index, each in enumerate(in_order) if each.kind == kind)
    fitting = []
    for name in kind.names:
        for options, remark in _options(name, optimizer, kind):
            definition = getattr(optim, name)(learning_rate=math.nan, **options)
            definition = optim.WeightNorm(definition) if kind.weight_norm else definition
            hyper_params = definition.normalise(definition.hyper_params)
            fitting.append(Choice(name, [Assignment(definition, hyper_params, leaves)], remark))
    return fitting


def _refuse_unknown(optimizer: FoundOptimizer) -> None:
    unknown = [kind for kind in optimizer.kinds if not kind.names]
    if unknown:
        raise CheckpointError(
            f"the kind is {unknown[0]}. Name the definition with --definition MODULE:NAME, such as"
            " train:definition for `definition` in train.py, or a function that returns the"
            " definition."
        )
    if optimizer.parts_unknown or (optimizer.form == "legacy" and len(optimizer.kinds) > 1):
        kinds = ", ".join(map(str, optimizer.kinds))
        raise CheckpointError(
            f"several optimizers move the parameters, or some are frozen ({kinds}). The file does"
            " not tell which optimizer moves which parameter."
            f" {_BY_DEFINITION.format('MultiOptimizer')}"
        )
    if not optimizer.kinds:
        raise CheckpointError(
            f"no optimizer moves the parameters. {_BY_DEFINITION.format('MultiOptimizer')}"
        )


def _options(
    name: str, optimizer: FoundOptimizer, kind: OptimizerKind
) -> Iterator[tuple[Mapping[str, Any], str]]:
    """All values, with a remark, of the hyper-parameters that shape a TrainState."""
    if name == "RMSProp":
        yield {"centered": bool({"mg", "mu"} & set(kind.fields))}, ""
    elif name == "Adafactor":
        beta1 = 0.9 if _has_momentum(optimizer) else None
        for clipping, decay in itertools.product((1.0, None), (None, 0.01)):
            options = {"clipping_threshold": clipping, "weight_decay_rate": decay}
            remark = f"clipping_threshold={clipping} and weight_decay_rate={decay}"
            yield {"beta1": beta1, **options}, remark
    elif any(each.text.idle_without for each in getattr(optim, name).formula.stages.values()):
        for decay in (0.0, 0.01):
            yield {"weight_decay": decay}, f"weight_decay={decay:g}"
    else:
        yield {}, ""


def _has_momentum(optimizer: FoundOptimizer) -> bool:
    """True if any ``m`` of Adafactor is in use; an unused ``m`` has shape (1,)."""
    if optimizer.form != "legacy":
        return "ema" in optimizer.kinds[0].fields
    states = optimizer.node["state"]["param_states"]
    entries = [at(states, each.path) for each in optimizer.parameters if each.kind is not None]
    moments = [at(entry, ("m",)) or at(entry, ("direction_state", "m")) for entry in entries]
    return any(np.shape(moment) != (1,) for moment in moments)
