"""Converts the optimizers in a checkpoint, at any place in the tree, and nothing else."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.pairing import Paths
from flaxoptim_compat.checkpoint_contents.recognise import (
    FoundOptimizer,
    OptimizerForm,
    find_optimizers,
)
from flaxoptim_compat.checkpoint_conversion.choice import (
    Choice,
    Rate,
    from_definition,
    from_fields,
    without_definition,
)
from flaxoptim_compat.checkpoint_conversion.like import Reshaping, shapes_by_place
from flaxoptim_compat.checkpoint_conversion.nnx import as_train_state, nnx_entries, with_empty_parts
from flaxoptim_compat.checkpoint_conversion.stored_trees import as_written, plain
from flaxoptim_compat.checkpoint_conversion.to_legacy import legacy_dict
from flaxoptim_compat.checkpoint_conversion.to_opt_state import optax_dict
from flaxoptim_compat.checkpoint_conversion.to_train_state import train_state_dict
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import at, leaves_of, replaced
from flaxoptim_compat.versions.of_jax import enable_x64

FORMS: dict[OptimizerForm, str] = {
    "train-state": "a TrainState",
    "nnx": "a nnx.Optimizer",
    "legacy": "a legacy optimizer",
}


@dataclasses.dataclass(frozen=True)
class Converted:
    """An optimizer that was converted.

    Args:
      optimizer: the optimizer before the conversion.
      choice: its definition.
      reshaping: the new shapes of its parameters; None without ``like``.
    """

    optimizer: FoundOptimizer
    choice: Choice
    reshaping: Reshaping | None = None


@dataclasses.dataclass(frozen=True)
class ConversionSettings:
    """The settings of a conversion.

    Args:
      to: the new form: ``train-state``, ``nnx`` or ``legacy``.
      name: the name of a definition, which decides if several fit the fields of a state.
      definitions: the definition of the optimizers, or the optax transformation in its place, or a
        dict of these by path. Without one, the fields of the state decide.
      paths: other paths of parameters in the other form, from or to NNX.
      rate: the place of the learning rate in a TrainState.
      like: parameters with the new shapes of the optimizer's parameters, or a dict of these by
        path.
    """

    to: OptimizerForm
    name: str | None = None
    definitions: Any = None
    paths: Paths | None = None
    rate: Rate = "settable"
    like: Any = None


def convert(tree: Any, settings: ConversionSettings) -> tuple[Any, list[Converted]]:
    """The tree of a checkpoint with its optimizers in another form; no array is read.

    Raises:
      CheckpointError: there is nothing to convert, or an optimizer cannot be converted exactly.
    """
    to = settings.to
    optimizers = find_optimizers(tree)
    for optimizer in optimizers:
        optimizer.check_step()
    to_convert = [each for each in optimizers if each.form != to or settings.like is not None]
    if not to_convert:
        raise _nothing_to_convert(optimizers, to)
    if settings.paths and "nnx" not in {to, *(each.form for each in to_convert)}:
        raise CheckpointError(
            "--paths is for the way to NNX, or from there: a TrainState has the paths of the old"
            " program. Leave out --paths."
        )
    by_path = _by_path(settings, to_convert)
    _refuse_unused_name(settings.name, [each for each in to_convert if each.place not in by_path])
    shapes = shapes_by_place(settings.like, [each.place for each in to_convert])
    inside = {(*each.path, entry) for each in optimizers for entry in each.entries}
    converted = []
    for optimizer in to_convert:
        reshaping = None
        definition = by_path.get(optimizer.place)
        with _errors_of(optimizer, definition):
            if optimizer.form == to:
                new, choice = _unchanged(at(tree, optimizer.path), optimizer)
            else:
                new, choice = _converted(optimizer, settings, definition)
            if optimizer.place in shapes:
                reshaping = Reshaping(new, shapes[optimizer.place])
                new, tree = reshaping.optimizer(), reshaping.copies(tree, inside)
        node = at(tree, optimizer.path)
        beside = {key: node[key] for key in node if key not in optimizer.entries}
        tree = replaced(tree, optimizer.path, {**new, **beside})
        converted.append(Converted(optimizer, choice, reshaping))
    return tree, converted


def _unchanged(node: Mapping[str, Any], optimizer: FoundOptimizer) -> tuple[Any, Choice]:
    """The entries of an optimizer that already has the form."""
    if optimizer.form == "legacy":
        node = _with_named_fields(optimizer).node
    entries = {name: node[name] for name in optimizer.entries if name in node}
    return entries, without_definition(optimizer)


@contextlib.contextmanager
def _errors_of(optimizer: FoundOptimizer, definition: Any) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        # The bridge's message is about restoring an optimizer in a program.
        reason = str(error).removeprefix("Cannot restore the optimizer: ")
        reason = reason.removesuffix(" Nothing was restored.")
        raise CheckpointError(
            f"Cannot convert the optimizer at {optimizer.place}: {reason}"
        ) from error
    except Exception as error:
        if definition is None:
            raise
        # The filters of a MultiOptimizer, and a definition of the user's, may raise anything.
        raise CheckpointError(
            f"Cannot convert the optimizer at {optimizer.place}: the definition raises"
            f" {type(error).__name__}: {error}"
        ) from error


def _converted(
    optimizer: FoundOptimizer, settings: ConversionSettings, definition: Any
) -> tuple[Any, Choice]:
    """The entries of an optimizer in another form."""
    optimizer = _with_named_fields(optimizer)
    with _precision_of(optimizer):
        _refuse_no_arrays(optimizer)
        if optimizer.form == "nnx":
            optimizer = as_train_state(optimizer, settings.paths)
        if settings.to != "nnx":
            return _moved(optimizer, settings, definition)
        if optimizer.form == "legacy":
            train_state, choice = _moved(optimizer, settings, definition)
        elif definition is not None:
            raise CheckpointError(
                "the optimizer is in optax already and needs no definition. Leave out --definition."
            )
        else:
            train_state, choice = optimizer.node, without_definition(optimizer)
        return as_written(nnx_entries(train_state, settings.paths)), choice


def _precision_of(optimizer: FoundOptimizer) -> contextlib.AbstractContextManager[None]:
    """A block in which jax keeps 64 bits, if a parameter has 64 bits, as in its program."""
    dtypes = [getattr(each.value, "dtype", None) for each in optimizer.parameters]
    if any(dtype in (np.float64, np.complex128) for dtype in dtypes):
        return enable_x64(True)
    return contextlib.nullcontext()


def _moved(
    optimizer: FoundOptimizer, settings: ConversionSettings, definition: Any
) -> tuple[Any, Choice]:
    """The entries of a TrainState for a legacy optimizer, or the other way round."""
    if optimizer.form == "nnx" and settings.to == "train-state":
        raise CheckpointError(
            "no conversion leads from NNX directly to a TrainState. Convert the checkpoint --to"
            " legacy first, and the result --to train-state."
        )
    params = plain(optimizer.node[optimizer.entry_of_parameters])
    if isinstance(definition, optax.GradientTransformation):
        if optimizer.form != "legacy":
            raise CheckpointError(
                "the given definition is an optax transformation. Give a legacy definition, or"
                " none, to convert back to flax.optim."
            )
        # The program makes this transformation itself, and has its rate there.
        new = optax_dict(optimizer, params, definition)
        return as_written(new), without_definition(optimizer, "fixed")
    if definition is None:
        choice = from_fields(optimizer, settings.name, settings.rate)
    else:
        choice = from_definition(definition, params, settings.rate)
    if optimizer.form == "legacy":
        new = train_state_dict(params, optimizer.node["state"], choice)
    else:
        if optimizer.form == "nnx":
            optimizer = with_empty_parts(optimizer, params, choice)
        new = legacy_dict(optimizer, params, choice)
    return as_written(new), choice


def _with_named_fields(optimizer: FoundOptimizer) -> FoundOptimizer:
    """The optimizer with the fields of named tuples by name; old files have numbers."""
    if optimizer.form != "legacy":
        return optimizer
    node = checkpoints.fields_by_name({name: optimizer.node[name] for name in optimizer.entries})
    (named,) = find_optimizers(node)
    return dataclasses.replace(named, path=optimizer.path)


def _refuse_no_arrays(optimizer: FoundOptimizer) -> None:
    """Refuse parameters that are texts, or Python integers too large for a jax array."""
    integers = np.iinfo(jnp.result_type(int))
    for path, leaf in leaves_of(optimizer.node[optimizer.entry_of_parameters]):
        is_text = isinstance(leaf, str | bytes)
        if is_text or (isinstance(leaf, int) and not integers.min <= leaf <= integers.max):
            raise CheckpointError(
                f"the parameter {'/'.join(path)} is no array, but {leaf!r:.40}. The file is"
                " damaged, or holds no optimizer: use an earlier checkpoint."
            )


def _nothing_to_convert(optimizers: list[FoundOptimizer], to: OptimizerForm) -> CheckpointError:
    if optimizers:
        places = ", ".join(each.place for each in optimizers)
        return CheckpointError(f"There is nothing to convert: at {places} is {FORMS[to]} already.")
    return CheckpointError(
        "The checkpoint has no optimizer: neither 'target' beside 'state', as flax.optim wrote"
        " them, nor 'params' beside 'opt_state', as in a TrainState, nor 'model' beside"
        " 'optimizer', as in NNX. `flaxoptim-compat checkpoint inspect` lists the entries."
    )


def _by_path(settings: ConversionSettings, to_convert: list[FoundOptimizer]) -> dict[str, Any]:
    """The definitions by the places of their optimizers.

    One definition is that of all, unless its learning rate is written, which may be that of one.
    """
    definitions = settings.definitions
    places = [each.place for each in to_convert]
    if definitions is None:
        return {}
    if isinstance(definitions, Mapping):
        unknown = [path for path in definitions if path not in places]
        if unknown:
            raise CheckpointError(
                f"There is a definition for {unknown[0]}, but the optimizers are at"
                f" {', '.join(places)}. Give definitions for these paths only."
            )
        return dict(definitions)
    rate = getattr(getattr(definitions, "hyper_params", None), "learning_rate", 0.0)
    is_written = settings.rate == "settable" and rate is not None and rate is not ...
    if len(places) > 1 and is_written:
        raise CheckpointError(
            f"There is one definition, but there are optimizers at {', '.join(places)}. Give a"
            f" dict by these paths: --definition \"{{'{places[0]}': optim.Adam(0.001), ...}}\"."
        )
    return dict.fromkeys(places, definitions)


def _refuse_unused_name(name: str | None, without: list[FoundOptimizer]) -> None:
    """Refuse a name that fits no optimizer ``without`` a definition."""
    if name is None:
        return
    fitting = {name for optimizer in without for kind in optimizer.kinds for name in kind.names}
    if name not in fitting:
        raise CheckpointError(
            f"--optimizer {name} does not fit: the fields of the state are those of"
            f" {', '.join(sorted(fitting)) or 'no optimizer of flax.optim'}. Name another"
            " optimizer, or leave out --optimizer."
        )
