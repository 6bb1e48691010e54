"""The contents of a checkpoint as text for people."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from flaxoptim_compat.checkpoint_contents.array_table import (
    shortened,
    size_text,
    table,
    value_text,
)
from flaxoptim_compat.checkpoint_contents.optax_states import injected
from flaxoptim_compat.checkpoint_contents.recognise import (
    FoundOptimizer,
    Parameter,
    find_optimizers,
)
from flaxoptim_compat.checkpoint_files.opening import Checkpoint
from flaxoptim_compat.checkpoint_files.stored import StoredArray
from flaxoptim_compat.checkpoint_files.trees import TreePath, leaves_of, size_of
from flaxoptim_compat.printable import one_line

_OLD_SHAPES = """
  {} may be of a GroupNorm of Linen up to Flax 0.3.5, such as {}.
  Since then Linen has no axes of size one there. `run` restores without them, and
  `checkpoint convert --like` writes without them. GroupNorm of flax.nn keeps them."""


def summary(checkpoint: Checkpoint) -> str:
    """The text of ``checkpoint inspect``: the file, its optimizers, and its other entries."""
    tree = checkpoint.tree
    optimizers = find_optimizers(tree)
    sections = [_heading(checkpoint, optimizers)]
    sections += [_optimizer(each) for each in optimizers]
    inside = {(*each.path, entry) for each in optimizers for entry in each.entries}
    beside = list(leaves_of(tree, without=inside))
    if beside:
        title = "Other entries:" if optimizers else "Entries:"
        rows = table(("name", "shape", "dtype", "size"), beside, lambda entry: _row(*entry))
        sections.append(f"{title}\n\n{rows}")
    return "\n\n".join(sections)


def _heading(checkpoint: Checkpoint, optimizer: Sequence[FoundOptimizer]) -> str:
    steps = checkpoint.directory_of_steps
    size, count = size_of(checkpoint.tree), sum(1 for _ in leaves_of(checkpoint.tree))
    lines = [
        f"{one_line(checkpoint.path)}: {checkpoint.format}, {size_text(size)} in"
        f" {_count(count, 'entry', 'entries')}"
    ]
    if len(steps) > 1:
        others = ", ".join(f"{each.step:g}" for each in steps)
        lines.append(
            f"The newest of {len(steps)} checkpoints in the directory, whose steps are {others}."
        )
    if not optimizer:
        lines.append(
            "No optimizer: neither 'target' beside 'state', as flax.optim wrote them, nor 'params'"
            " beside 'opt_state', as in a TrainState, nor 'model' beside 'optimizer', as in NNX."
        )
    return "\n".join(lines)


def _optimizer(optimizer: FoundOptimizer) -> str:
    kinds = " and ".join(map(str, optimizer.kinds)) or "no optimizer that moves a parameter"
    lines = [
        f"Optimizer at {shortened(optimizer.place)}",
        f"  kind      {kinds}{_frozen(optimizer)}",
        f"  layout    {optimizer.layout}",
        f"  step      {_step(optimizer)}",
        f"  state     {_moments(optimizer)}",
    ]
    if optimizer.form != "legacy":
        rates = [
            f"{name} {value_text(value)}"
            for each in injected(optimizer.node["opt_state"])
            for name, value in each["hyperparams"].items()
        ]
        lines.append(f"  settable  {', '.join(rates) or 'nothing: the rates are in the program'}")
    owners = {parameter.kind for parameter in optimizer.parameters}
    names = ("parameter", "shape", "dtype", "size", *(["optimizer"] if len(owners) > 1 else []))
    without_kind = "unknown" if optimizer.parts_unknown else "frozen"

    def row(parameter: Parameter) -> tuple[str, ...]:
        kind = without_kind if parameter.kind is None else str(parameter.kind)
        return (*_row(parameter.path, parameter.value), *([kind] if len(owners) > 1 else []))

    count = _count(len(optimizer.parameters), "parameter")
    numbers = sum(math.prod(_shape(each.value)) for each in optimizer.parameters)
    size = size_of(optimizer.node[optimizer.entry_of_parameters])
    total = f"{count}, {numbers:,} numbers, {size_text(size)}"
    return "\n".join(
        [*lines, "", table(names, optimizer.parameters, row), f"  {total}", *_old_shapes(optimizer)]
    )


def _old_shapes(optimizer: FoundOptimizer) -> Iterator[str]:
    """A remark on parameters with the old shapes of GroupNorm, if there are any."""
    layers: dict[TreePath, dict[str, Any]] = {}
    for each in optimizer.parameters:
        layers.setdefault(each.path[:-1], {})["/".join(each.path[-1:])] = each.value
    old = [
        "/".join((*path, name))
        for path, layer in layers.items()
        if layer.keys() <= {"scale", "bias"} and all(map(_has_ones_before, layer.values()))
        for name in layer
    ]
    # Copies for devices have one more axis before the axes of each array.
    first = {_shape(each.value)[:1] for each in optimizer.parameters}
    if old and first != {(1,)}:
        yield _OLD_SHAPES.format(_count(len(old), "parameter"), old[0])


def _has_ones_before(value: Any) -> bool:
    shape = _shape(value)
    return len(shape) > 1 and {*shape[:-1]} == {1}


def _frozen(optimizer: FoundOptimizer) -> str:
    if optimizer.parts_unknown:
        return "; the file does not tell which optimizer moves which parameter"
    frozen = sum(each.kind is None for each in optimizer.parameters)
    if not frozen or not optimizer.kinds:
        return ""
    return f" for a part, {_count(frozen, 'parameter')} frozen"


def _step(optimizer: FoundOptimizer) -> str:
    optimizer.check_step()
    step = optimizer.step
    if step is None:
        return "not in the file"
    if isinstance(step, int | float):
        return f"{step}"
    values = sorted({int(value) for value in step.flat})
    return f"{', '.join(map(str, values))}, with a copy for each of {step.size} devices"


def _moments(optimizer: FoundOptimizer) -> str:
    state = optimizer.node["state" if optimizer.form == "legacy" else "opt_state"]
    fields = list(dict.fromkeys(field for kind in optimizer.kinds for field in kind.fields))
    if any(kind.weight_norm for kind in optimizer.kinds):
        fields.append("directions and scales")
    return f"{', '.join(fields)}, {size_text(size_of(state))}" if fields else "none"


def _row(path: TreePath, leaf: Any) -> tuple[str, ...]:
    name = shortened("/".join(path)) or "(the whole file)"
    if isinstance(leaf, StoredArray):
        shape = "×".join(map(str, leaf.shape)) or "scalar"
        return name, shape, leaf.dtype.name, size_text(leaf.nbytes)
    return name, value_text(leaf), type(leaf).__name__, ""


def _shape(value: Any) -> tuple[int, ...]:
    return value.shape if isinstance(value, StoredArray) else ()


def _count(number: int, singular: str, plural: str = "") -> str:
    return f"{number:,} {singular if number == 1 else plural or singular + 's'}"
