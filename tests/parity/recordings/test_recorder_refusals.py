"""What cannot be recorded is said, and nothing half-made is left behind."""

from __future__ import annotations

import os
import signal
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.parity.recordings import recorder
from tests.data.recorded_programs.recording import place, record, refused
from tests.support.places import ROOT
from tests.support.processes import start

SOURCE = ROOT / "flaxoptim_compat" / "parity" / "recordings" / "recorder.py"


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_there_has_to_be_such_a_call_of_an_optimizer_that_is_not_replicated() -> None:
    said = refused("two_optimizers.py:step", "--call", "4")
    assert "--call 4: step 0 called apply_gradient only 3 times." in said
    inside = refused("pmapped.py:step")
    assert "state.step is traced" in inside and "yield optimizer, gradients" in inside
    outside = refused("pmapped.py:replicated")
    assert "state.step has shape (8,): this optimizer is replicated" in outside
    assert "jax_utils.unreplicate(optimizer)" in outside


PARAMS = """
    w = {"w": np.ones(2)}
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("run = 3", "is not a function, but of type"),
        ("def ran(): pass", "program.py has no run; it has jax, jnp, np, optim, w, ran."),
        ("def run(): return 3", "it should yield its steps, but it returned int"),
        ("def run(i): pass", "Step 0 did not call apply_gradient of any flax.optim.Optimizer"),
        ("def run(): yield w", "Yield 1 gave dict. Yield the optimizer (or the parameters)"),
        ("def run(): yield w, w, w, w", "Yield 1 gave 4 items."),
        ("def run(): yield w, w, 0.1", "The third item of yield 1 is not a dict"),
        ("def run(): yield w, {'b': 0}", "The gradients do not fit the parameters: they lack w."),
        ("def run(): yield w, {**w, 'b': 0}", "they have b."),
        ("def run(): yield w, None", "The gradient of w is None, which is no array"),
        (
            "def run(): yield w, {'w': np.ones((4, 2))}",
            "The gradient of w has shape (4, 2), the parameter (2,).",
        ),
        ("def run(): yield {'w': 'text'}, w", "The parameter w is 'text', which is no array"),
        ("def run(): yield {1: 0, 'w': 0}, w", "Names in a tree must be all texts or all integers"),
        ("def run(): yield {None: 0}, w", "Names in a tree must be all texts or all integers"),
        ("def run(): yield {}, {}", "There are no parameters: {}"),
        ("def run(): yield from [(w, w), 3]", "Yield 2 gave int."),
        ("def run(): yield w, w, {'a': [1]}", "The hyper-parameter a is [1], which is no array"),
        ("def run(): yield w, w, {'a': np.ones(2)}", "The hyper-parameter a is array([1., 1.])"),
        ("def run(): yield from [(w, w, {'a': 1}), (w, w), (w,)]", "Update 2 was given no a"),
        ("def run(): yield from ()", "The program ended before it had yielded the result"),
        ("def run(): yield w, w", "The program ended before it had yielded the result"),
    ],
)
def test_what_cannot_be_recorded_is_said(program: str, said: str) -> None:
    message = refused(f"{textwrap.dedent(PARAMS)}\n{program}\n")
    assert said in message and message.endswith("Nothing was recorded.\n")


# Programs of which the recorder calls a function for each step, by what is in that.
STEPS = """
    optimizer = optim.Momentum(0.1).create({"w": jnp.ones(2)})

    def run(i):
        global optimizer
"""
GIVEN = '({"w": jnp.ones(2)}'


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            f"optimizer.apply_gradient{GIVEN})",
            "Step 1 called apply_gradient, but not on the parameters that the last",
        ),
        (
            f"optimizer = optimizer.apply_gradient{GIVEN})\n"
            "optimizer = jax.tree_util.tree_map(lambda leaf: leaf * 2, optimizer)",
            "Step 1 called apply_gradient, but not on the parameters that the last",
        ),
        (f"optimizer.apply_gradient{GIVEN}, no_such_rate=1)", 'program.py", line 8, in run'),
        # It is not swallowed by the program.
        (
            "try:\n"
            '    jax.vmap(lambda g: optimizer.apply_gradient({"w": g}))(jnp.ones((3, 2)))\n'
            "except Exception:\n"
            '    print("never mind")',
            "The gradient of w is traced",
        ),
    ],
    ids=["forgotten", "changed", "an error in the step", "traced"],
)
def test_what_a_step_may_not_do(step: str, said: str) -> None:
    message = refused(textwrap.dedent(STEPS) + textwrap.indent(step, "    ") + "\n")
    assert said in message
    assert ("no_such_rate" in message) == ("no_such_rate" in step)
    assert "traced" not in said or message.startswith(said)


def test_an_error_of_the_program_is_shown_from_its_own_line_on() -> None:
    said = refused(
        """
        def run():
            w = {"w": np.ones(2)}
            for i in range(5):
                yield w, w
                if i == 2:
                    raise KeyError("forgotten")
        """
    )
    lines = said.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith('program.py", line 9, in run')
    assert lines[-2:] == ["KeyError: 'forgotten'", "The program failed. Nothing was recorded."]
    assert "recorder.py" not in said


INTERRUPTED = """
    def run():
        w = {"w": np.ones(2)}
        for i in range(5):
            yield w, w
            if i == 2:
                INTERRUPT
"""


def test_after_ctrl_c_what_was_recorded_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert record(INTERRUPTED.replace("INTERRUPT", "raise KeyboardInterrupt")).steps == 2
    assert "of 20 updates were recorded: interrupted." in capsys.readouterr().out


@pytest.mark.parametrize("after", range(2, 8))
def test_ctrl_c_while_it_writes_leaves_whole_steps(
    after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, calls = np.lib.format.write_array, []

    def interrupted(file: Any, array: Any, **arguments: Any) -> None:
        calls.append(array)
        if len(calls) == after + 1:
            file.write(b"\x93NUM")
            raise KeyboardInterrupt
        write(file, array, **arguments)

    monkeypatch.setattr(np.lib.format, "write_array", interrupted)
    program = INTERRUPTED.replace("INTERRUPT", "pass")
    if after == 2:
        assert recorder.main(["out.npz", place(program)]) == 130
        assert {*os.listdir()} - {"__pycache__"} == {"program.py"}
        return
    # Parameters, then gradients and parameters in turn.
    assert record(program).steps == (after - 1) // 2


def test_nothing_is_kept_of_a_program_that_is_killed(tmp_path: Path) -> None:
    body = textwrap.dedent(INTERRUPTED).replace("INTERRUPT", "os.kill(os.getpid(), 9)")
    (tmp_path / "program.py").write_text("import os\nimport numpy as np\n" + body)
    done = start([str(SOURCE), "out.npz", "program.py:run"], tmp_path)
    assert done.returncode == -signal.SIGKILL
    left = sorted({*os.listdir(tmp_path)} - {"__pycache__"})
    assert len(left) == 2 and left[1].startswith("unfinished-out.npz-")


def test_files_are_not_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("kept.npz").write_bytes(b"mine")
    assert recorder.main(["kept.npz", "no_such_program.py:run"]) == 2
    assert Path("kept.npz").read_bytes() == b"mine"
    assert "kept.npz exists already." in capsys.readouterr().err
    os.remove("kept.npz")
    assert recorder.main([os.path.join("nowhere", "out.npz"), "no_such_program.py:run"]) == 2
    assert "There is no folder" in capsys.readouterr().err
    assert "There is no file" in refused("no_such_program.py:run")
    assert recorder.main(["out.npz", "program.py"]) == 2
    assert "names no function: write program.py:train." in capsys.readouterr().err
