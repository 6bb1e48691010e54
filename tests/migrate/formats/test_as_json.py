"""``flaxoptim-compat scan --format json``."""

from __future__ import annotations

import json

from tests.support.scanned_folders import Scan


def test_json(scan: Scan) -> None:
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
    assert found["plan"] == {
        "shim": 1,
        "optax": 1,
        "optimizers": {"becoming": 0, "staying": 0, "held": []},
        "begin_with": ["a.py"],
        "reasons": [],
    }
    assert found["not_understood"] == found["left_out"] == found["left_behind"] == []


def test_the_plan(scan: Scan) -> None:
    text = "import flax\nx = hasattr(flax, 'optim')\n"
    _, lines = scan("--format", "json", a=text, b=text)
    assert json.loads("\n".join(lines))["plan"] == {
        "shim": 0,
        "optax": 0,
        "optimizers": {"becoming": 0, "staying": 0, "held": []},
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
    _, lines = scan("--format", "json", a="", b="")
    assert json.loads("\n".join(lines))["plan"]["reasons"] == []
