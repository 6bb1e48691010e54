"""Some of each attack in every run of the tests, and what an attempt must not do is noticed."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat import cli
from tests.attack import attempts, checkpoints, sources
from tests.attack.attempts import Broken, command
from tests.attack.damage import of_tree
from tests.attack.running import Attacks
from tests.support.options import each


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork, and no such timers")
@pytest.mark.parametrize("rounds", each([1, 20], [1]))
def test_nothing_breaks(rounds: int, tmp_path: Path) -> None:
    with Attacks(20261127, tmp_path) as attacks:
        for _ in range(rounds):
            attacks.round()
        report = "\n".join(attacks.report())
    assert not attacks.broken, report
    # Damage is drawn such that each kind comes to more than one end.
    for outcome in ("bytes refused", "tree read", "orbax refused", "optax rewritten", "killed"):
        assert outcome in report


def _hangs() -> int:
    while True:
        pass


def _says(text: str, stream: Any = None) -> Callable[[], int]:
    def say() -> int:
        print(text, file=stream or sys.stderr)
        return 2

    return say


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such timers")
@pytest.mark.parametrize(
    ("does", "reason"),
    [
        (_hangs, "a hang"),
        (lambda: 2, "without a word"),
        (_says("Traceback\n" * 20), "an error of many lines"),
        (_says("\x1b[2J"), "a control character"),
        (lambda: 1 // 0, "division"),
    ],
    ids=["hang", "silence", "many lines", "control character", "traceback"],
)
def test_what_a_command_must_not_do(
    monkeypatch: pytest.MonkeyPatch, does: Callable[[], int], reason: str
) -> None:
    monkeypatch.setattr(cli, "main", lambda arguments: does())
    monkeypatch.setattr(attempts, "_SECONDS", 0.2)
    with pytest.raises((Broken, ZeroDivisionError), match=reason):
        command("scan")


def test_what_is_left_behind_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    every = checkpoints.Checkpoints(tmp_path)

    def leave(*arguments: object) -> int:
        (tmp_path / "inside" / "unfinished-out-0123abcd").touch()
        return 2

    monkeypatch.setattr(checkpoints, "command", leave)
    with pytest.raises(Broken, match="left behind"):
        every.attempt(random.Random(1))


def test_what_does_not_parse_any_more_is_noticed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = sources.Sources(tmp_path)

    def spoil(verb: str, path: Path, *arguments: object) -> int:
        path.write_bytes(b"def (")
        return 1

    monkeypatch.setattr(sources, "command", spoil)
    found = set()
    for number in range(30):
        with contextlib.suppress(Broken):
            every.attempt(random.Random(number))
            continue
        with pytest.raises(Broken) as caught:
            every.attempt(random.Random(number))
        found.add(str(caught.value))
    assert found == {"what is written does not parse", "scan has written"}


def test_a_tree_is_damaged_in_one_entry() -> None:
    tree = {"a": {"b": 1, "c": 2}, "d": 3}
    damaged = [of_tree(tree, random.Random(number)) for number in range(50)]
    assert tree == {"a": {"b": 1, "c": 2}, "d": 3}
    assert all(len(repr(each)) > 1 for each in damaged) and len(set(map(repr, damaged))) > 20
