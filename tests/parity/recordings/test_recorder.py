"""What can be recorded, and that the recorder can run alone on an old machine."""

from __future__ import annotations

import ast
import os
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TypeGuard

import jax
import numpy as np
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.parity.recordings.recording import Recording
from tests.data.recorded_programs.recording import FOLDER, record
from tests.support.places import ROOT
from tests.support.processes import start

SOURCE = ROOT / "flaxoptim_compat" / "parity" / "recordings" / "recorder.py"
# Looked up in the sources of jax 0.2.0: whatever else it uses may be younger than that.
IN_JAX_0_2 = {
    "jax.devices",
    "jax.disable_jit",
    "jax.numpy.asarray",
    "jax.tree_util.tree_flatten",
}


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


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
