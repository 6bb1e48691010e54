"""What scan says of optimizers as a whole, and how true it is once the named line has changed."""

from __future__ import annotations

import collections
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flaxoptim_compat.cli import main
from tests.support.places import DATA
from tests.support.rewriting_folders import Rewrite, copied

LEFT = DATA / "wild_programs" / "left"
# For each program what the named lines hold, and their texts without it, one after the other.
MENDED = {
    "entries": [
        ('    moment = entries["state"]["param_states"]["scale"]["grad_ema"]', ""),
        ('    step = other.state_dict()["state"]["step"]', "    step = other.state.step"),
        ('    return entries["target"], moment, step', "    return optimizer.target, step"),
    ],
    "given_away": [
        (
            "    optimizer = optimizer.apply_gradient(gradients(get_target(optimizer)))",
            "    optimizer = optimizer.apply_gradient(gradients(optimizer.target))",
        ),
        ("    return get_target(optimizer)", "    return optimizer.target"),
    ],
    "pickled": [
        (
            "        pickle.dump(self, file)",
            '        pickle.dump({"target": self.optimizer.target}, file)',
        ),
        (
            '    saved = pickle.dumps({"optimizer": optimizer})',
            '    saved = pickle.dumps({"optimizer": {"target": optimizer.target}})',
        ),
    ],
    "pickled_to_go_on": [
        (
            "    optimizer = stepped(pickle.loads(pickle.dumps(optimizer)))",
            "    optimizer = stepped(optimizer)",
        ),
    ],
    "not_certain": [
        (
            "    return optimizer.apply_gradient(gradients(optimizer.target))",
            "    return optimizer",
        ),
        (
            "    return [step_of(each).target for each in found]",
            "    return [step_of(each) for each in found]",
        ),
    ],
}
TWO = """\
from flax import optim


def first(p):
    return optim.Adam(0.1).create(p)


def second(p):
    return optim.Momentum(0.1).create(p)
"""
JOINED = """\
from two import first, second
from unknown import send


def train(optimizer, g):
    return optimizer.apply_gradient(g)


def run(p, g):
    one = first(p)
    send(one)
    one = one.apply_gradient(g)
    other = second(p).apply_gradient(g)
    return one.target, other.target
"""

Scan = Callable[[], dict[str, Any]]


@pytest.fixture
def scan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Scan:
    monkeypatch.chdir(tmp_path)

    def scan() -> dict[str, Any]:
        main(["scan", ".", "--format", "json"])
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["plan"]
        return found

    return scan


def line_in(text: str, line: Mapping[str, Any]) -> str:
    return text.splitlines()[line["line"] - 1]


@pytest.mark.parametrize("name", MENDED)
def test_once_the_named_lines_have_changed_it_moves(name: str, scan: Scan) -> None:
    program = Path(f"{name}.py")
    program.write_text((LEFT / program).read_text())
    for line, mended in MENDED[name]:
        held = scan()["optimizers"]["held"]
        assert line_in(program.read_text(), held[0]["held_by"][0]) == line
        program.write_text(program.read_text().replace(f"{line}\n", f"{mended}\n"))
    optimizers = scan()["optimizers"]
    assert optimizers["becoming"] and optimizers["held"] == []


def test_the_lines_of_all_programs_that_stay_are_named(scan: Scan, tmp_path: Path) -> None:
    for path in LEFT.glob("*.py"):
        (tmp_path / path.name).write_text(path.read_text())
    optimizers = scan()["optimizers"]
    made = [optimizers[each] for each in ("becoming", "becoming_dual", "staying")]
    assert made == [1, 28, 14]
    assert all(each["reason"] and each["held_by"] for each in optimizers["held"])
    lines = [
        (each["becomes_dual"], each["held_by"][0]["path"], each["held_by"][0]["line"])
        for each in optimizers["held"]
    ]
    assert lines == sorted(lines)


def test_one_obstacle_holds_one_optimizer(rewrite: Rewrite) -> None:
    uses = JOINED.replace("def train(optimizer, g):\n    return optimizer.apply_gradient(g)\n", "")
    done = rewrite("--check", to="optax", two=TWO, uses=uses)
    (line,) = [each for each in done.output.splitlines() if " DualTrainState of " in each]
    assert line == (
        "uses.py:9: makes a DualTrainState of 1 optimizer, made in two.py:5:"
        " `send(one)` may give an optimizer to unknown.send, whose code is not seen."
        " Run with --verify to find out."
    )
    assert "2 of 2 optimizers move: 1 to TrainState, 1 to DualTrainState.\n" in done.output


