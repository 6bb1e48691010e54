"""What can be recorded and what not, and that the recorder can run alone on an old machine."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import sys
import textwrap
from pathlib import Path
from typing import Any, TypeGuard

import jax
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.recordings import recorder
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.data.recorded_programs.recording import FOLDER, place, record, refused
from tests.support.places import ROOT
from tests.support.processes import start

pytestmark = pytest.mark.usefixtures("folder_of_its_own")

SOURCE = ROOT / "flaxoptim_compat" / "parity" / "recordings" / "recorder.py"
# Looked up in the sources of jax 0.2.0: whatever else it uses may be younger than that.
IN_JAX_0_2 = {
    "jax.devices",
    "jax.disable_jit",
    "jax.numpy.asarray",
    "jax.tree_util.tree_flatten",
}


def test_its_syntax_and_imports_are_those_of_python_3_6() -> None:
    tree = ast.parse(SOURCE.read_text(), feature_version=(3, 6))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {each.name.split(".")[0] for each in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None and node.level == 0
            imported.add(node.module.split(".")[0])
    assert imported - sys.stdlib_module_names == {"jax", "numpy"}
    assert not imported & {"__future__", "dataclasses", "contextvars", "graphlib", "tomllib"}
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.AnnAssign)]


def test_it_uses_what_jax_has_had_since_0_2() -> None:
    nodes = [each for each in ast.walk(ast.parse(SOURCE.read_text())) if _is_of_jax(each)]
    inner = {ast.unparse(node.value) for node in nodes}
    assert {ast.unparse(node) for node in nodes} - inner == IN_JAX_0_2


def _is_of_jax(node: ast.AST) -> TypeGuard[ast.Attribute]:
    """Whether it is ``jax.name``, ``jax.name.name`` and so on."""
    while isinstance(node, ast.Attribute):
        node = node.value
        if isinstance(node, ast.Name) and node.id == "jax":
            return True
    return False


def test_a_copy_of_it_runs_alone(tmp_path: Path) -> None:
    shutil.copy(SOURCE, tmp_path / "recorder.py")
    (tmp_path / "program.py").write_text(
        textwrap.dedent(
            """
            import sys
            import numpy as np

            def train():
                params = {"w": np.ones(2, np.float32)}
                for i in range(3):
                    yield params, {"w": params["w"] * 2}
                    params = {"w": params["w"] * 0.5}
                assert "flaxoptim_compat" not in sys.modules and "flax" not in sys.modules
                assert sys.argv == ["program"]
                yield params
            """
        )
    )
    # A module, found in the current folder.
    done = start(["-W", "error", "recorder.py", "out.npz", "program:train"], tmp_path)
    size = os.path.getsize(tmp_path / "out.npz")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "Only 3 of 20 updates were recorded: the program ended.\n"
        "Recorded 3 updates from step 0 on: 2 parameters in 1 array, their gradients and no"
        f" moments.\nout.npz has {size:,} bytes.\n"
    )
    # Every entry is an array that numpy reads without pickle.
    with np.load(tmp_path / "out.npz", allow_pickle=False) as file:
        assert file["2/gradient/0.float32"].tolist() == [0.5, 0.5]
        assert len([file[name] for name in file]) == 4 + 3 + 1
    with Recording.open(tmp_path / "out.npz") as recording:
        assert recording.params_after(2)["w"].tolist() == [0.125, 0.125]
        assert recording.definition == {} and recording.overrides == {}


def test_both_forms_record_the_optimizer_of_this_package() -> None:
    before = optim.Optimizer.apply_gradient
    a = record("adam.py:yields", "--steps", "4")
    b = record("adam.py:step", "--steps", "4")
    for recording in (a, b):
        assert (recording.steps, recording.start_step) == (4, 0)
        assert recording.definition["module"] == "flaxoptim_compat.optim.adam"
        assert list(recording.start_moments) == ["grad_ema", "grad_sq_ema"]
        assert recording.overrides["learning_rate"].tolist() == [0.1 * 0.9**i for i in range(4)]
    # Listening leaves nothing behind.
    assert optim.Optimizer.apply_gradient is before
    assert not jax.config.jax_disable_jit and str(FOLDER) not in sys.path
    last = a.params_after(3)["dense"]["kernel"], b.params_after(3)["dense"]["kernel"]
    # One is compiled and the other is not: each of four updates rounds a few times.
    np.testing.assert_allclose(*last, rtol=1e-5)


def test_it_follows_one_optimizer_of_several(capsys: pytest.CaptureFixture[str]) -> None:
    first = record("two_optimizers.py:step", "--steps", "4")
    assert first.definition["class"] == "Momentum"
    assert "Left out: 1 call of apply_gradient on other parameters" in capsys.readouterr().out
    # Two of its updates in each step: both are recorded, in their order.
    gradients = [first.gradients(i)["w"][0] for i in range(4)]
    before = [first.params["w"][0], *(first.params_after(i)["w"][0] for i in range(3))]
    factors = [g / w**2 for g, w in zip(gradients, before, strict=True)]
    np.testing.assert_allclose(factors, [1.5, 0.75, 1.5, 0.75], rtol=1e-6)
    # Another one can be chosen.
    third = record("two_optimizers.py:step", "--steps", "2", "--call", "3")
    assert third.definition["class"] == "Adam"
    assert third.gradients(0)["w"].tolist() == [3.0, 3.0, 3.0]
    assert "Left out: 4 calls" in capsys.readouterr().out


def test_one_copy_of_a_replicated_optimizer_is_recorded() -> None:
    recording = record("pmapped.py:unreplicated", "--steps", "2")
    # The mean of 1 to 8, times the derivative of w².
    assert recording.gradients(0)["w"].tolist() == [9.0, 9.0, 9.0]


def test_any_tree_of_parameters() -> None:
    listed = record("parts.py:listed", "--steps", "2")
    assert listed.names == ["0", "2/a/0"]
    assert jax.tree.structure(listed.params) == jax.tree.structure(
        [0, [], {"b": {}, "a": [0, None]}]
    )
    bare = record("parts.py:bare", "--steps", "2")
    assert isinstance(bare.params, np.ndarray) and bare.names == [""]
    assert bare.gradients(1).shape == bare.moments_after(1)["momentum"][0].shape == (3,)
    pair = "(np.{0}(2), np.{0}(3))"
    ones, zeros = pair.format("ones"), pair.format("zeros")
    # A tuple of parameters is not taken for a step.
    tuples = record(f"\ndef run():\n    yield {ones}, {ones}\n    yield {zeros}\n")
    assert tuples.steps == 1
    assert [leaf.tolist() for leaf in tuples.params_after(0)] == [[0.0] * 2, [0.0] * 3]


def test_gradients_without_a_result_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    recording = record(
        """
        def run():
            for i in range(3):
                yield {"w": np.full(2, i, np.float32)}, {"w": np.ones(2)}, {"learning_rate": i}
        """
    )
    assert recording.steps == 2
    assert recording.overrides["learning_rate"].tolist() == [0, 1]
    assert (
        "The gradients of update 3 are left out: the update has no result."
        in capsys.readouterr().out
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float16", "int8"])
def test_dtypes_that_numpy_lacks(dtype: str) -> None:
    recording = record(
        f"""
        def run():
            values = np.arange(-2, 3) * 0.75
            yield jnp.asarray(values, jnp.{dtype}), jnp.asarray(-values, jnp.{dtype})
            yield jnp.asarray(values * 2, jnp.{dtype})
        """
    )
    found_by_factor = {
        1: recording.params,
        -1: recording.gradients(0),
        2: recording.params_after(0),
    }
    for factor, found in found_by_factor.items():
        wanted = np.asarray((jax.numpy.arange(-2, 3) * 0.75 * factor).astype(dtype))
        assert found.dtype == wanted.dtype and found.tobytes() == wanted.tobytes()


def test_hyper_parameters_that_only_some_updates_are_given() -> None:
    recording = record(
        """
        optimizer = optim.Adam(0.1).create({"w": jnp.ones(2)})

        def run(i):
            global optimizer
            given = [
                {},
                {"learning_rate": jnp.float32(0.5)},
                {"beta1": 0.5},
                {"hyper_params": optimizer.optimizer_def.hyper_params.replace(eps=1e-3)},
            ]
            if i == 4:
                optimizer = optimizer.replace(optimizer_def=optim.Adam(0.25))
            optimizer = optimizer.apply_gradient({"w": jnp.ones(2)}, **(given * 2)[i])
        """,
        "--steps",
        "6",
    )
    assert {name: values.tolist() for name, values in recording.overrides.items()} == {
        "learning_rate": [0.1, 0.5, 0.1, 0.1, 0.25, 0.5],
        "beta1": [0.9, 0.9, 0.5, 0.9, 0.9, 0.9],
        "eps": [1e-8, 1e-8, 1e-8, 1e-3, 1e-8, 1e-8],
    }


def test_it_may_begin_in_the_middle_of_a_training() -> None:
    recording = record(
        """
        def run():
            optimizer = optim.Momentum(0.1).create({"w": jnp.ones(2)})
            for i in range(10):
                grads = {"w": jnp.full(2, float(i))}
                if i >= 7:
                    yield optimizer, grads
                optimizer = optimizer.apply_gradient(grads)
        """
    )
    assert (recording.start_step, recording.steps) == (7, 2)
    assert recording.start_moments["momentum"][0].any()


def test_an_update_that_fails_is_not_recorded() -> None:
    recording = record(
        """
        optimizer = optim.Momentum(0.1).create({"w": jnp.ones(2)})

        def run(i):
            global optimizer
            grads = {"w": jnp.full(2, i + 1.0)}
            try:
                optimizer.apply_gradient(grads, rate=1)
            except TypeError:
                optimizer = optimizer.apply_gradient(grads=grads)
        """,
        "--steps",
        "3",
    )
    assert [recording.gradients(i)["w"][0] for i in range(3)] == [1.0, 2.0, 3.0]
    assert recording.overrides == {}


def test_a_subclass_is_recorded_once() -> None:
    recording = record(
        """
        class Averaged(optim.Optimizer):
            def apply_gradient(self, grads, **overrides):
                halves = jax.tree_util.tree_map(lambda leaf: leaf / 2, grads)
                return super().apply_gradient(halves, **overrides)

        first = optim.Momentum(0.1).create({"w": jnp.ones(2)})
        optimizer = Averaged(first.optimizer_def, first.state, first.target)

        def run(i):
            global optimizer
            optimizer = optimizer.apply_gradient({"w": jnp.full(2, 2.0)})
        """,
        "--steps",
        "2",
    )
    # What it was given, and what it made of that.
    assert recording.gradients(1)["w"].tolist() == [2.0, 2.0]
    assert recording.moments_after(0)["momentum"][0].tolist() == [1.0, 1.0]


# --- what cannot be is said, and nothing half-made is left behind


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
