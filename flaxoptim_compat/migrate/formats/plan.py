"""The plan at the end of a report for people, in lines that fit a narrow terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

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
    if plan.begin_with:
        yield f"   Begin where nothing stays: {_files(plan)}"
    if plan.reasons:
        yield "3. The rest is yours. These reasons keep most of it from --to optax:"
        width = max(len(f"{each.number:,}") for each in plan.reasons)
        yield from (_reason(each, width) for each in plan.reasons)


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
    cell = f"cell {reason.place.cell}:" if reason.place.cell else ""
    place = _shortened(reason.path, f":{cell}{reason.place.line}")
    start = f"   {reason.number:>{width},}  "
    room = _WIDTH - len(f"{start} ({place})")
    text = " ".join(reason.text.split())
    if len(text) > room:
        text = f"{text[: room - 3].rstrip()}..."
    return f"{start}{text} ({place})"


def _shortened(path: Path, line: str) -> str:
    """A place without the folders if they are too long; the findings above have them."""
    texts = [f"{path}{line}", f".../{path.name}{line}"]
    return next((each for each in texts if len(each) <= _LONGEST), f"...{texts[0][-_LONGEST:]}")
