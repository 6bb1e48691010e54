"""What ``flaxoptim-compat rewrite`` says of what it did: short, however much there was."""

from __future__ import annotations

from pathlib import Path

from tests.support.rewriting_folders import OLD, Rewrite, read

GIVEN_AWAY = """\
import my_project
from flax import optim

optimizer = optim.Adam(0.1).create({"w": 1.0})
my_project.keep(optimizer)
print(optimizer.target)
print(optimizer.state.step)
"""
HELD = f"{GIVEN_AWAY}print(type(optimizer))\n"


def unfolded(output: str) -> str:
    """The lines with those that go on in the next, which are all short."""
    assert all(len(each) <= 100 for each in output.splitlines() if " left: " in each)
    return output.replace("\n    ", " ")


def test_a_reason_is_said_where_it_is_met_and_counts_what_stays_for_it(rewrite: Rewrite) -> None:
    done = rewrite("--check", to="optax", a=HELD)
    left = [line for line in unfolded(done.output).splitlines() if " left: " in line]
    assert left == [
        "a.py:5:17: FOC218 left: `my_project.keep(optimizer)` may give an optimizer to"
        " my_project.keep, whose code is not seen. Run with --verify to find out.",
        "a.py:8:7: FOC219 left: `type(optimizer)` asks for the class, which becomes another one."
        " 4 other places stay for this reason.",
    ]
    assert done.output.splitlines()[-2].endswith(" dealt with, 6 left.")


def test_what_a_dual_state_does_is_not_left(rewrite: Rewrite) -> None:
    done = rewrite("--write", to="optax", a=GIVEN_AWAY)
    assert " left: " not in done.output and done.status == 0
    assert "\n1 of 1 optimizer moves: 0 to TrainState, 1 to DualTrainState.\n" in done.output
    assert " 5 findings dealt with, 2 work as written, 0 left.\n" in done.output
    again = rewrite("--write", to="optax")
    assert "a.py:6: keeps 1 optimizer, made in a.py:5, a DualTrainState: " in unfolded(again.output)
    assert "\n1 optimizer is a DualTrainState.\n" in again.output
    assert again.status == 0 and "\nNo file was changed.\n" in again.output


def test_a_reason_of_another_file_is_not_said_again(rewrite: Rewrite) -> None:
    made = 'from flax import optim\n\noptimizer = optim.Adam(0.1).create({"w": 1.0})\n'
    done = rewrite(
        "--check",
        to="optax",
        made=made,
        used="import made\n\nprint(type(made.optimizer))\n",
    )
    left = [line for line in unfolded(done.output).splitlines() if " left: " in line]
    assert len(left) == 1
    assert left[0].startswith("used.py:3:") and " 2 other places stay " in left[0]


def test_much_that_is_left_is_counted(rewrite: Rewrite) -> None:
    lines = [f'print("flax.optim.Adam{number}")' for number in range(40)]
    done = rewrite("--check", a="import flax\n\n" + "\n".join(lines) + "\nflax.optim.Adam\n")
    said = done.output.splitlines()
    assert len([line for line in said if " left: " in line]) == 12
    assert "and 28 more, which scan --format concise lists" in said
    assert said[-2].endswith(" dealt with, 40 left.")


def test_files_that_change_are_all_named_but_beside_a_patch(rewrite: Rewrite) -> None:
    Path("folder").mkdir()
    for number in range(20):
        Path(f"folder/f{number:02}.py").write_text(OLD)
    patch = rewrite(paths=("folder",))
    assert patch.output.count("+++ ") == 20
    assert patch.errors.count(": changed in the patch: ") == 8
    assert "and 12 more, which the patch lists\n" in patch.errors
    assert rewrite("--check", paths=("folder",)).output.count(": would be changed: ") == 20
    assert rewrite("--write", paths=("folder",)).output.count(": changed: ") == 20
    assert read("folder/f19.py") != OLD


def test_what_was_not_read_is_counted(rewrite: Rewrite) -> None:
    Path("folder").mkdir()
    for number in range(9):
        Path(f"folder/f{number}.py").write_text("from flax import optim\n)\n")
    said = rewrite("--check", paths=("folder",)).output.splitlines()
    assert len([line for line in said if ": not read: " in line]) == 5
    assert "and 4 more, which scan --format concise lists" in said
    assert any(line.endswith(" 9 not read, 0 names not understood.") for line in said)


def test_many_kinds_are_a_number(rewrite: Rewrite) -> None:
    uses = """\
from flax import optim
import flax
import jax

optimizer: flax.optim.Optimizer = optim.Adam(0.1).create(jax.tree_map(abs, {"w": 1.0}))
optimizer = optimizer.apply_gradient({"w": 1.0}, learning_rate=0.2).replace(target={"w": 2.0})
print(optimizer.target, optimizer.state.step)
"""
    (line, *_) = rewrite("--check", to="optax", a=uses).output.splitlines()
    assert line.startswith("a.py: would be changed: ") and line.endswith(" kinds)")


COMMENTED = """\
from flax import optim


def train(params, grads):
    optimizer = optim.Adam(0.1).create(params)
    text = "# optimizer.target"
    # The parameters are handed on via optimizer.target.
    return optimizer.apply_gradient(grads).target, text
"""


def test_a_comment_on_what_has_gone_is_named(rewrite: Rewrite) -> None:
    said = [
        line
        for line in rewrite("--check", to="optax", a=COMMENTED).output.splitlines()
        if "the comment speaks of" in line
    ]
    (line,) = said
    assert line.endswith("`optimizer.target`: check whether the comment is still right")
    assert Path("a.py").read_text().count("optimizer.target") == 2
    # It holds as long as the optimizer is one.
    assert "the comment" not in rewrite("--check", to="shim").output
