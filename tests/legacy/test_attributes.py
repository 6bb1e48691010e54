"""Names are given back by modules that have lost them, and only as long as they have."""

from __future__ import annotations

from pathlib import Path

import pytest

import flaxoptim_compat
from tests.support.processes import output_of, start


def test_a_name_that_comes_back_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    with flaxoptim_compat.installed(era=True):
        assert jax.tree_multimap is jax.tree_map  # type: ignore[attr-defined]
        monkeypatch.setattr(jax, "tree_multimap", "jax's own again", raising=False)
        assert jax.tree_multimap == "jax's own again"  # type: ignore[attr-defined]
        monkeypatch.undo()


def test_jax_config_stays_the_object_that_it_is(tmp_path: Path) -> None:
    code = """
import flaxoptim_compat; flaxoptim_compat.install(era=True)
from jax.config import config
import jax, jax.config
assert jax.config is config and type(config).__name__ == "Config"
config.update("jax_enable_x64", True)
config.enable_omnistaging()
assert jax.numpy.ones(1).dtype == "float64"
from jax import config as again
assert again is config
flaxoptim_compat.uninstall()
assert jax.config is config and not hasattr(config, "enable_omnistaging")
try:
    import jax.config
except ImportError:
    print("gone again")
"""
    assert output_of(["-c", code], tmp_path) == "gone again\n"


def test_removed_names_of_flax_nn_say_what_to_use(tmp_path: Path) -> None:
    with flaxoptim_compat.installed(era=True):
        import flax

        with pytest.raises(AttributeError, match=r"flax\.linen\.Module"):
            flax.nn.Module  # type: ignore[attr-defined]  # noqa: B018
        assert not hasattr(flax.nn, "Dense")  # type: ignore[attr-defined]
    program = (
        "import flaxoptim_compat; flaxoptim_compat.install(era=True)\nfrom flax.nn import Model"
    )
    done = start(["-c", program], tmp_path)
    assert "ImportError: " in done.stderr.splitlines()[-1]
    assert "module.init(" in done.stderr.splitlines()[-1]
