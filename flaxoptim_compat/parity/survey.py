"""Every optimizer of flax.optim beside optax's namesake and beside this package's, measured."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import jax
import optax

from flaxoptim_compat import catalogue, optim
from flaxoptim_compat.columns import in_columns
from flaxoptim_compat.optim.to_optax import to_optax
from flaxoptim_compat.parity import trial
from flaxoptim_compat.parity.comparison import compare
from flaxoptim_compat.parity.findings import PARAMETER
from flaxoptim_compat.parity.genuine import find
from flaxoptim_compat.parity.renderings.wording import versions_text
from flaxoptim_compat.parity.report import Report
from flaxoptim_compat.versions.of_python import warnings_ignored

_STEPS = 20
_WIDTH = 100
_HEADINGS = ("flax.optim", "namesake", "to_optax", "cause")


@dataclasses.dataclass(frozen=True)
class Namesake:
    """An optimizer of flax.optim, and the one of optax that is taken for the same.

    Args:
      legacy: the expression of flax.optim, with the names ``optim``, and ``kernels`` and ``biases``
        for the traversals of these parameters.
      suggested: the expression of optax, with ``optax`` and masks of the same names; "" where optax
        has no such optimizer.
    """

    legacy: str
    suggested: str

    def definition(self, module: Any) -> Any:
        """The definition in a module that has the classes of flax.optim."""

        def selects(part: str) -> Any:
            return module.ModelParamTraversal(lambda path, _: part in path)

        scope = {"optim": module, "kernels": selects("kernel"), "biases": selects("bias")}
        return eval(self.legacy, scope)

    def transformation(self) -> optax.GradientTransformation:
        """The transformation of the suggested expression."""
        scope = {"optax": optax, "kernels": _mask("kernel"), "biases": _mask("bias")}
        made: optax.GradientTransformation = eval(self.suggested, scope)
        return made


def _mask(part: str) -> Any:
    return lambda params: jax.tree_util.tree_map_with_path(
        lambda path, _: part in jax.tree_util.keystr(path), params
    )


NAMESAKES = (
    *(Namesake(*pair) for row in catalogue.OPTIMIZERS for pair in row.suggested),
    Namesake(
        "optim.MultiOptimizer((kernels, optim.Momentum(0.01)), (biases, optim.Adam(0.01)))",
        "optax.chain(optax.masked(optax.sgd(0.01, momentum=0.9), kernels),"
        " optax.masked(optax.adam(0.01), biases))",
    ),
)


@dataclasses.dataclass(frozen=True, eq=False)
class SurveyRow:
    """One optimizer of flax.optim, compared with its namesake and with ``to_optax``.

    Args:
      legacy: the expression of the optimizer, ``optim.RMSProp(0.01)``.
      suggested: the expression of optax that is taken for the same; None where there is none.
      namesake: the report of flax.optim against this namesake; None where there is none.
      ours: the report of flax.optim against ``to_optax`` of the definition.
      exact: the expression of optax that is exactly the same.
    """

    legacy: str
    suggested: str | None
    namesake: Report | None
    ours: Report
    exact: str


def final_error(report: Report) -> float:
    """The largest error of a parameter after the last step, over the farthest distance of one."""
    tracks = [track for track in report.tracks if track.quantity == PARAMETER]
    error = max((float(track.error[-1]) for track in tracks), default=0.0)
    distance = max((float(track.distance[-1]) for track in tracks), default=0.0)
    return error / distance if error else 0.0


@dataclasses.dataclass(frozen=True, eq=False)
class Matrix:
    """All optimizers, on the installed versions.

    Args:
      rows: one for each.
      steps: how many steps were done.
      reference: the flax.optim that the others are compared with, in words.
      versions: the versions of jax and other packages, and the device.
    """

    rows: tuple[SurveyRow, ...]
    steps: int
    reference: str
    versions: Mapping[str, str]

    @property
    def equal(self) -> bool:
        """True if this package does what flax.optim did, everywhere."""
        return all(row.ours.equal for row in self.rows)

    def __str__(self) -> str:
        heading = (
            f"{self.reference} against plain optax, and against this package's to_optax: the error"
            f" after {self.steps} steps in float32, in parts of the distance travelled."
        )
        grid = in_columns([_HEADINGS, *map(_cells, self.rows)])
        explanations = [
            _explained(row) for row in self.rows if row.namesake is None or not row.namesake.equal
        ]
        parted = [row.legacy for row in self.rows if not row.ours.equal]
        verdict = f"to_optax PARTS from flax.optim with {', '.join(parted)}."
        if not parted:
            verdict = "to_optax does what flax.optim did, for all of these optimizers."
        end = f"{verdict}\n{versions_text(self.versions)}"
        return "\n\n".join([textwrap.fill(heading, _WIDTH), "\n".join(grid), *explanations, end])


def matrix(progress: Callable[[int, int], None] | None = None) -> Matrix:
    """Compare every optimizer of flax.optim with optax's namesake, and with ``to_optax``.

    The genuine flax.optim is the reference if it is installed beside this package, else the one of
    this package is. The parameters and gradients are those of ``flaxoptim_compat.parity.trial``.

    Args:
      progress: called with the number of optimizers done, and of all.
    """
    genuine = find()
    params, grads = trial.small(_STEPS)
    rows = []
    for done, pair in enumerate(NAMESAKES):
        rows.append(_row(pair, genuine or optim, params, grads))
        if progress is not None:
            progress(done + 1, len(NAMESAKES))
    reference = "The genuine flax.optim" if genuine else "This package's flax.optim"
    return Matrix(tuple(rows), _STEPS, reference, rows[0].ours.versions)


def _row(pair: Namesake, reference: Any, params: Any, grads: Any) -> SurveyRow:
    # The warnings of a removal are no news here.
    with warnings_ignored():
        legacy, ours = pair.definition(reference), pair.definition(optim)
    against = None
    if pair.suggested:
        against = compare(legacy, pair.transformation(), params, grads)
    same = against is not None and against.equal
    return SurveyRow(
        legacy=pair.legacy,
        suggested=pair.suggested or None,
        namesake=against,
        ours=compare(legacy, to_optax(ours, params), params, grads),
        exact=pair.suggested if same else str(ours.optax_expression()),
    )


def _cells(row: SurveyRow) -> tuple[str, ...]:
    """The optimizer, the error of the namesake and of ours, and the cause."""
    cause = ""
    if row.namesake is not None and not row.namesake.equal:
        cause = ", ".join(each.key for each in row.namesake.causes) or "not known"
    name = row.legacy.replace("optim.", "")
    return name, _error_text(row.namesake), _error_text(row.ours), cause


def _error_text(report: Report | None) -> str:
    if report is None:
        return "none"
    error = final_error(report)
    text = f"{error:.1e}" if error else "0"
    return text if report.equal else f"{text} PARTS"


def _explained(row: SurveyRow) -> str:
    """The reason why the namesake is not the same, and the expression that is."""
    lines = [row.legacy, f"  is not {row.suggested}" if row.suggested else "  is not in optax"]
    if row.namesake is not None:
        lines += [f"  {cause.summary}" for cause in row.namesake.causes]
    lines.append(f"  exactly: {row.exact}")
    return "\n".join(
        textwrap.fill(line, _WIDTH, subsequent_indent="    ", break_long_words=False)
        for line in lines
    )
