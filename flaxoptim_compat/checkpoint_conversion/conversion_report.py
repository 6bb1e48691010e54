"""The report of a conversion, with code for the program that restores the result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from flaxoptim_compat.checkpoint_contents.array_table import size_text, value_text
from flaxoptim_compat.checkpoint_contents.optax_states import injected
from flaxoptim_compat.checkpoint_contents.recognise import OptimizerForm
from flaxoptim_compat.checkpoint_conversion.convert import FORMS, Converted
from flaxoptim_compat.checkpoint_files.trees import arrays, size_of

_RATE = """\
A legacy checkpoint holds no learning rate, so the learning rate is NaN in the new checkpoint. A
program that gives a rate to each step needs nothing. Any other program sets the rate once:

  {} = 0.001  # yours"""

_OF_REWRITE = """\
A program written by rewrite --to optax restores the file without changes, if --definition and
--rate are those that rewrite printed."""

_FROM_DEFINITION = (
    "With --definition, the conversion takes the rate and other hyper-parameters from the old"
    " program."
)

_RATES = """\
A legacy checkpoint holds no learning rates, and the definition has none for a part of the
parameters. These rates are NaN in the new checkpoint. A program that gives rates to each step needs
nothing. Any other program sets the hyperparams["learning_rate"] of each part."""

_LEFT_BEHIND = "{} left behind: a legacy program has hyper-parameters in its definition."

_NEW_STATE = """\
  state = TrainState.create(apply_fn=model.apply, params=params, tx=tx)
"""

_RATES_IN = {
    "train-state": 'state.opt_state.hyperparams["learning_rate"]',
    "nnx": 'optimizer.opt_state.hyperparams["learning_rate"][...]',
}

_RESTORE_NNX = {
    "msgpack": """\
  from flax import nnx, serialization

  with open({path!r}, "rb") as file:
      restored = serialization.msgpack_restore(file.read()){place}""",
    "orbax": """\
  import os
  from flax import nnx
  from orbax.checkpoint import StandardCheckpointer

  restored = StandardCheckpointer().restore(os.path.abspath({path!r})){place}""",
}

_INTO_NNX = """
  both = {"model": model, "optimizer": optimizer}
  state = nnx.state(both)
  nnx.replace_by_pure_dict(state, jax.tree.map(jnp.asarray, restored))
  nnx.update(both, state)

where optimizer is to_nnx(old_optimizer, model), or a nnx.Optimizer with the same chain."""

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
    to: OptimizerForm,
    converted: Sequence[Converted],
    is_fitting: bool = False,
) -> str:
    """The text of a report: the conversions, and the next steps.

    Args:
      path: the path of the new checkpoint.
      tree: its contents.
      format_: its format.
      to: the form of its optimizers.
      converted: its optimizers.
      is_fitting: whether it was compared with the state that the new program restores into.
    """
    count = sum(1 for _ in arrays(tree))
    lines = [_line(each, to) for each in converted]
    lines += [f"{each.reshaping}" for each in converted if each.reshaping is not None]
    restore = "Restore"
    lines.append(f"Wrote {path}: {format_}, {count:,} arrays, {size_text(size_of(tree))}.")
    if is_fitting:
        lines.append("The state of --fits restores the file without changes.")
    elif to == "train-state" and not any(each.choice.guessed for each in converted):
        lines.append(_OF_REWRITE)
        restore = "Otherwise restore"
    sections = ["\n".join(lines), f"{restore} {_how_to_restore(path, format_, to, converted)}"]
    sections += _about_rates(to, converted)
    return "\n\n".join(sections)


def _line(each: Converted, to: OptimizerForm) -> str:
    step = each.optimizer.step
    at_step = "" if step is None else f" at step {step}"
    remark = f", with {each.choice.remark} assumed" if each.choice.remark else ""
    now = "unchanged" if each.optimizer.form == to else f"now {FORMS[to]}"
    return f"Optimizer at {each.optimizer.place}: {each.choice.name}{at_step}{remark}, {now}."


def _how_to_restore(
    path: str, format_: str, to: OptimizerForm, converted: Sequence[Converted]
) -> str:
    if to == "nnx":
        return _how_to_restore_nnx(path, format_, converted)
    name, template, setup = "optimizer", "optimizer", ""
    if to == "train-state":
        name, template = "state", "optimizer.to_train_state()"
    if any(each.choice.rate != "settable" for each in converted):
        template, setup = "state", _NEW_STATE
    alone = all(each.optimizer.alone for each in converted)
    if alone and not converted[0].optimizer.path:
        code = _RESTORE[format_].format(path=path, name=name, template=template, setup=setup)
        return f"it with\n\n{code}"
    code = _RESTORE[format_].format(path=path, name="everything", template="everything", setup="")
    places = " and ".join(each.optimizer.place for each in converted)
    new = "the new TrainState" if setup else template
    return (
        f"it into the object that you saved, with {new}\nat {places}, all else unchanged:\n\n{code}"
    )


def _how_to_restore_nnx(path: str, format_: str, converted: Sequence[Converted]) -> str:
    first = converted[0].optimizer
    place = "".join(f"[{name!r}]" for name in first.path)
    code = _RESTORE_NNX[format_].format(path=path, place=place)
    if not first.alone:
        code += "\n  restored = {name: restored[name] for name in ('model', 'optimizer')}"
    others = [each.optimizer.place for each in converted[1:]]
    more = f"\n\nRestore those at {' and '.join(others)} in the same way." if others else ""
    return f"it with\n\n{code}{_INTO_NNX}{more}"


def _about_rates(to: OptimizerForm, converted: Sequence[Converted]) -> list[str]:
    if to != "legacy":
        lacking = [each.choice for each in converted if each.choice.lacks_rate()]
        if not lacking:
            return []
        if any(len(each.assignments) > 1 for each in lacking):
            return [_RATES]
        by_definition = [_FROM_DEFINITION] if all(each.guessed for each in lacking) else []
        return [_RATE.format(_RATES_IN[to]), *by_definition]
    values = [
        f"{name} {value_text(value)}"
        for each in converted
        if each.optimizer.form != to
        for part in injected(each.optimizer.node["opt_state"])
        for name, value in part["hyperparams"].items()
    ]
    return [_LEFT_BEHIND.format(", ".join(values))] if values else []
