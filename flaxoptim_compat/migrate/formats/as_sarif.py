"""A report in SARIF 2.1.0, which code hosts and editors read."""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flaxoptim_compat import __version__
from flaxoptim_compat.addresses import page_of_rule, urls
from flaxoptim_compat.migrate.formats.sentences import held
from flaxoptim_compat.migrate.program.source_text import Place
from flaxoptim_compat.migrate.rules.page import explanation, summary
from flaxoptim_compat.migrate.rules.rule import Rule
from flaxoptim_compat.migrate.run.reports import ReportedFinding, RunReport

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(report: RunReport, rules: Mapping[str, Rule]) -> str:
    """The text of a report in SARIF.

    Args:
      report: the report of the run.
      rules: the rules by their codes.
    """
    order = {code: number for number, code in enumerate(rules)}
    home = urls().get("Documentation") or urls().get("Repository")
    run = {
        "tool": {
            "driver": {
                "name": "flaxoptim-compat",
                "version": __version__,
                **({"informationUri": home} if home else {}),
                "rules": [_rule(rule) for rule in rules.values()],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.unread,
                "toolExecutionNotifications": _notifications(report),
            }
        ],
        "results": [
            {**_result(file.path, each), "ruleIndex": order[each.code]}
            for file, each in report.found
        ],
    }
    if report.becoming or report.held:
        run["properties"] = {
            "becomingTrainStates": report.becoming,
            "becomingDualTrainStates": report.becoming_dual,
            "stayingOptimizers": sum(each.optimizers for each in report.staying),
        }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    short, full = summary(rule.code), explanation(rule.code)
    text = "\n\n".join([short, *full])
    page = page_of_rule(rule.code)
    return {
        "id": rule.code,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": full[0]},
        "help": {"text": text, "markdown": text},
        **({"helpUri": page} if page else {}),
        "defaultConfiguration": {"level": "warning"},
    }


def _result(path: Path, finding: ReportedFinding) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "level": "warning",
        "message": {"text": f"{finding.what}: {finding.instead}"},
        "locations": [_location(path, finding.place)],
        "properties": {"shim": finding.shim, "optax": finding.optax},
    }


def _notifications(report: RunReport) -> list[dict[str, Any]]:
    notifications = [
        _notification("error", f"not read: {why}", path, place)
        for path, place, why in report.unread
    ]
    notifications += [
        _notification("warning", f"not understood: {why}", path, place)
        for path, place, why in report.unknown
    ]
    for each in held([*report.staying, *report.dual]):
        notifications.append(_notification("note", each.sentence, *each.spot))
        if each.joining:
            notifications.append(_notification("note", each.joining, *each.unit.joined[0]))
    return notifications


def _notification(level: str, text: str, path: Path, place: Place | None) -> dict[str, Any]:
    return {"level": level, "message": {"text": text}, "locations": [_location(path, place)]}


def _location(path: Path, place: Place | None) -> dict[str, Any]:
    uri = path.as_uri() if path.is_absolute() else urllib.parse.quote(os.fsencode(path.as_posix()))
    physical: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if place is not None and place.cell:
        # A region is a part of the file, which is JSON.
        physical["region"] = {"startLine": place.file_line}
    elif place is not None:
        physical["region"] = {
            "startLine": place.line,
            "startColumn": place.column,
            "endLine": place.end_line,
            "endColumn": place.end_column,
        }
    return {"physicalLocation": physical}
