"""A report as workflow commands of GitHub, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flaxoptim_compat.migrate.formats.sentences import MOST_HELD, counts, held, how_many, unlisted
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.reports import RunReport


def as_github(report: RunReport) -> Iterator[str]:
    """The lines of a report: a warning for each finding, an error for each file that was not read.

    Lines that hold optimizers back from optax are notices.
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
    staying = [*report.staying, *report.dual]
    for line in held(staying[:MOST_HELD]):
        message = f"{line.whose}: {line.text}"
        yield _command("notice", *line.spot, line.title, message)
        if line.joining:
            yield _command("notice", *line.unit.joined[0], "joins optimizers", line.joining)
    yield from counts(report)
    yield from filter(None, [unlisted(staying), how_many(report)])


def _command(kind: str, path: Path, place: Place | None, title: str, message: str) -> str:
    properties = {"file": path.as_posix()}
    if place is not None and place.cell:
        # GitHub shows a notebook as JSON, in which columns are others.
        properties["line"] = str(place.file_line)
        message = f"cell {place.cell}, line {place.line}: {message}"
    elif place is not None:
        properties |= {"line": str(place.line), "endLine": str(place.end_line)}
        if place.line == place.end_line:
            # GitHub takes columns for a single line only.
            properties |= {"col": str(place.column), "endColumn": str(place.end_column)}
    properties["title"] = title
    listed = ",".join(f"{key}={_escaped(value, ':,')}" for key, value in properties.items())
    return f"::{kind} {listed}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    # The percent sign comes first, since the escapes of the others begin with one.
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
