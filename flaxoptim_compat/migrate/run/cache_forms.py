"""Reports as values of JSON, and back. What comes back may have been written by anybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flaxoptim_compat.migrate.program.files import FoundFile
from flaxoptim_compat.migrate.program.linking import Imported
from flaxoptim_compat.migrate.program.mentions import Mentions
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.examination import Examined
from flaxoptim_compat.migrate.run.reports import FileReport, Noted, Spot, UnitReport

# The lists of places in what is said of optimizers.
_SPOTS = ("made", "held", "joined")


class Malformed(Exception):
    """A value that no run has written."""


def of_report(report: FileReport) -> dict[str, Any]:
    """A report without what the file itself says: where it is, and what is in it."""
    return {
        "parsed": report.is_parsed,
        "findings": report.findings,
        "unknown": report.unknown,
        "marks": report.marks,
        "new": None if report.new is None else report.new.decode(),
        # Which of the findings they are.
        "done": [report.findings.index(each) for each in report.done],
        "left": [report.findings.index(each) for each in report.left],
        "off_limits": report.off_limits,
        "units": [
            {**each._asdict(), **{name: _of_spots(getattr(each, name)) for name in _SPOTS}}
            for each in report.units
        ],
    }


def report_in(form: object, file: FoundFile) -> FileReport:
    """A report again, without the bytes that are to change.

    Args:
      form: what ``of_report`` has made of it.
      file: where the file is.

    Raises:
      Malformed: it is something else.
    """
    match form:
        case {
            "parsed": bool(is_parsed),
            "findings": list(findings),
            "unknown": list(unknown),
            "marks": list(marks),
            "new": str() | None as new,
            "done": list(done),
            "left": list(left),
            "off_limits": str(off_limits),
            "units": list(units),
        }:
            noted = [_noted(each) for each in findings]
            return FileReport(
                file,
                is_parsed=is_parsed,
                findings=noted,
                unknown=[_said(each) for each in unknown],
                marks=[_said(each) for each in marks],
                new=None if new is None else new.encode(),
                done=[_one_of(noted, each) for each in done],
                left=[_one_of(noted, each) for each in left],
                off_limits=off_limits,
                units=[_unit(each) for each in units],
            )
    raise Malformed


def of_examined(examined: Examined) -> dict[str, Any]:
    """What one file is by itself."""
    return {
        "report": None if examined.report is None else of_report(examined.report),
        "imports": examined.imports,
        "exports": sorted(examined.exports),
        "mentions": examined.mentions,
        "flax.optim": examined.names_flax_optim,
    }


def examined_in(form: object, file: FoundFile) -> Examined:
    """What one file is by itself, again.

    Args:
      form: what ``of_examined`` has made of it.
      file: where the file is.

    Raises:
      Malformed: it is something else.
    """
    match form:
        case {
            "report": report,
            "imports": list(imports),
            "exports": list(exports),
            "mentions": [bool(), bool(), bool()] as mentions,
            "flax.optim": bool(names_flax_optim),
        } if all(isinstance(each, str) for each in exports):
            return Examined(
                None if report is None else report_in(report, file),
                tuple(_imported(each) for each in imports),
                frozenset(exports),
                Mentions(*mentions),
                names_flax_optim,
            )
    raise Malformed


def _imported(form: object) -> Imported:
    match form:
        case [str(origin), str(name), str(local)]:
            return Imported(origin, name, local)
    raise Malformed


def _noted(form: object) -> Noted:
    match form:
        case [str(code), place, str(what), str(instead), bool(shim), bool(optax), *texts]:
            match texts:
                case [str(reason), str(change), str(cause)]:
                    does = (shim, optax)
                    return Noted(code, _place(place), what, instead, *does, reason, change, cause)
    raise Malformed


def _of_spots(spots: list[Spot]) -> list[Any]:
    return [[str(each.path), each.place] for each in spots]


def _unit(form: object) -> UnitReport:
    match form:
        case {
            "made": list(made),
            "held": list(held),
            "reason": str(reason),
            "joined": list(joined),
        } if bool(held) == bool(reason):
            return UnitReport(_spots(made), _spots(held), reason, _spots(joined))
    raise Malformed


def _spots(forms: list[object]) -> list[Spot]:
    return [_spot(each) for each in forms]


def _spot(form: object) -> Spot:
    match form:
        case [str(path), place]:
            return Spot(Path(path), _place(place))
    raise Malformed


def _said(form: object) -> tuple[Place, str]:
    match form:
        case [place, str(why)]:
            return _place(place), why
    raise Malformed


def _place(form: object) -> Place:
    if isinstance(form, list) and len(form) == 6 and all(type(each) is int for each in form):
        return Place(*form)
    raise Malformed


def _one_of(noted: list[Noted], number: object) -> Noted:
    if type(number) is int and 0 <= number < len(noted):
        return noted[number]
    raise Malformed
