"""``flaxoptim-compat rewrite``: what it shows, what it writes, and what it leaves alone."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import optax
import pytest
from flax import serialization
from flax.training.train_state import TrainState

from flaxoptim_compat.cli import main
from flaxoptim_compat.versions import that_need_run
from tests.support.rewriting_folders import NEW, OLD, Rewrite, read
from tests.support.terminal import on_a_terminal

# A program without optimizers.
WITHOUT = OLD.replace("from flax import optim\n", "")


def test_check_only_says(rewrite: Rewrite) -> None:
    done = rewrite("--check", a=OLD)
    assert (done.status, done.errors) == (1, "")
    lines = done.output.splitlines()
    assert lines[0].startswith("a.py: would be changed: ")
    assert lines[-1] == "No file was changed. To change it, add --write."
    assert read("a.py") == OLD


@pytest.mark.parametrize(("ends", "mark"), [("\n", ""), ("\n", "\ufeff"), ("\r\n", "\ufeff")])
def test_write(rewrite: Rewrite, ends: str, mark: str) -> None:
    old, new = (mark + text.replace("\n", ends) for text in (OLD, NEW))
    done = rewrite("--write", a=old, b="x = 1\n")
    undo = "No git repository has these files. To take the rewrite back: rewrite --undo\n"
    assert (done.status, done.errors) == (0, undo)
    assert read("a.py") == new
    assert "rewrite --to shim: 1 file changed, " in done.output
    assert "No file was changed" not in done.output
    # A second run has nothing to do.
    done = rewrite("--write")
    assert done.status == 0
    assert done.output.endswith("\nNo file was changed.\n")
    assert read("a.py") == new


RESTORES = """\
from flax import optim
from flax.training import checkpoints

optimizer = optim.Adam(0.1).create({"w": 1.0})
optimizer = checkpoints.restore_checkpoint("run", optimizer)
"""


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("shim", OLD, "Next: run the program with python, as it is, and go on with rewrite --to"),
        ("optax", OLD, "Next: run the program, or its tests, with python, as it is.\n"),
        (
            "optax",
            RESTORES,
            "No run has compared the numbers. For a proof, with a training or the tests:\n"
            "flaxoptim-compat verify COMMAND\n",
        ),
        (
            "optax",
            RESTORES,
            "the new program is to go on in:\nflaxoptim-compat checkpoint convert OLD NEW --to"
            " train-state --definition 'optim.Adam(learning_rate=0.1)' --rate fixed\n",
        ),
        (
            "optax",
            "from flax import nn\nnn.Module\n",
            "\nKeep flaxoptim_compat installed: 1 of these files needs it.\n",
        ),
        (
            "shim",
            f"import flax.linen as nn\nnn.LSTMCell()\n{OLD}",
            "Next: change the places that are left (see the lines above)",
        ),
        (
            "optax",
            "from flax import optim\n\n\nclass Own(optim.OptimizerDef):\n    pass\n\n\n"
            "print(Own(0.1).create({}).target)\n",
            "Next: run the program, or its tests, with python, as it is.\n",
        ),
        (
            "shim",
            "import package\nfrom flax import optim\n\npackage.keep(optim.Adam(0.1).create({}))\n",
            "Next: run the program with python, as it is, and go on with rewrite --to optax.\n",
        ),
    ],
)
def test_the_last_line_says_what_is_next(
    rewrite: Rewrite, target: str, source: str, expected: str
) -> None:
    done = rewrite("--write", to=target, a=source)
    assert expected in "\n".join(done.output.splitlines()[-9:]) + "\n"
    ruff = "ruff check --select I --fix a.py && ruff format a.py"
    assert done.output.endswith(f"\nTo order the imports and format: {ruff}\n")
    # Nothing is changed again.
    assert "To order" not in rewrite("--write", to=target).output


def test_the_commands_of_many_files_and_of_who_has_black(rewrite: Rewrite) -> None:
    done = rewrite("--write", a=OLD, b=OLD, c=OLD, d=OLD)
    assert done.output.endswith("format: ruff check --select I --fix FILES && ruff format FILES\n")
    Path("pyproject.toml").write_text("[tool.black]\nline-length = 79\n")
    done = rewrite("--write", e=OLD)
    assert done.output.endswith("\nTo order the imports and format: isort e.py && black e.py\n")


def test_what_works_on_the_shim_as_it_is_was_not_dealt_with(rewrite: Rewrite) -> None:
    uses = "from flax import optim\n\no = optim.Adam(0.1).create({})\nprint(o.target)\n"
    summary = "rewrite --to shim: {} changed, {} findings dealt with, 3 work as written, 0 left."
    done = rewrite("--write", to="shim", a=uses)
    assert summary.format("1 file", 2) in done.output
    assert "a.py: changed: 2 findings (FOC101, FOC102)\n" in done.output
    done = rewrite("--write", to="shim")
    assert summary.format("0 files", 0) in done.output


TRAIN_STATE = TrainState.create(apply_fn=None, params={"w": 1.0}, tx=optax.adam(0.1))
# The command fails with what stands in the file `said`.
FAILS = "grep -q optim.Adam a.py || { cat said; false; }"


@pytest.mark.parametrize("style", ["native", "long", "short", "line"])
def test_a_command_that_finds_a_checkpoint_of_before(rewrite: Rewrite, style: Any) -> None:
    before = serialization.to_bytes({"target": {"w": 1.0}, "state": {"step": 3}})
    with pytest.raises(ValueError, match="Missing field") as caught:
        serialization.from_bytes(TRAIN_STATE, before)
    Path("said").write_text(str(caught.getrepr(style=style)))
    done = rewrite("--write", "--verify", FAILS, to="optax", a=RESTORES)
    assert done.status == 2 and read("a.py") == RESTORES
    assert "the command found a checkpoint of the old one" in done.errors
    assert "flaxoptim-compat checkpoint convert OLD NEW" in done.errors
    done = rewrite("--write", "--verify", FAILS, to="shim", a=RESTORES)
    assert "checkpoint of the old" not in done.errors
    done = rewrite("--write", "--verify", "cat said; false", to="optax", a=RESTORES)
    assert "checkpoint of the old" not in done.errors


OWN = RESTORES.replace("optim.Adam", "Own").replace(
    "\n\n",
    """


