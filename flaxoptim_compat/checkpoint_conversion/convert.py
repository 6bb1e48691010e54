"""Converting the optimizers in a checkpoint, wherever they stand, and nothing else in it."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import optax

from flaxoptim_compat.bridge import checkpoints
from flaxoptim_compat.bridge.pairing import Paths
from flaxoptim_compat.checkpoint_contents.recognise import Form, FoundOptimizer, find_optimizers
from flaxoptim_compat.checkpoint_conversion.choice import Choice, Rate, given, guessed, kept
from flaxoptim_compat.checkpoint_conversion.like import Reshaping, Shapes, shapes_by_place
from flaxoptim_compat.checkpoint_conversion.nnx import as_train_state, nnx_entries, with_empty_parts
from flaxoptim_compat.checkpoint_conversion.stored_trees import as_written, plain
from flaxoptim_compat.checkpoint_conversion.to_legacy import legacy_dict
from flaxoptim_compat.checkpoint_conversion.to_opt_state import optax_dict
from flaxoptim_compat.checkpoint_conversion.to_train_state import train_state_dict
from flaxoptim_compat.checkpoint_files.stored import CheckpointError
from flaxoptim_compat.checkpoint_files.trees import Path, at, leaves_of, with_children
from flaxoptim_compat.versions.of_jax import enable_x64

FORMS: dict[Form, str] = {
    "train-state": "a TrainState",
    "nnx": "a nnx.Optimizer",
    "legacy": "a legacy optimizer",
}


@dataclasses.dataclass(frozen=True)
class Converted:
    """An optimizer that was converted.

    Args:
      found: the optimizer as it was.
      choice: the definition that it was taken for.
      reshaping: of its parameters; None where nobody asked for it.
    """

    found: FoundOptimizer
    choice: Choice
    reshaping: Reshaping | None = None


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a conversion is told.

    Args:
      to: the form: ``train-state``, ``nnx`` or ``legacy``.
      name: that of a definition, where several fit the fields of a state.
      definitions: the definition of the optimizer, or the optax transformation that takes its
        place, or a dict of them by path; what is not given is read off the fields.
      paths: which parameters are called otherwise in another form, from or to NNX.
      rate: where a TrainState has the learning rate.
      like: parameters with the shapes that those of the optimizer are to have, or a dict of them by
        path.
    """

    to: Form
    name: str | None = None
    definitions: Any = None
    paths: Paths | None = None
    rate: Rate = "settable"
    like: Any = None


def convert(tree: Any, settings: Settings) -> tuple[Any, list[Converted]]:
    """The tree of a checkpoint with its optimizers in another form; their arrays are not read.

    If there is nothing to convert, or it cannot be done exactly, it is refused.
    """
    to = settings.to
    found = find_optimizers(tree)
    for each in found:
        each.check_step()
    to_convert = [each for each in found if each.form != to or settings.like is not None]
    if not to_convert:
        raise _nothing_to_convert(found, to)
    if settings.paths and "nnx" not in {to, *(each.form for each in to_convert)}:
        raise CheckpointError(
            "--paths is for the way to NNX, or from there: a TrainState has the paths of the old"
            " program."
        )
    by_path = _by_path(settings.definitions, to_convert)
    _refuse_unused_name(settings.name, [each for each in to_convert if each.place not in by_path])
    shapes = shapes_by_place(settings.like, [each.place for each in to_convert])
    inside = {(*each.path, entry) for each in found for entry in each.entries}
    converted = []
    for each in to_convert:
        if each.form == to:
            new, choice = _as_it_is(at(tree, each.path), each)
        else:
            new, choice = _converted(each, settings, by_path.get(each.place))
        reshaping = None
        if each.place in shapes:
            new, reshaping = _reshaped(each, new, shapes[each.place])
            tree = reshaping.copies(tree, inside)
        tree = _replaced(tree, each, new, each.path)
        converted.append(Converted(each, choice, reshaping))
    return tree, converted


def _as_it_is(node: Mapping[str, Any], found: FoundOptimizer) -> tuple[Any, Choice]:
    """The entries of an optimizer that has the form already."""
    if found.form == "legacy":
        node = _with_named_fields(found).node
    entries = {name: node[name] for name in found.entries if name in node}
    return entries, kept(found)


def _reshaped(
    found: FoundOptimizer, entries: Mapping[str, Any], like: Shapes
) -> tuple[Any, Reshaping]:
    try:
        reshaping = Reshaping(entries, like)
        return reshaping.optimizer(), reshaping
    except CheckpointError as error:
        raise CheckpointError(f"Cannot convert the optimizer at {found.place}: {error}") from None


def _converted(found: FoundOptimizer, settings: Settings, definition: Any) -> tuple[Any, Choice]:
    try:
        found = _with_named_fields(found)
        with _precision_of(found):
            _refuse_no_arrays(found)
            return _entries(found, settings, definition)
    except ValueError as error:
        # What the bridge says when it restores an optimizer in a program.
        reason = str(error).removeprefix("Cannot restore the optimizer: ")
        reason = reason.removesuffix(" Nothing was restored.")
        raise CheckpointError(f"Cannot convert the optimizer at {found.place}: {reason}") from error
    except Exception as error:
        if definition is None:
            raise
        # The filters of a MultiOptimizer, and a definition of the user's, may raise anything.
        raise CheckpointError(
            f"Cannot convert the optimizer at {found.place}: its definition raises"
            f" {type(error).__name__}: {error}"
        ) from error


