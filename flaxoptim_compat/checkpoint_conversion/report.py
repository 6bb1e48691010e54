"""What a conversion did, and what to write in the program that restores the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from flaxoptim_compat.checkpoint_contents.optax_states import injected
from flaxoptim_compat.checkpoint_contents.tables import (
    leaves_of,
    size_text,
    total_size,
    value_text,
)
from flaxoptim_compat.checkpoint_conversion.convert import FORMS, Converted, Form
from flaxoptim_compat.checkpoint_files.stored import StoredArray

_RATE = """\
A legacy checkpoint holds no learning rate. It is NaN in the new one, until you set it:

  state.opt_state.hyperparams["learning_rate"] = 0.001  # yours

--definition knows it, and other hyper-parameters, from your old program."""

_RATES = """\
A legacy checkpoint holds no learning rates, and the definition has none for a part of the
parameters. They are NaN in the new one: set the hyperparams["learning_rate"] of each part."""

_LEFT_BEHIND = "{} left behind: a legacy program has hyper-parameters in its definition."

_NEW_STATE = """\
  state = TrainState.create(apply_fn=model.apply, params=params, tx=tx)
"""

_RESTORE = {
    "msgpack": """\
  from flax import serialization

{setup}  with open({path!r}, "rb") as file:
      {name} = serialization.from_bytes({template}, file.read())""",
    "orbax": """\
  import os
  from orbax.checkpoint import PyTreeCheckpointer

{setup}  path = os.path.abspath({path!r})
  {name} = PyTreeCheckpointer().restore(path, item={template})""",
}


def report(
    path: str,
    tree: Any,
    format_: Literal["msgpack", "orbax"],
    to: Form,
    converted: Sequence[Converted],
) -> str:
    """What was done and what to do next.

    Args:
      path: of the new checkpoint.
      tree: what is in it.
      format_: how it is written.
      to: the form of the optimizers in it.
      converted: these.
    """
    arrays = [leaf for _, leaf in leaves_of(tree) if isinstance(leaf, StoredArray)]
    lines = [_line(each, to) for each in converted]
    lines.append(f"Wrote {path}: {format_}, {len(arrays):,} arrays, {size_text(total_size(tree))}.")
    sections = ["\n".join(lines), _how_to_restore(path, format_, to, converted)]
    sections += _about_rates(to, converted)
    return "\n\n".join(sections)


def _line(each: Converted, to: Form) -> str:
    step = each.found.step()
    at_step = "" if step is None else f" at step {step}"
    remark = f", taken to have {each.choice.remark}" if each.choice.remark else ""
    return f"Optimizer at {each.found.place}: {each.choice.name}{at_step}{remark}, now {FORMS[to]}."


def _how_to_restore(path: str, format_: str, to: Form, converted: Sequence[Converted]) -> str:
    name, template, setup = "optimizer", "optimizer", ""
    if to == "train-state":
        name, template = "state", "optimizer.to_train_state()"
    if any(each.choice.in_optax for each in converted):
        template, setup = "state", _NEW_STATE
    alone = all(set(each.found.node) <= {*each.found.entries} for each in converted)
    if alone and not converted[0].found.path:
        code = _RESTORE[format_].format(path=path, name=name, template=template, setup=setup)
        return f"Restore it with\n\n{code}"
    code = _RESTORE[format_].format(path=path, name="everything", template="everything", setup="")
    places = " and ".join(each.found.place for each in converted)
    new = "the new TrainState" if setup else template
    return f"Restore it into what you saved, with {new}\nat {places}, all else as it was:\n\n{code}"


def _about_rates(to: Form, converted: Sequence[Converted]) -> list[str]:
    if to == "train-state":
        lacking = [each.choice for each in converted if each.choice.lacks_rate()]
        if not lacking:
            return []
        return [_RATE if all(len(each.assignments) == 1 for each in lacking) else _RATES]
    values = [
        f"{name} {value_text(value)}"
        for each in converted
        for part in injected(each.found.node["opt_state"])
        for name, value in part["hyperparams"].items()
    ]
    return [_LEFT_BEHIND.format(", ".join(values))] if values else []
