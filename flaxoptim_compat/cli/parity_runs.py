"""The work of ``flaxoptim-compat parity``: the sides, the run, and the report of it."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

import jax

from flaxoptim_compat import optim, to_optax
from flaxoptim_compat.cli.output import print_error, print_text, save_report
from flaxoptim_compat.cli.progress import Progress
from flaxoptim_compat.legacy.named_code import NamedCode, failure, place_of
from flaxoptim_compat.legacy.named_objects import NamingError
from flaxoptim_compat.parity import genuine, trial
from flaxoptim_compat.parity.comparison import compare
from flaxoptim_compat.parity.counterparts import counterpart, is_definition, is_optimizer
from flaxoptim_compat.parity.errors import ParityError
from flaxoptim_compat.parity.named_sides import named_parameters, named_side
from flaxoptim_compat.parity.report import Report, check
from flaxoptim_compat.parity.survey import matrix

_STEPS = 100


def run(form: str, arguments: argparse.Namespace) -> int:
    """Run a form and print its report; returns the exit status."""
    try:
        return _survey() if form == "survey" else _reported(arguments)
    except (NamingError, ParityError) as error:
        place = place_of(error)
        print_error(error if place in str(error) else f"{error}\nThe error came from {place}.")
    except Exception as error:
        # Python would end with 1, which says that two sides part.
        print_error(failure(error))
    return 2


def _survey() -> int:
    """Print every optimizer beside its namesake and ``to_optax``; returns 1 if the latter parts."""
    with Progress("optimizers") as progress:
        survey = matrix(progress)
    print_text(str(survey))
    return 0 if survey.equal else 1


def _reported(arguments: argparse.Namespace) -> int:
    """Compare two sides, print the report and save it; returns 1 if the sides differ."""
    path: Path | None = arguments.report
    if path is not None:
        check(path)
    with NamedCode() as code, Progress("steps") as progress:
        report = _compared(arguments, code, progress)
    print_text(str(report))
    if path is not None:
        print_text("")
        save_report(report, path)
    return 0 if report.equal else 1


def _compared(arguments: argparse.Namespace, code: NamedCode, progress: Progress) -> Report:
    """The report of OLD against NEW, or against OLD in the genuine flax.optim or in optax."""
    old, note = named_side(arguments.old, code), ""
    new, name = None, arguments.new
    if name is not None:
        new = named_side(name, code)
    params = _parameters(arguments.params, {arguments.old: old, name: new}, code)
    if name is None:
        new, name, note = _counterpart(arguments.old, old, params)
    report = compare(
        old,
        new,
        params,
        trial.gradients,
        arguments.steps or _STEPS,
        tolerance=arguments.tolerance,
        loop="open",
        names=(arguments.old, name),
        progress=progress,
    )
    return dataclasses.replace(report, notes=(*report.notes, note)) if note else report


def _parameters(text: str | None, sides: dict[str, Any], code: NamedCode) -> Any:
    """The parameters to start from; None where a side brings its own."""
    own = [name for name, each in sides.items() if is_optimizer(each) or hasattr(each, "opt_state")]
    if own and text is not None:
        raise ParityError(f"{own[0]} has parameters of its own: leave --params out.")
    if own:
        return None
    return trial.parameters() if text is None else named_parameters(text, code)


def _counterpart(text: str, old: Any, params: Any) -> tuple[Any, str, str]:
    """The counterpart of OLD, the name of that side, and a note on the choice."""
    definition = old.optimizer_def if is_optimizer(old) else old
    if not is_definition(definition):
        raise ParityError(
            f"{text} is neither a definition of flax.optim nor an Optimizer: name the other side"
            " as NEW."
        )
    kind = type(definition).__name__
    if not isinstance(definition, optim.OptimizerDef):
        ours = counterpart(old, optim)
        if ours is None:
            raise ParityError(
                f"{text} is a `{kind}`, which flaxoptim_compat.optim does not have: name the other"
                " side as NEW."
            )
        return ours, f"flaxoptim_compat.optim.{kind}", ""
    theirs, note = _genuine(old, kind, params)
    if theirs is not None:
        return theirs, f"the genuine flax.optim.{kind}", ""
    if is_optimizer(old):
        return old.to_train_state(), f"{text}.to_train_state()", note
    return to_optax(old, params), f"to_optax({text})", note


def _genuine(old: Any, kind: str, params: Any) -> tuple[Any, str]:
    """The counterpart in the genuine flax.optim; None, and why, if that is there but of no use.

    The absence of the genuine flax.optim needs no explanation.
    """
    module = genuine.find()
    if module is None:
        problem = genuine.problem()
        return None, f"Compared with optax, because {problem}." if problem else ""
    theirs = counterpart(old, module)
    if theirs is None:
        return None, f"Compared with optax, because the genuine flax.optim has no {kind} like it."
    try:
        if not is_optimizer(theirs):
            jax.eval_shape(theirs.init_state, params)
    except Exception as error:
        return None, (
            f"Compared with optax, because the genuine {kind} does not take these parameters:"
            f" {type(error).__name__}: {error}."
        )
    return theirs, ""