class Own(optim.GradientDescent):
    def apply_param_gradient(self, step, hyper_params, param, state, grad):
        return param - hyper_params.learning_rate * grad, state


""",
)


def test_a_checkpoint_whose_conversion_has_to_be_filled_in(rewrite: Rewrite) -> None:
    Path("said").write_text("while restoring an instance of TrainState")
    how = "flaxoptim-compat verify COMMAND --before COPY --convert 'the command above, filled in'"
    fails = FAILS.replace("optim.Adam", "'from flax import'")
    done = rewrite("--write", "--verify", fails, to="optax", a=OWN)
    assert done.status == 2 and "MODULE:DEFINITION" in done.errors and how in done.errors
    done = rewrite("--write", "--verify", FAILS, to="optax", a=RESTORES)
    assert done.status == 2 and how not in done.errors


def test_a_command_that_fails_elsewhere_is_told_of_no_checkpoint(rewrite: Rewrite) -> None:
    with pytest.raises(AssertionError) as caught:
        raise AssertionError("the restored one: 1 == 2")
    Path("said").write_text(f"Restored run/checkpoint_1\n{caught.getrepr(style='native')}")
    done = rewrite("--write", "--verify", FAILS, to="optax", a=RESTORES)
    assert done.status == 2 and read("a.py") == RESTORES
    assert "the restored one" in done.errors
    assert "checkpoint convert" not in done.errors and "of the old one" not in done.errors


@pytest.mark.parametrize(
    ("target", "ends", "mark"),
    [("shim", "\n", ""), ("optax", "\n", "\ufeff"), ("shim", "\r\n", "\ufeff")],
)
def test_gin_files(rewrite: Rewrite, target: str, ends: str, mark: str) -> None:
    old = mark + "f.x = [  # é\n  @flax.optim.Adam(),\n]\n\na/flax.optim.Adam.eps = 1".replace(
        "\n", ends
    )
    Path("a.gin").write_bytes(old.encode())
    done = rewrite(to=target)
    assert (done.status, read("a.gin")) == (1, old)
    assert "+a/flaxoptim_compat.optim.Adam.eps = 1" in done.output
    assert "a.gin: would be changed: 2 findings (FOC112)" in rewrite("--check", to=target).output
    verified = rewrite("--write", "--verify", "grep -q _compat a.gin", to=target)
    assert (verified.status, read("a.gin")) == (2, old)
    assert rewrite("--write", to=target).status == 0
    assert read("a.gin") == old.replace("flax.optim", "flaxoptim_compat.optim")
    assert rewrite("--write", to=target).status == 0


def test_what_is_left_in_a_gin_file_is_marked_above_its_statement(rewrite: Rewrite) -> None:
    old = 'f.x = [\n  1, """\nflax.optim.Adam\n"""]\nf.y = \\\n  \'flax.optim\'  # noqa: FOC112\n'
    Path("a.gin").write_text(old)
    mark = "# FOC112: Only the program knows what this text is for.\n"
    for target in ("shim", "optax"):
        rewrite("--write", to=target)
        assert read("a.gin") == mark + old


def test_a_patch_on_a_terminal_is_in_colours(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(OLD + f"# {'long ' * 60}\n")
    status, shown, _ = on_a_terminal(
        ["rewrite", "a.py", "--to", "shim"], tmp_path, "stdout", {"TERM": "xterm", "COLUMNS": "80"}
    )
    assert status == 1
    text = shown.decode().replace("\r\n", "\n")
    assert "\033[31m-from flax import optim\033[0m\n" in text
    assert "\033[32m+from flaxoptim_compat import optim\033[0m\n" in text


def test_nothing_to_do(rewrite: Rewrite) -> None:
    for options in ((), ("--check",), ("--write",)):
        done = rewrite(*options, a="x = 1\n")
        assert done.status == 0
        assert "No file was changed." in done.output + done.errors
    assert rewrite(a="x = 1\n").output == ""


def test_marks_are_not_forgotten(rewrite: Rewrite, capsys: pytest.CaptureFixture[str]) -> None:
    # What is marked works on flaxoptim_compat, so that there may be nothing to find any more.
    source = "def f(x):\n    # FOC101: because\n    # FOC999: so\n    return x\n"
    done = rewrite("--write", to="optax", a=source)
    assert done.status == 0
    assert "a.py:2:7: left by an earlier rewrite: FOC101: because\na.py:3:7: " in done.output
    assert main(["scan", "."]) == 1
    assert "a.py:3:7: left by an earlier rewrite: FOC999: so" in capsys.readouterr().out


def test_files_that_are_left_alone(rewrite: Rewrite) -> None:
    Path("vendor").mkdir()
    texts: dict[str, bytes] = {}
    for suffix, old in ((".py", OLD), (".gin", "flax.optim.Adam.eps = 1\n")):
        names = (f"real{suffix}_", f"read_only{suffix}", f"vendor/x{suffix}")
        texts |= dict.fromkeys(names, old.encode())
        texts[f"generated{suffix}"] = f"# @generated\n{old}".encode()
        texts[f"latin{suffix}"] = f"# coding: latin-1\n{old}".encode("latin-1")
        Path(f"link{suffix}").symlink_to(f"real{suffix}_")
    for name, content in texts.items():
        Path(name).write_bytes(content)
    for name in ("read_only.py", "read_only.gin"):
        Path(name).chmod(0o444)
    done = rewrite("--write", paths=(".", "link.py", "link.gin"), good=OLD)
    # For the read-only ones. The others are places that are left for people.
    assert done.status == 2
    output = done.output.replace("\n    ", " ")
    left = dict(re.findall(r"^(\S+): left alone, with .*: (.*)$", output, re.MULTILINE))
    reasons = {
        "generated": "the file is generated, as its first lines say",
        "latin": "the file is in iso-8859-1, not in UTF-8",
        "link": "the file is a link",
        "read_only": "the file is read-only",
        "vendor/x": "the file is a copy of other people's code, in vendor",
    }
    assert left == {f"{name}.{end}": reasons[name] for name in reasons for end in ("py", "gin")}
    assert output.count(".gin: left alone, with 1 finding (FOC112): ") == 5
    assert read("good.py") == NEW
    assert {name: Path(name).read_bytes() for name in texts} == texts
    assert Path("link.py").is_symlink() and Path("link.gin").is_symlink()


def test_a_file_that_cannot_be_read_is_trouble_and_stops_no_other(rewrite: Rewrite) -> None:
    Path("c.gin").write_text("f.x = [@flax.optim.Adam()\n")
    done = rewrite("--write", a=OLD, b="import flax\nprint 'x'\n")
    assert done.status == 2
    assert "b.py: not read: line 2: " in done.output
    assert "c.gin: not read: line 2: EOF in multi-line statement" in done.output
    assert (read("a.py"), read("c.gin")) == (NEW, "f.x = [@flax.optim.Adam()\n")
    assert "Next: mend the files that were not read (see the lines above), and" in done.output
    assert "Next: run" not in done.output
    left = rewrite("--write", a=OLD, b="import flax\nprint 'x'\n", c="import jax\njax.mask\n")
    assert "Next: mend the files that were not read and change the places that are" in left.output


def test_a_file_that_changes_meanwhile_is_not_written(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flaxoptim_compat.migrate.editing import replacing_files

    genuine = replacing_files.replace

    def slow(change: Any, *time: int | None) -> None:
        Path("a.py").write_text("x = 1\n")
        genuine(change, *time)

    monkeypatch.setattr(replacing_files, "replace", slow)
    done = rewrite("--write", a=OLD, b=OLD)
    assert done.status == 2
    assert "a.py: not written: the file has changed since it was read" in done.errors
    assert "rewrite --to shim: 0 files changed, " in done.output
    assert "b.py: changed" not in done.output
    # The one may need the other.
    assert (read("a.py"), read("b.py")) == ("x = 1\n", OLD)
    assert sorted(os.listdir()) == ["a.py", "b.py"]


def test_verify_changes_nothing_but_what_it_writes(rewrite: Rewrite) -> None:
    command = "echo run >> runs; grep -q jax a.py && test $(wc -l < runs) = 1"
    done = rewrite("--write", "--verify", command, a=WITHOUT)
    assert done.status == 0, done.errors
    assert read("a.py") == WITHOUT.replace("jax.tree_map", "jax.tree.map")
    assert "rewrite moves no optimizer" in done.output
    # With nothing to write, nothing is run.
    done = rewrite("--write", "--verify", "echo run >> runs")
    assert done.status == 0 and "verify COMMAND" in done.errors
    assert sorted(os.listdir()) == [".flaxoptim_compat", "a.py"]


def test_what_git_cannot_take_back_is_said(rewrite: Rewrite) -> None:
    for words in ("init -q", "add .", "-c user.name=a -c user.email=a commit -qm a --allow-empty"):
        subprocess.run(["git", *words.split()], check=True)
    done = rewrite("--write", a=OLD)
    assert done.errors.startswith("1 file has uncommitted changes. To take only the rewrite back:")
    assert rewrite("--undo", paths=(), to="").status == 0
    assert read("a.py") == OLD


@pytest.mark.parametrize(
    ("command", "setting", "is_then"),
    [
        ("true # run --random then train.py", "", True),
        ("true # run --random=then train.py", "", True),
        ("true", "then", True),
        ("true", "", False),
    ],
)
def test_verify_with_the_old_random_numbers(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch, command: str, setting: str, is_then: bool
) -> None:
    monkeypatch.setenv("FLAXOPTIM_COMPAT_RANDOM", setting)
    done = rewrite("--write", "--verify", command, a=WITHOUT)
    line = 'jax.config.update("jax_threefry_partitionable", False)\n'
    assert (line in done.output) == is_then


def test_verify_that_fails_after(rewrite: Rewrite) -> None:
    done = rewrite("--write", "--verify", "echo 1 failed; grep -q tree_map a.py", a=OLD, b=OLD)
    assert done.status == 2
    assert (read("a.py"), read("b.py")) == (OLD, OLD)
    assert "1 failed\n" in done.errors
    said = "With the new program, the command fails with exit status 1: echo 1 failed; grep -q"
    assert said in " ".join(done.errors.split())
    assert done.errors.endswith("\nNo file was changed.\n")
    assert sorted(os.listdir()) == ["a.py", "b.py"]


def test_verify_that_fails_before(rewrite: Rewrite) -> None:
    done = rewrite("--write", "--verify", "echo broken; false", a=OLD)
    assert (done.status, read("a.py")) == (2, OLD)
    assert "broken\n" in done.errors
    said = "With the old program, the command fails with exit status 1: echo broken; false\nNo file"
    assert said in done.errors


def test_no_proof_without_numbers(rewrite: Rewrite) -> None:
    done = rewrite("--write", "--verify", "true", a=OLD + "optim.Adam(0.1).create({}).target\n")
    assert done.status == 2 and "optim.Adam" in read("a.py")
    assert "The command did no step of an optimizer." in done.errors


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--verify", "true"], "--verify goes with --write"),
        (["--write", "--verify", " "], "--verify needs a command"),
        (["--write", "--timeout", "3"], "--timeout goes with --verify"),
        (["--undo"], "--undo goes without --to"),
        (["--accept-changes"], "--accept-changes goes with --to optax"),
        (["--diff", "--write"], "not allowed with"),
    ],
)
def test_options_that_do_not_go_together(
    rewrite: Rewrite, capsys: pytest.CaptureFixture[str], options: list[str], why: str
) -> None:
    with pytest.raises(SystemExit) as caught:
        rewrite(*options, a=OLD)
    assert caught.value.code == 2
    assert why in capsys.readouterr().err


WRITER = "from flax.metrics import tensorboard\n\nwriter = tensorboard.SummaryWriter('x')\n"


def test_tensorboard_is_no_matter_where_the_program_imports_tensorflow(rewrite: Rewrite) -> None:
    assert "FOC160 left: " in rewrite("--check", a=WRITER).output
    assert "0 findings" in rewrite("--check", a=WRITER, b="import tensorflow as tf\n").output
    # Also after a run that kept its results, without that file.
    Path("b.py").unlink()
    assert "FOC160 left: " in rewrite("--check").output


@pytest.mark.parametrize(
    ("target", "left", "needs_run"),
    [
        ("shim", "import flax.linen as nn\nnn.LSTMCell()\n", True),
        ("shim", WRITER, False),
        ("shim", "import jax.experimental.maps as m\nm.xmap\n", False),
        ("optax", "\n\ndef f(p):\n    return type(made(p))\n", False),
    ],
)
def test_who_needs_run_until_then(
    rewrite: Rewrite, target: str, left: str, needs_run: bool
) -> None:
    made = "\n\ndef made(p):\n    return optim.Adam(0.1).create(p)\n"
    output = rewrite("--write", to=target, a=f"from flax import optim\n{left}{made}").output
    assert "Next: change the places that are left" in output
    assert ("Until then" in output) is needs_run


@pytest.mark.parametrize(
    ("statement", "needs_run"),
    [
        ("import tensorflow_probability as tfp", False),
        ("from tensorflow_probability import distributions", False),
        ("from tensorflow_probability.substrates import jax as tfp", True),
        ("import tensorflow_probability.substrates.jax as tfp", True),
        ("from tensorflow_probability.substrates.jax import distributions", True),
    ],
)
def test_a_part_of_a_package_may_need_run(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch, statement: str, needs_run: bool
) -> None:
    monkeypatch.setattr(that_need_run, "version_of", {"tensorflow-probability": "0.25.0"}.get)
    output = rewrite("--write", to="shim", a=OLD, b=f"{statement}\n").output
    assert ("tensorflow-probability 0.25.0 itself uses names" in output) is needs_run


@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        ("0.1.8", "chex 0.1.8 itself uses names that jax or flax lost: upgrade it to 0.1.84, or"),
        ("0.1.84", ""),
        (None, ""),
    ],
)
def test_a_package_that_needs_run_is_named(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch, installed: str | None, expected: str
) -> None:
    monkeypatch.setattr(that_need_run, "version_of", {"chex": installed}.get)
    output = rewrite("--write", to="shim", a=OLD, b="from chex import assert_rank\n").output
    assert ("Next: run the program with python" in output) is not bool(expected)
    assert expected in output
