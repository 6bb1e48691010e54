from __future__ import annotations

import shutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import flax
import jax
import pytest

from flaxoptim_compat import optim
from flaxoptim_compat.cli import main
from flaxoptim_compat.parity import genuine
from tests.support.oracle.wheel import genuine_wheel


@pytest.fixture
def beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder ``optim`` that is a part of the installed flax for the length of a test."""
    folder = tmp_path / "optim"
    monkeypatch.setattr(flax, "__path__", [*flax.__path__, str(tmp_path)])
    yield folder
    for name in list(sys.modules):
        if name == "flax.optim" or name.startswith(("flax.optim.", genuine._NAME)):
            del sys.modules[name]
    vars(flax).pop("optim", None)


@pytest.fixture
def real(beside: Path, genuine: Any) -> Path:
    """The unedited files of Flax 0.5.3 there."""
    del genuine  # skips where there is no wheel to be had
    shutil.copytree(genuine_wheel() / "flax" / "optim", beside)
    return beside


def parity(definition: str, params: str = "{'w': jnp.ones((2, 3))}") -> int:
    return main(["parity", definition, "--params", params, "--steps", "20"])


def test_there_is_none() -> None:
    assert genuine.find() is None


def test_what_is_served_is_not_genuine() -> None:
    from flaxoptim_compat import installed

    with installed(era=True):
        from flax.optim import Adam  # type: ignore[import-not-found]

        assert Adam is optim.Adam
        assert genuine.find() is None


def test_only_old_is_compared_with_the_genuine_one(
    real: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filters = list(warnings.filters)
    has_old_names = hasattr(jax, "tree_flatten")
    assert parity("optim.Adagrad(0.1)") == 0
    out, err = capsys.readouterr()
    assert "first   optim.Adagrad(0.1)\n" in out
    assert "second  the genuine flax.optim.Adagrad\n" in out
    assert "identical, bit for bit" in out and err == ""
    assert "flax.optim" not in sys.modules and hasattr(jax, "tree_flatten") == has_old_names
    assert warnings.filters == filters
    module = genuine.find()
    assert module is not None
    assert Path(str(module.__file__)) == real / "__init__.py"


def test_what_is_compared_with_is_really_run(
    real: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (real / "momentum.py").read_text()
    formula = "hyper_params.learning_rate * d_p"
    assert formula in source
    (real / "momentum.py").write_text(source.replace(formula, f"1.01 * {formula}"))
    assert parity("optim.Momentum(0.1)") == 1
    out, _ = capsys.readouterr()
    assert "The two runs PART at step 1 of 20" in out


def test_an_optimizer_keeps_its_state(real: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del real
    source = "optim.Momentum(0.1).create({'w': jnp.ones(3)}).apply_gradient({'w': jnp.ones(3)})"
    assert main(["parity", source, "--steps", "20"]) == 0
    out, _ = capsys.readouterr()
    # Without its state, the momentum of the genuine one would start from zero.
    assert "the genuine flax.optim.Momentum" in out and " momentum " in out


def test_what_the_genuine_one_cannot_do(real: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del real
    # It fails on a parameter without dimensions.
    assert parity("optim.WeightNorm(optim.GradientDescent(0.1))", "{'t': jnp.ones(())}") == 0
    out = " ".join(capsys.readouterr().out.split())
    # Before jax 0.4.36 a norm along no axis is none that fails.
    if jax.__version_info__ >= (0, 4, 36):
        assert "to_optax(optim.WeightNorm(optim.GradientDescent(0.1)))" in out
        message = "the genuine WeightNorm does not take these parameters: IndexError: tuple index"
        assert message in out
    assert parity("flaxoptim_compat.from_optax(optax.sgd(0.1))") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Compared with optax, because the genuine flax.optim has no" in out


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import jax\njax.no_such_name", "AttributeError: module 'jax' has no attribute"),
        ("x = 1", "AttributeError: module"),
        ("f(", "SyntaxError: '(' was never closed"),
    ],
)
def test_one_that_does_not_run(
    source: str, said: str, beside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    beside.mkdir()
    (beside / "__init__.py").write_text(source)
    assert parity("optim.Momentum(0.1)") == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "second to_optax(optim.Momentum(0.1))" in out
    assert f"the flax.optim in {beside}/__init__.py does not run here: " in out
    assert said in out


def test_a_genuine_definition_is_compared_with_ours(
    genuine: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a program that imported the one that is there.
    monkeypatch.setattr(genuine.Momentum, "__module__", "flax.optim.momentum")
    monkeypatch.setattr(optim, "theirs", genuine.Momentum(0.1, beta=0.5), raising=False)
    assert parity("optim.theirs") == 0
    out, _ = capsys.readouterr()
    assert "second  flaxoptim_compat.optim.Momentum\n" in out
