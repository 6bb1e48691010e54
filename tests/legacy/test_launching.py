"""The environment of a program that is started with the legacy names."""

from __future__ import annotations

import os

from flaxoptim_compat.legacy import hook, launching


def test_the_environment_of_the_program() -> None:
    given = {"PYTHONPATH": "/a", "OTHER": "1", hook.REPORT: "1:stale"}
    extended = launching.child_environment(given, ["my train.py"], era=False, names=3)
    assert extended["OTHER"] == "1"
    assert extended["PYTHONPATH"].split(os.pathsep)[:2] == [str(launching.STARTUP), "/a"]
    assert extended[hook.SERVE] == "optim"
    assert extended[hook.REPORT] == f"{os.getpid()}:3:my train.py"
    assert given == {"PYTHONPATH": "/a", "OTHER": "1", hook.REPORT: "1:stale"}
    quiet = launching.child_environment(given, ["-m", "x"], era=True, names=0)
    assert hook.REPORT not in quiet and quiet[hook.SERVE] == "era"
