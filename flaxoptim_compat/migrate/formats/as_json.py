"""A report for programs.

The object has a ``version``, which changes when an entry changes, not when one is added; ``files``
with the numbers ``seen``, ``parsed`` and ``with_findings``; and the lists ``findings``,
``not_understood``, ``left_earlier`` (the marks of a rewrite), ``not_read``, ``left_out`` and
``left_behind`` (the files that a killed rewrite did not remove). Lines and columns count from 1,
columns in characters; ``end_column`` is the column behind the last character. In a notebook, lines
are those of the ``cell``, which counts from 1 too. ``shim`` and ``optax`` say whether ``rewrite``
to that target deals with a finding. ``plan`` has the numbers of findings that either target deals
with, the paths to ``begin_with``, in which ``--to optax`` leaves nothing, and up to five
``reasons`` for which most is left, each with its ``count`` and the first place. Its ``optimizers``
are the numbers ``becoming`` TrainStates and ``staying``, and a list of those that are ``held``.
Each entry is about optimizers that stay together: the places where they are ``made``, the
``reason`` of the first line that holds them back, all such lines in ``held_by``, and in
``joined_by`` the lines that may use any of them, if these are why the optimizers stay together.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flaxoptim_compat import __version__
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.run.reports import RunReport, migration_plan

VERSION = 1


def as_json(report: RunReport) -> str:
    """The text of a report in JSON."""
    plan = migration_plan(report)
    content = {
        "version": VERSION,
        "tool": {"name": "flaxoptim-compat", "version": __version__},
        "files": {
            "seen": len(report.files),
            "parsed": sum(each.is_parsed for each in report.files),
            "with_findings": sum(bool(each.findings) for each in report.files),
        },
        "findings": [
            {
                **_place(file.path, each.place),
                "code": each.code,
                "what": each.what,
                "instead": each.instead,
                "shim": each.shim,
                "optax": each.optax,
                "works": each.works,
                "reason": each.reason,
            }
            for file, each in report.found
        ],
        "not_understood": [
            {**_place(path, place), "why": why} for path, place, why in report.unknown
        ],
        "left_earlier": [
            {**_place(path, place), "mark": text} for path, place, text in report.marks
        ],
        "not_read": [{**_place(path, place), "why": why} for path, place, why in report.unread],
        "left_out": [{"path": str(path), "why": why} for path, why in report.left_out],
        "left_behind": [str(path) for path in report.unfinished],
        "plan": {
            "shim": plan.shim,
            "optax": plan.optax,
            "works": plan.works,
            "optimizers": {
                "becoming": report.becoming,
                "becoming_dual": report.becoming_dual,
                "staying": sum(each.optimizers for each in report.staying),
                "held": [
                    {
                        "reason": each.reason,
                        "becomes_dual": each.is_dual and not each.was_dual,
                        "is_dual": each.was_dual,
                        "count": each.optimizers,
                        "made": [_place(*spot) for spot in each.made],
                        "held_by": [_place(*spot) for spot in each.held],
                        "joined_by": [_place(*spot) for spot in each.joined],
                    }
                    for each in [*report.staying, *report.dual]
                ],
            },
            "begin_with": [str(path) for path in plan.begin_with],
            "reasons": [
                {**_place(*each.first), "count": each.number, "reason": each.text}
                for each in plan.reasons
            ],
        },
    }
    return json.dumps(content, indent=2)


def _place(path: Path, place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"path": str(path)}
    numbers = {
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }
    cell = {"cell": place.cell} if place.cell else {}
    return {"path": str(path), **cell, **numbers}
