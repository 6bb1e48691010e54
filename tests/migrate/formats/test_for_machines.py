"""``flaxoptim-compat scan`` for other programs: JSON, SARIF, GitHub; and its statistics."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.rewriting_folders import MAP, Scan

# One optimizer, with a line that keeps it from a plain TrainState.
DUAL = """\
import operator

from flax import optim

get_target = operator.attrgetter("target")
optimizer = optim.Adam(0.1).create({"a": 1.0})
print(get_target(optimizer))
"""
UNSEEN = (
    "`get_target(optimizer)` may give an optimizer to a function whose code is not seen. Run with"
    " --verify to find out."
)
# What holds one back, whatever its state answers.
HELD = f"{DUAL}print(type(optimizer))\n"
CLASS_ASKED = "`type(optimizer)` asks for the class, which becomes another one."


def test_json(scan: Scan) -> None:
    status, lines, _ = scan(
        "--format", "json", a="# é\nimport jax\nx = 'é', jax.tree_map\n", b="flax("
    )
    assert status == 2
    found = json.loads("\n".join(lines))
    assert found["version"] == 1
    assert found["files"] == {"seen": 2, "parsed": 1, "with_findings": 1}
    (finding,) = found["findings"]
    assert finding == {
        "path": "a.py",
        "line": 3,
        "column": 10,
        "end_line": 3,
        "end_column": 22,
        "code": "FOC151",
        "what": "jax.tree_map, gone since jax 0.6.0",
        "instead": "jax.tree.map",
        "shim": True,
        "optax": True,
        "works": False,
        "reason": "",
    }
    assert found["not_read"] == [{"path": "b.py", "why": "line 1: '(' was never closed"}]
    assert found["plan"] == {
        "shim": 1,
        "optax": 1,
        "works": 0,
        "optimizers": {"becoming": 0, "becoming_dual": 0, "staying": 0, "held": []},
        "begin_with": ["a.py"],
        "reasons": [],
    }
    assert found["not_understood"] == found["left_out"] == found["left_behind"] == []


def test_the_plan(scan: Scan) -> None:
    text = "import flax\nx = hasattr(flax, 'optim')\n"
    _, lines, _ = scan("--format", "json", a=text, b=text)
    assert json.loads("\n".join(lines))["plan"] == {
        "shim": 0,
        "optax": 0,
        "works": 0,
        "optimizers": {"becoming": 0, "becoming_dual": 0, "staying": 0, "held": []},
        "begin_with": [],
        "reasons": [
            {
                "path": "a.py",
                "line": 2,
                "column": 5,
                "end_line": 2,
                "end_column": 27,
                "count": 2,
                "reason": "hasattr(flax, 'optim') is False since flax 0.6.0.",
            }
        ],
    }
    _, lines, _ = scan("--format", "json", a="", b="")
    assert json.loads("\n".join(lines))["plan"]["reasons"] == []


def test_sarif(scan: Scan) -> None:
    _, lines, _ = scan("--format", "sarif", **{"ä b": MAP, "z": "flax(\n"})
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


@pytest.mark.parametrize(
    ("program", "line", "text"),
    [
        (DUAL, 7, f"makes a DualTrainState of 1 optimizer, made in a.py:6: {UNSEEN}"),
        (
            HELD,
            8,
            f"holds back 1 optimizer, made in a.py:6: {CLASS_ASKED} 1 other line holds it back"
            " too.",
        ),
    ],
)
def test_what_holds_optimizers_is_a_note_of_sarif(
    program: str, line: int, text: str, scan: Scan
) -> None:
    _, lines, _ = scan("--format", "sarif", a=program)
    (run,) = json.loads("\n".join(lines))["runs"]
    assert run["properties"] == {
        "becomingTrainStates": 0,
        "becomingDualTrainStates": int(program is DUAL),
        "stayingOptimizers": int(program is HELD),
    }
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert (note["level"], note["message"]["text"]) == ("note", text)
    assert note["locations"][0]["physicalLocation"]["region"]["startLine"] == line


def test_annotations_of_github(scan: Scan) -> None:
    status, lines, _ = scan("--format", "github", **{"a,b:c%d": MAP, "z": "flax(\n"})
    assert status == 2
    assert lines[:2] == [
        "::warning file=a%2Cb%3Ac%25d.py,line=2,endLine=2,col=1,endColumn=13,title=FOC151"
        "::jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "::error file=z.py,title=not read::line 1: '(' was never closed",
    ]


@pytest.mark.parametrize(
    ("program", "title", "end"),
    [
        (DUAL, "keeps optimizers dual", "1 of 1 optimizer moves: 0 to TrainState, 1 to Dual"),
        (HELD, "holds optimizers back", "0 of 1 optimizer becomes a TrainState, 1 stays."),
    ],
)
def test_what_holds_optimizers_is_a_notice_of_github(
    program: str, title: str, end: str, scan: Scan
) -> None:
    _, lines, _ = scan("--format", "github", a=program)
    assert lines[-4].startswith("::notice file=a.py,line=")
    assert f"title={title}::1 optimizer, made in a.py:6: `" in lines[-4]
    assert lines[-2].startswith("1 file parsed, 0 without names that are gone, 0 not read,")
    assert lines[-1].startswith(end)


def test_statistics(scan: Scan) -> None:
    status, lines, _ = scan(
        "--statistics", a=MAP, b=MAP * 2 + "jax.tree_leaves(x)\nx.jax.core.Primitive\n", c="1"
    )
    assert status == 1
    assert lines == [
        "found  code    name               --to shim  --to optax",
        "    4  FOC151  removed-jax-names          4           4",
        "",
        "b.py: 3 findings (3 FOC151)",
        "a.py: 1 finding (1 FOC151)",
        "4 findings in 2 of 3 files.",
        "2 files parsed, 1 without names that are gone, 0 not read, 0 names not understood.",
    ]
    assert scan("--statistics", "--select", "FOC2")[1][0] == "0 findings in 0 of 3 files."


def test_statistics_are_text(scan: Scan, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        scan("--statistics", "--format", "json")
    assert caught.value.code == 2
    assert "--statistics prints text" in capsys.readouterr().err
