"""A report as text: with the next steps, as a line for each finding, or in numbers."""

from __future__ import annotations

import collections
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from flaxoptim_compat.columns import in_columns
from flaxoptim_compat.migrate.formats.sentences import (
    LEGEND,
    asides,
    counted,
    counts,
    first_of,
    how_many,
    mark,
    number_of_findings,
    optimizers,
    unread_files,
)
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.run.reports import (
    FileReport,
    MigrationPlan,
    ReportedFinding,
    RunReport,
    UnitReport,
    line_of,
    migration_plan,
    place_of,
)
from flaxoptim_compat.printable import one_line

# The text is about two screens long, with any number of files and findings.
_WIDTH = 80
_NAMED_FILES = 3
_KINDS = 8
_FILES = 10
_LINES_OF_FINDINGS = 40
_ASIDES = 5
_NUMBERS = 3
# So many different texts of a rule are shown in a file; beyond, its findings share one.
_TEXTS = 2
_COLUMNS = ("found", "code", "name", "--to shim", "--to optax")
_HEADING = "bold"
_COMMAND = "cyan"

# A line, and its style.
Line = tuple[str, str]


def as_text(report: RunReport, rules: Mapping[str, Rule], rewrite: str) -> Iterator[Line]:
    """The lines of a report, each with its style: the next steps, then the findings.

    Args:
      report: the report of the run.
      rules: the rules by their codes.
      rewrite: the command that rewrites what was scanned, without ``--to``.
    """
    yield number_of_findings(report), _HEADING
    troubles = []
    if unread := unread_files(report):
        troubles.append(f"{counted(unread, 'file')} not read")
    if report.unknown:
        troubles.append(f"{counted(len(report.unknown), 'name')} not understood")
    if troubles:
        yield f"{', '.join(troubles)}: see the end.", ""
    if report.findings:
        yield from _findings(report, rules, rewrite)
    yield from _asides(report)


def _findings(report: RunReport, rules: Mapping[str, Rule], rewrite: str) -> Iterator[Line]:
    plan = migration_plan(report)
    has_names = any(
        each.shim and "shim" in rules[each.code].targets
        for file, each in report.found
        if not file.off_limits
    )
    yield "", ""
    yield from _plain(_of_shim(plan) if has_names else [_NO_NAMES])
    yield from _plain(_of_optax(report, plan))
    yield from _commands(report, plan, rewrite, has_names)
    files = _most_first(report)
    heading, *rows = _kinds(report, rules)
    if len(files) > 1:
        yield "", ""
        yield heading, _HEADING
        yield from _plain(first_of(rows, _KINDS, "--statistics"))
    yield from _of_files(files)
    code = rows[0].split()[1]
    yield "", ""
    yield "--format concise prints a line for each finding, with its place first.", ""
    yield f"flaxoptim-compat explain {code} explains the rule {code}, with examples.", ""


_NO_NAMES = "rewrite --to shim has nothing to do here."


def _of_shim(plan: MigrationPlan) -> Iterator[str]:
    where = ""
    if plan.shim_leaves:
        others = plan.findings - plan.shim - 1
        where = f": {line_of(*plan.shim_leaves)}{f' and {others:,} more' if others else ''}"
    yield from _folded(f"rewrite --to shim {_deals(plan.shim, 0, plan.findings)}{where}.")


def _of_optax(report: RunReport, plan: MigrationPlan) -> Iterator[str]:
    deals = f"rewrite --to optax {_deals(plan.optax, plan.works, plan.findings)}"
    if plan.reasons:
        yield f"{deals}, most for these reasons:"
        width = max(len(f"{each.number:,}") for each in plan.reasons)
        for each in plan.reasons:
            text = f"{each.text} ({line_of(*each.first)})"
            yield from _folded(text, f"  {each.number:>{width},}  ")
    else:
        yield f"{deals}."
    yield from _of_optimizers(report)
    if plan.begin_with and plan.optax + plan.works < plan.findings:
        yield from _folded(f"rewrite --to optax leaves nothing in {_files(plan.begin_with)}.")