def _precision_of(found: FoundOptimizer) -> contextlib.AbstractContextManager[None]:
    """Let jax take parameters of 64 bits as they are, if there are any, as their program did."""
    dtypes = [getattr(each.value, "dtype", None) for each in found.parameters]
    if any(dtype in (np.float64, np.complex128) for dtype in dtypes):
        return enable_x64(True)
    return contextlib.nullcontext()


def _entries(found: FoundOptimizer, settings: Settings, definition: Any) -> tuple[Any, Choice]:
    if found.form == "nnx":
        found = as_train_state(found, settings.paths)
    if settings.to != "nnx":
        return _moved(found, settings, definition)
    if found.form == "legacy":
        train_state, choice = _moved(found, settings, definition)
    elif definition is not None:
        raise CheckpointError("it is in optax already, and needs no definition.")
    else:
        train_state, choice = found.node, kept(found)
    return as_written(nnx_entries(train_state, settings.paths)), choice


def _moved(found: FoundOptimizer, settings: Settings, definition: Any) -> tuple[Any, Choice]:
    """The entries of a legacy optimizer as those of a TrainState, and the other way round."""
    if found.form == "nnx" and settings.to == "train-state":
        raise CheckpointError(
            "from NNX the way to a TrainState is by way of the legacy form: convert it --to legacy,"
            " and that --to train-state."
        )
    params = plain(found.node[found.entry_of_parameters])
    if isinstance(definition, optax.GradientTransformation):
        if found.form != "legacy":
            raise CheckpointError(
                "its definition is an optax transformation, but the way back to flax.optim needs a"
                " legacy definition, or none."
            )
        new = optax_dict(found, params, definition)
        return as_written(new), kept(found, in_optax=True)
    if definition is None:
        choice = guessed(found, settings.name, settings.rate)
    else:
        choice = given(definition, params, settings.rate)
    if found.form == "legacy":
        new = train_state_dict(params, found.node["state"], choice)
    else:
        if found.form == "nnx":
            found = with_empty_parts(found, params, choice)
        new = legacy_dict(found, params, choice)
    return as_written(new), choice


def _with_named_fields(found: FoundOptimizer) -> FoundOptimizer:
    """The optimizer with names for the fields of namedtuples, which once had numbers in files."""
    if found.form != "legacy":
        return found
    node = checkpoints.fields_by_name({name: found.node[name] for name in found.entries})
    (named,) = find_optimizers(node)
    return dataclasses.replace(named, path=found.path)


def _refuse_no_arrays(found: FoundOptimizer) -> None:
    """Refuse texts as parameters, and Python's integers that are too large for an array of jax."""
    integers = np.iinfo(jnp.result_type(int))
    for path, leaf in leaves_of(found.node[found.entry_of_parameters]):
        is_text = isinstance(leaf, str | bytes)
        if is_text or (isinstance(leaf, int) and not integers.min <= leaf <= integers.max):
            raise CheckpointError(f"the parameter {'/'.join(path)} is no array, but {leaf!r:.40}.")


def _nothing_to_convert(found: list[FoundOptimizer], to: Form) -> CheckpointError:
    if found:
        places = ", ".join(each.place for each in found)
        return CheckpointError(f"There is nothing to convert: at {places} is {FORMS[to]} already.")
    return CheckpointError(
        "The checkpoint has no optimizer: neither 'target' beside 'state', as flax.optim wrote"
        " them, nor 'params' beside 'opt_state', as a TrainState has them, nor 'model' beside"
        " 'optimizer', as NNX. flaxoptim-compat checkpoint inspect shows what there is."
    )


def _by_path(definitions: Any, to_convert: list[FoundOptimizer]) -> dict[str, Any]:
    """The definitions by the places of the optimizers that they are for."""
    places = [each.place for each in to_convert]
    if definitions is None:
        return {}
    if isinstance(definitions, Mapping):
        unknown = [path for path in definitions if path not in places]
        if unknown:
            raise CheckpointError(
                f"There is a definition for {unknown[0]}, but the optimizers are at"
                f" {', '.join(places)}."
            )
        return dict(definitions)
    if len(places) > 1:
        raise CheckpointError(
            f"There is one definition, but there are optimizers at {', '.join(places)}. Give a"
            f" dict by these paths: --definition \"{{'{places[0]}': optim.Adam(0.001), ...}}\"."
        )
    return {places[0]: definitions}


def _refuse_unused_name(name: str | None, guesses: list[FoundOptimizer]) -> None:
    if name is None:
        return
    fitting = {each for found in guesses for kind in found.kinds for each in kind.names}
    if name not in fitting:
        raise CheckpointError(
            f"--optimizer {name} does not fit: the fields of the state are those of"
            f" {', '.join(sorted(fitting)) or 'no optimizer of flax.optim'}."
        )


def _replaced(tree: Any, found: FoundOptimizer, new: Mapping[str, Any], path: Path) -> Any:
    """The tree with one optimizer replaced; what stands beside it stays."""
    if path:
        name, *rest = path
        changed = _replaced(tree[name], found, new, tuple(rest))
        return with_children(tree, {**tree, name: changed})
    return {**new, **{key: tree[key] for key in tree if key not in found.entries}}
