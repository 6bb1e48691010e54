"""A report as workflow commands of GitHub, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flaxoptim_compat.migrate.formats.sentences import MOST_HELD, counts, held, how_many, others
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.reports import Report


def as_github(report: Report) -> Iterator[str]:
    """The lines of a report: a warning for each finding, an error for what was not read.

    What holds optimizers, with ``rewrite --to optax``, is a notice.
    """
    for file in report.files:
        for each in file.findings:
            message = f"{each.what}: {each.instead}"
            yield _command("warning", file.path, each.place, each.code, message)
        for place, why in file.unknown:
            yield _command("warning", file.path, place, "not understood", why)
        for place, text in file.marks:
            yield _command("notice", file.path, place, "left by an earlier rewrite", text)
    for path, place_or_none, why in report.unread:
        yield _command("error", path, place_or_none, "not read", why)
    staying = report.staying
    for one in held(staying[:MOST_HELD]):
        message = f"{one.whose}: {one.text}"
        yield _command("notice", *one.spot, "holds optimizers", message)
        if one.joining:
            yield _command("notice", *one.unit.joined[0], "joins optimizers", one.joining)
    yield from counts(report)
    yield from filter(None, [others(staying), how_many(report)])


def _command(kind: str, path: Path, place: Place | None, title: str, message: str) -> str:
    properties = {"file": path.as_posix()}
    if place is not None and place.cell:
        # What GitHub shows of a notebook is its JSON, whose columns are others.
        properties["line"] = str(place.file_line)
        message = f"cell {place.cell}, line {place.line}: {message}"
    elif place is not None:
        properties |= {"line": str(place.line), "endLine": str(place.end_line)}
        if place.line == place.end_line:
            # With several lines, GitHub refuses columns.
            properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = title
    listed = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{kind} {listed}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    # The percent sign first: the others become one.
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