def _deals(done: int, works: int, findings: int) -> str:
    if works == findings:
        return f"has nothing to change: {_works(works)}"
    left = findings - done - works
    deals = f"deals with {done:,}" if done else "deals with none"
    if not left and not works:
        deals = f"deals with all {done:,}" if done > 1 else "deals with it"
    leaves = f" and leaves {left:,}" if done and left else ""
    return f"{deals}{leaves}{f'; {_works(works)}' if works else ''}"


def _works(number: int) -> str:
    return f"{number:,} {'works as it is' if number == 1 else 'work as they are'}"


def _of_optimizers(report: RunReport) -> Iterator[str]:
    text = how_many(report)
    if staying := report.staying:
        most = max(staying, key=lambda each: each.optimizers)
        text += f" {_what_holds(most, len(staying) - 1)}"
    if text:
        yield from _folded(text)


def _what_holds(unit: UnitReport, others: int) -> str:
    held_back, by_others, joined = "it" if unit.optimizers == 1 else "them", "", ""
    if others:
        held_back = f"{unit.optimizers:,} of them"
        by_others = f", {counted(others, 'other line')} the others"
    if unit.joined:
        joined = f"; {line_of(*unit.joined[0])}, which may use any of these, keeps them together"
    return f"{line_of(*unit.held[0])} holds {held_back} back{by_others}{joined}."


def _files(paths: Sequence[Path]) -> str:
    named = [one_line(each) for each in paths[:_NAMED_FILES]]
    if others := len(paths) - len(named):
        return f"{', '.join(named)} and {counted(others, 'other file')}"
    return " and ".join(filter(None, [", ".join(named[:-1]), named[-1]]))


def _commands(report: RunReport, plan: MigrationPlan, rewrite: str, shim: bool) -> Iterator[Line]:
    has_patch = shim or bool(plan.optax)
    has_optimizers = bool(report.becoming or report.held)
    if has_patch or has_optimizers:
        yield "", ""
    if has_patch:
        yield "Begin with this command; it shows a patch, and --write changes the files:", _HEADING
        yield f"  {rewrite} --to {'shim' if shim else 'optax'}", _COMMAND
    if has_optimizers:
        are_dual = not report.becoming and all(each.was_dual for each in report.held)
        then = "Then move" if has_patch else "Move"
        yield _MORE if are_dual else f"{then} the optimizers to optax:", _HEADING
        yield f"  {rewrite} --to optax --write --verify COMMAND", _COMMAND
        yield from _plain(_folded(_OF_COMMAND))


_MORE = "A run shows more of what the text does not, which becomes plain then:"
_OF_COMMAND = (
    "COMMAND is a training or the tests, such as 'pytest -q'. The run shows where the optimizers"
    " are, and that all numbers stay the same."
)


def _of_files(files: Sequence[FileReport]) -> Iterator[Line]:
    """All findings file by file; if they are too many, the number for each file."""
    shown = []
    for file in files:
        shown += [
            ("", ""),
            (f"{one_line(file.path)}: {counted(len(file.findings), 'finding')}", _HEADING),
        ]
        shown += _plain(_entries(file, _LINES_OF_FINDINGS))
        if len(shown) > _LINES_OF_FINDINGS and len(files) > 1:
            yield from _counted_files(files)
            return
    yield "", ""
    yield LEGEND, ""
    yield from shown[1:]


def _counted_files(files: Sequence[FileReport]) -> Iterator[Line]:
    rows = [(f"{len(each.findings):,}", str(each.path)) for each in files]
    heading, *lines = in_columns([("found", "file"), *rows], right={0})
    yield "", ""
    yield heading, _HEADING
    yield from _plain(first_of(lines, _FILES, "--statistics"))


def _entries(file: FileReport, room: int) -> Iterator[str]:
    """The lines on the findings of a file, with findings that are alike in one entry.

    Args:
      file: the file.
      room: about so many lines are shown.
    """
    entries = list(_together(file.findings))
    starts = in_columns([columns for columns, _, _ in entries])
    width = max(map(len, starts))
    left = len(file.findings)
    for start, (_, text, number) in zip(starts, entries, strict=True):
        if room <= 0:
            yield f"  and {left:,} more, which --format concise lists"
            return
        lines = list(_folded(text, f"{start:<{width}}  "))
        yield from lines
        room -= len(lines)
        left -= number


