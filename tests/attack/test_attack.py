"""Some of each attack in every run of the tests, and what an attempt must not do is noticed."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat import cli
from tests.attack import attacks
from tests.attack.__main__ import Attacks
from tests.attack.attacks import Broken, command, damage_a_checkpoint, damage_a_source
from tests.support.options import each


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork, and no such timers")
@pytest.mark.parametrize("rounds", each([1, 8], [1]))
def test_nothing_breaks(rounds: int) -> None:
    every = Attacks(20261130)
    for _ in range(rounds):
        every.round()
    report = "\n".join(every.report())
    assert not every.broken, report
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
    monkeypatch.setattr(attacks, "_SECONDS", 0.2)
    with pytest.raises((Broken, ZeroDivisionError), match=reason):
        command("scan")


@pytest.mark.parametrize(
    ("attempt", "name", "content", "reasons"),
    [
        (damage_a_checkpoint, "unfinished-out-0123abcd", b"", {"left behind"}),
        (
            damage_a_source,
            "program.py",
            b"def (",
            {"what is written does not parse", "scan has written"},
        ),
    ],
    ids=["left behind", "does not parse"],
)
def test_what_a_command_must_not_leave(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    attempt: Callable[[Path, random.Random], str],
    name: str,
    content: bytes,
    reasons: set[str],
) -> None:
    found = set()

    def spoil(*arguments: object) -> int:
        (folder / name).write_bytes(content)
        return 1

    monkeypatch.setattr(attacks, "command", spoil)
    for number in range(30):
        folder = tmp_path / str(number)
        folder.mkdir()
        try:
            attempt(folder, random.Random(number))
        except Broken as broken:
            found.add(str(broken).partition(":")[0])
    assert found == reasons | {"left behind"}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"import flax\nx = '\xff'\n", "line 2: byte 0xff is not UTF-8"),
        (
            b"import flax  # \xff\n",
            "line 1: byte 0xff is not UTF-8, and no other encoding is declared",
        ),
    ],
)
def test_what_is_no_text_is_named(
    content: bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "program.py").write_bytes(content)
    assert cli.main(["scan", str(tmp_path / "program.py")]) == 2
    assert capsys.readouterr().out.splitlines()[-1].endswith(f"not read: {said}")
