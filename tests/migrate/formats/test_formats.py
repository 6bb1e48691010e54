"""The formats of ``flaxoptim-compat scan``: statistics, JSON, annotations of GitHub, SARIF."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main

MAP = "import jax\njax.tree_map\n"


@pytest.fixture
def scan(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> Any:
    monkeypatch.chdir(tmp_path)

    def run(*options: str, **files: str) -> tuple[int, list[str]]:
        for name, text in files.items():
            Path(f"{name}.py").write_text(text)
        status = main(["scan", ".", *options])
        return status, capsys.readouterr().out.splitlines()

    return run


def test_statistics(scan: Any) -> None:
    status, lines = scan("--statistics", a=MAP, b=MAP * 2 + "jax.tree_leaves(x)\n", c="1")
    assert status == 1
    assert lines[:4] == [
        "4  FOC151 removed-jax-names (--to shim: 4, --to optax: 4)",
        "",
        "b.py: 3 findings (3 FOC151)",
        "a.py: 1 finding (1 FOC151)",
    ]


def test_json(scan: Any) -> None:
    status, lines = scan(
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
        "reason": "",
    }
    assert found["not_read"] == [{"path": "b.py", "why": "line 1: '(' was never closed"}]
    assert found["not_understood"] == found["left_out"] == found["left_behind"] == []


def test_annotations_of_github(scan: Any) -> None:
    status, lines = scan("--format", "github", **{"a,b:c%d": MAP, "z": "flax(\n"})
    assert status == 2
    assert lines[:2] == [
        "::warning file=a%2Cb%3Ac%25d.py,line=2,endLine=2,col=1,endColumn=13,title=FOC151"
        "::jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "::error file=z.py,title=not read::line 1: '(' was never closed",
    ]


def test_sarif(scan: Any) -> None:
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


def test_where_rules_are_explained(scan: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from flaxoptim_compat.migrate.formats import as_sarif

    monkeypatch.setattr(as_sarif, "_home", lambda: "https://example.org/it/")
    _, lines = scan("--format", "sarif", a="1")
    driver = json.loads("\n".join(lines))["runs"][0]["tool"]["driver"]
    page = "https://example.org/it/blob/main/migration_guide/rules/FOC151.md"
    assert page in [rule["helpUri"] for rule in driver["rules"]]


def test_statistics_are_text(scan: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        scan("--statistics", "--format", "json")
    assert caught.value.code == 2
    assert "--statistics is text" in capsys.readouterr().err
