"""The plan at the end of a report for people, in lines that fit a narrow terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from flaxoptim_compat.migrate.containers import Place
from flaxoptim_compat.migrate.formats.optimizers import held, how_many, others
from flaxoptim_compat.migrate.formats.summary import counted
from flaxoptim_compat.migrate.plan import Plan, Reason

_WIDTH = 80
_FILES = 3
_LONGEST = 28


def as_lines(plan: Plan) -> Iterator[str]:
    """The lines of a plan; none if nothing was found."""
    if not plan.findings:
        return
    yield ""
    yield f"A plan for {counted(plan.findings, 'finding')} in {counted(plan.files, 'file')}:"
    yield f"1. rewrite --to shim, for everything at once, deals with {plan.shim:,}."
    yield f"2. rewrite --to optax, folder by folder, deals with {plan.optax:,}."
    yield from _optimizers(plan)
    if plan.begin_with:
        yield f"   Begin where nothing stays: {_files(plan)}"
    if plan.reasons:
        yield "3. The rest is yours. These reasons keep most of it from --to optax:"
        width = max(len(f"{each.number:,}") for each in plan.reasons)
        yield from (_reason(each, width) for each in plan.reasons)


def _optimizers(plan: Plan) -> Iterator[str]:
    sentence = how_many(plan.becoming, plan.staying)
    if not sentence:
        return
    yield f"   {sentence}{' What holds them:' if plan.staying else ''}"
    width = max((len(f"{each.optimizers:,}") for each in plan.staying), default=0)
    for each in held(plan.staying):
        yield _row(f"{each.unit.optimizers:>{width},}", each.text, *each.spot)
        if each.joining:
            text = "Joined by this line, which may be any of them."
            yield _row(" " * width, text, *each.unit.joined[0])
    if more := others(plan.staying):
        yield f"   {more}"


def _files(plan: Plan) -> str:
    """As many files as there is room for, and how many others there are."""
    names = [_shortened(path, "") for path in plan.begin_with[:_FILES]]
    while True:
        others = len(plan.begin_with) - len(names)
        text = ", ".join(names) + (f", and {counted(others, 'other')}" if others else "")
        if len(names) == 1 or len(text) <= _WIDTH - len("   Begin where nothing stays: "):
            return text
        names.pop()


def _reason(reason: Reason, width: int) -> str:
    return _row(f"{reason.number:>{width},}", reason.text, reason.path, reason.place)


def _row(number: str, text: str, path: Path, place: Place) -> str:
    cell = f"cell {place.cell}:" if place.cell else ""
    where = _shortened(path, f":{cell}{place.line}")
    start = f"   {number}  "
    room = _WIDTH - len(f"{start} ({where})")
    text = " ".join(text.split())
    if len(text) > room:
        text = f"{text[: room - 3].rstrip()}..."
    return f"{start}{text} ({where})"


def _shortened(path: Path, line: str) -> str:
    """A place without the folders if they are too long; the findings above have them."""
    texts = [f"{path}{line}", f".../{path.name}{line}"]
    return next((each for each in texts if len(each) <= _LONGEST), f"...{texts[0][-_LONGEST:]}")
