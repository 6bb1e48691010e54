"""The contents of a checkpoint as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from flaxoptim_compat.checkpoint_contents.array_table import (
    name_text,
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
from flaxoptim_compat.checkpoint_files.trees import Path, leaves_of, size_of
from flaxoptim_compat.printable import one_line

_OLD_SHAPES = """
  {} may be of a GroupNorm of Linen up to Flax 0.3.5, such as {}.
  Since then Linen has no axes of size one there. `run` restores without them, and
  `checkpoint convert --like` writes without them. GroupNorm of flax.nn keeps them."""


def summary(checkpoint: Checkpoint) -> str:
    """The file, every optimizer in it with its parameters, and what stands beside them."""
    tree = checkpoint.tree
    found = find_optimizers(tree)
    sections = [_heading(checkpoint, found)]
    sections += [_optimizer(each) for each in found]
    inside = {(*each.path, entry) for each in found for entry in each.entries}
    beside = list(leaves_of(tree, without=inside))
    if beside:
        title = "Beside that:" if found else "Entries:"
        rows = table(("name", "shape", "dtype", "size"), beside, lambda each: _row(*each))
        sections.append(f"{title}\n\n{rows}")
    return "\n\n".join(sections)


def _heading(checkpoint: Checkpoint, found: Sequence[FoundOptimizer]) -> str:
    steps = checkpoint.directory_of_steps
    leaves = [leaf for _, leaf in leaves_of(checkpoint.tree)]
    size = sum(leaf.nbytes for leaf in leaves if isinstance(leaf, StoredArray))
    lines = [
        f"{one_line(checkpoint.path)}: {checkpoint.format}, {size_text(size)} in"
        f" {_count(len(leaves), 'entry', 'entries')}"
    ]
    if len(steps) > 1:
        others = ", ".join(f"{each.step:g}" for each in steps)
        lines.append(f"The newest of {len(steps)} in the directory, those of steps {others}.")
    if not found:
        lines.append(
            "No optimizer: neither 'target' beside 'state', as flax.optim wrote them, nor 'params'"
            " beside 'opt_state', as a TrainState has them, nor 'model' beside 'optimizer', as NNX."
        )
    return "\n".join(lines)


def _optimizer(found: FoundOptimizer) -> str:
    kinds = " and ".join(map(str, found.kinds)) or "no optimizer that moves anything"
    lines = [
        f"Optimizer at {shortened(found.place)}",
        f"  kind      {kinds}{_frozen(found)}",
        f"  layout    {found.layout}",
        f"  step      {_step(found)}",
        f"  state     {_moments(found)}",
    ]
    if found.form != "legacy":
        rates = [
            f"{name} {value_text(value)}"
            for each in injected(found.node["opt_state"])
            for name, value in each["hyperparams"].items()
        ]
        lines.append(f"  settable  {', '.join(rates) or 'nothing: the rates are in the program'}")
    owners = {parameter.kind for parameter in found.parameters}
    names = ("parameter", "shape", "dtype", "size", *(["optimizer"] if len(owners) > 1 else []))
    nothing = "unknown" if found.parts_unknown else "frozen"

    def row(each: Parameter) -> tuple[str, ...]:
        kind = nothing if each.kind is None else str(each.kind)
        return (*_row(each.path, each.value), *([kind] if len(owners) > 1 else []))

    arrays = [each.value for each in found.parameters]
    size = sum(each.nbytes for each in arrays if isinstance(each, StoredArray))
    total = f"{_count(len(arrays), 'parameter')}, {_numbers(arrays):,} numbers, {size_text(size)}"
    return "\n".join(
        [*lines, "", table(names, found.parameters, row), f"  {total}", *_old_shapes(found)]
    )


def _old_shapes(found: FoundOptimizer) -> Iterator[str]:
    """A remark on parameters in the shapes that GroupNorm had, if there are any."""
    layers: dict[Path, dict[str, Any]] = {}
    for each in found.parameters:
        layers.setdefault(each.path[:-1], {})["/".join(each.path[-1:])] = each.value
    old = [
        "/".join((*path, name))
        for path, layer in layers.items()
        if layer.keys() <= {"scale", "bias"} and all(map(_has_ones_before, layer.values()))
        for name in layer
    ]
    # In a copy for one device each array has an axis before its own.
    first = {getattr(each.value, "shape", ())[:1] for each in found.parameters}
    if old and first != {(1,)}:
        yield _OLD_SHAPES.format(_count(len(old), "parameter"), old[0])


def _has_ones_before(value: Any) -> bool:
    shape = getattr(value, "shape", ())
    return len(shape) > 1 and {*shape[:-1]} == {1}


def _frozen(found: FoundOptimizer) -> str:
    if found.parts_unknown:
        return "; which of them moves which parameter is not in the file"
    if not found.frozen or not found.kinds:
        return ""
    return f" for a part, {_count(found.frozen, 'parameter')} frozen"


def _step(found: FoundOptimizer) -> str:
    found.check_step()
    step = found.step
    if step is None:
        return "not in the file"
    if isinstance(step, int | float):
        return f"{step}"
    values = sorted({int(value) for value in step.flat})
    return f"{', '.join(map(str, values))}, with a copy for each of {step.size} devices"


def _moments(found: FoundOptimizer) -> str:
    state = found.node["state" if found.form == "legacy" else "opt_state"]
    fields = list(dict.fromkeys(field for kind in found.kinds for field in kind.fields))
    if any(kind.weight_norm for kind in found.kinds):
        fields.append("directions and scales")
    return f"{', '.join(fields)}, {size_text(size_of(state))}" if fields else "none"


def _row(path: Path, leaf: Any) -> tuple[str, ...]:
    name = name_text(path)
    if isinstance(leaf, StoredArray):
        shape = "×".join(map(str, leaf.shape)) or "scalar"
        return name, shape, leaf.dtype.name, size_text(leaf.nbytes)
    return name, value_text(leaf), type(leaf).__name__, ""


def _numbers(arrays: Sequence[Any]) -> int:
    return sum(
        each.nbytes // max(each.dtype.itemsize, 1) if isinstance(each, StoredArray) else 1
        for each in arrays
    )


def _count(number_of: int, one: str, many: str = "") -> str:
    return f"{number_of:,} {one if number_of == 1 else many or one + 's'}"