def test_what_joins_optimizers_is_named_and_no_more_once_it_is_one_of_them(
    rewrite: Rewrite, scan: Scan
) -> None:
    output = rewrite("--check", to="optax", two=TWO, uses=JOINED).output.splitlines()
    held = next(number for number, each in enumerate(output) if " DualTrainStates of " in each)
    assert output[held].startswith(
        "uses.py:11: makes DualTrainStates of 2 optimizers, made in two.py:5, two.py:9: "
    )
    assert output[held + 1 : held + 3] == [
        "uses.py:6: the value may be any of the optimizers made in two.py:5, two.py:9, so they stay"
        " together. Use only one of them here, and run rewrite again.",
        "2 of 2 optimizers move: 0 to TrainState, 2 to DualTrainState.",
    ]
    (unit,) = scan()["optimizers"]["held"]
    assert [line_in(JOINED, each) for each in unit["joined_by"]] == [
        "    return optimizer.apply_gradient(g)"
    ]
    Path("uses.py").write_text(JOINED.replace("one = one.apply_gradient(g)", "one = train(one, g)"))
    optimizers = scan()["optimizers"]
    assert (optimizers["becoming"], optimizers["becoming_dual"]) == (1, 1)
    assert optimizers["held"][0]["joined_by"] == []


def test_what_is_mixed_on_purpose_is_said_once(rewrite: Rewrite, scan: Scan) -> None:
    text = (LEFT / "not_certain.py").read_text()
    done = rewrite("--check", to="optax", mixed=text)
    why = "A value is an optimizer in some calls, and something else in others"
    why = f"{why}: an object of `Frozen`, mixed.py:6."
    assert done.output.count(why) == 1
    # Such places are three, beside the one where the optimizer is made.
    assert " 3 findings dealt with, 4 work as written, 0 left.\n" in done.output
    assert scan()["reasons"] == []
    rewrite("--write", to="optax")
    assert "# FOC" not in Path("mixed.py").read_text()


def test_a_file_that_is_left_alone_holds_its_optimizers(rewrite: Rewrite, scan: Scan) -> None:
    uses = JOINED.replace("    send(one)\n", "")
    done = rewrite("--check", to="optax", two=f"# @generated\n{TWO}", uses=uses)
    assert "two.py:6: holds back 2 optimizers, made in two.py:6, two.py:10: The" in done.output
    held = scan()["optimizers"]["held"]
    assert [each["held_by"][0]["line"] for each in held] == [6]
    assert "generated" in held[0]["reason"]


def test_the_first_ten_are_printed(rewrite: Rewrite, scan: Scan) -> None:
    text = "from flax import optim\nprint(type(optim.Adam(0.1).create({})))\n"
    for number in range(13):
        Path(f"a{number:02}.py").write_text(text)
    output = rewrite("--check", to="optax").output
    assert output.count(": holds back 1 optimizer") == 10
    assert "and 3 more, which scan --format concise lists\n0 of 13 optimizers become" in output
    assert len(scan()["optimizers"]["held"]) == 13
    assert "optimizer" not in rewrite("--check", to="shim").output.splitlines()[-2]


def test_nine_tenths_of_all_programs_become_train_states(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    becoming, made = 0, 0
    for group in ("large_programs", "legacy_programs", "wild_programs"):
        folder = copied(DATA / group, tmp_path / group)
        # These are there to stay.
        shutil.rmtree(folder / "left", ignore_errors=True)
        main(["scan", str(folder), "--format", "json"])
        found = json.loads(capsys.readouterr().out)["plan"]["optimizers"]
        becoming += found["becoming"]
        made += found["becoming"] + found["becoming_dual"] + found["staying"]
    assert made > 60
    assert becoming >= 0.9 * made


def test_a_place_is_named_once_for_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    main(["scan", str(LEFT.parent), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["findings"]
    places = collections.Counter(
        (each["path"], each["line"], each["column"], each["code"], each["reason"]) for each in found
    )
    assert len(places) > 100
    assert [place for place, times in places.items() if times > 1] == []