def _together(findings: Iterable[ReportedFinding]) -> Iterator[tuple[tuple[str, ...], str, int]]:
    """The entries: what stands before the text, the text, and the number of findings."""
    alike: dict[tuple[str, str], dict[str, list[Place]]] = {}
    for each in findings:
        texts = alike.setdefault((each.code, mark(each)), {})
        texts.setdefault(f"{each.what}: {each.instead}", []).append(each.place)
    for key, texts in alike.items():
        if len(texts) > _TEXTS:
            places = [place for several in texts.values() for place in several]
            places.sort(key=lambda each: (each.file_line, each.column))
            texts = {f"{next(iter(texts))}, and {len(texts) - 1:,} others like it": places}
        for text, places in texts.items():
            yield (f"  {_lines(places)}", *key), text, len(places)


def _lines(places: Sequence[Place]) -> str:
    """The lines of places, or the first of them and how many others there are."""
    texts = [f"cell {each.cell}:{each.line}" if each.cell else f"{each.line}" for each in places]
    numbers = list(dict.fromkeys(texts))
    word = "" if places[0].cell else "line " if len(numbers) == 1 else "lines "
    if (others := len(numbers) - _NUMBERS) > 0:
        numbers = [*numbers[:_NUMBERS], f"+{others:,}"]
    return f"{word}{', '.join(numbers)}"


def _asides(report: RunReport) -> Iterator[Line]:
    for lines in asides(report):
        if lines:
            yield "", ""
            yield from _plain(first_of(lines, _ASIDES, "--format concise"))


def _plain(lines: Iterable[str]) -> Iterator[Line]:
    return ((line, "") for line in lines)


def _folded(text: str, start: str = "") -> Iterator[str]:
    yield from textwrap.wrap(
        " ".join(text.split()),
        _WIDTH,
        initial_indent=start,
        subsequent_indent=" " * len(start),
        break_long_words=False,
        break_on_hyphens=False,
    )


def as_concise(report: RunReport) -> Iterator[str]:
    """A line for each finding, for editors, hooks and ``grep``.

    All lines but the last ones, which count, begin with a place.
    """
    for file, each in report.found:
        place = place_of(file.path, each.place)
        yield f"{place}: {each.code} {mark(each)} {each.what}: {each.instead}"
    for lines in asides(report):
        yield from lines
    yield from optimizers(report, most=None)
    if report.findings:
        yield LEGEND
    yield from counts(report)


def as_statistics(report: RunReport, rules: Mapping[str, Rule]) -> Iterator[str]:
    """The numbers of findings: of each kind, and in each file.

    Args:
      report: the report of the run.
      rules: the rules by their codes.
    """
    if report.findings:
        yield from _kinds(report, rules)
        yield ""
    for file in _most_first(report):
        codes = collections.Counter(each.code for each in file.findings)
        several = ", ".join(f"{number:,} {code}" for code, number in sorted(codes.items()))
        yield f"{one_line(file.path)}: {counted(len(file.findings), 'finding')} ({several})"
    for lines in asides(report):
        yield from lines
    yield from counts(report)


def _kinds(report: RunReport, rules: Mapping[str, Rule]) -> list[str]:
    """A table of the rules, most frequent first: the number of findings, and how many are done."""
    findings = [each for _, each in report.found]
    number_of = collections.Counter(each.code for each in findings)
    shim = collections.Counter(each.code for each in findings if each.shim)
    optax = collections.Counter(each.code for each in findings if each.optax)
    rows = [
        (f"{number:,}", code, rules[code].name, f"{shim[code]:,}", f"{optax[code]:,}")
        for code, number in sorted(number_of.items(), key=lambda item: (-item[1], item[0]))
    ]
    return in_columns([_COLUMNS, *rows], right={0, 3, 4})


def _most_first(report: RunReport) -> list[FileReport]:
    """The files with findings, those with most findings first."""
    files = [each for each in report.files if each.findings]
    return sorted(files, key=lambda each: (-len(each.findings), each.path))
