"""``flaxoptim-compat scan --format sarif``."""

from __future__ import annotations

import json
import re

from tests.support.scanned_folders import HELD, MAP, Scan


def test_sarif(scan: Scan) -> None:
    _, lines = scan("--format", "sarif", **{"ä b": MAP, "z": "flax(\n"})
    log = json.loads("\n".join(lines))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "flaxoptim-compat"
    for rule in driver["rules"]:
        assert re.fullmatch(r"FOC\d{3}", rule["id"])
        assert rule["name"].isidentifier() and rule["name"][0].isupper()
        assert rule["shortDescription"]["text"] and rule["fullDescription"]["text"]
        assert rule["help"]["text"]
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "FOC151"
    (location,) = result["locations"]
    physical = location["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "%C3%A4%20b.py"}
    region = {"startLine": 2, "startColumn": 1, "endLine": 2, "endColumn": 13}
    assert physical["region"] == region
    assert run["columnKind"] == "unicodeCodePoints"
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert "'(' was never closed" in str(invocation["toolExecutionNotifications"])


def test_what_holds_optimizers(scan: Scan) -> None:
    _, lines = scan("--format", "sarif", a=HELD)
    (run,) = json.loads("\n".join(lines))["runs"]
    assert run["properties"] == {"becomingTrainStates": 0, "stayingOptimizers": 1}
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "note"
    assert note["message"]["text"] == (
        "holds back 1 optimizer, made in a.py:6: `get_target(optimizer)` may give an optimizer to a"
        " function whose code is not seen. Run with --verify to find out."
    )
    assert note["locations"][0]["physicalLocation"]["region"]["startLine"] == 7
