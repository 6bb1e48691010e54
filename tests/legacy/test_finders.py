"""Modules and names that are gone are found, and what is there is left to its own loaders."""

from __future__ import annotations

import importlib
import sys
import textwrap
import types
from importlib.machinery import PathFinder
from pathlib import Path

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat import nn as served
from flaxoptim_compat.legacy.stand_ins import jax_trees
from tests.support.processes import output_of

FROM_IMPORTS = """
from jax import tree_map, tree_multimap, tree_leaves, tree_util, ops
from jax.tree_util import tree_multimap as other
from jax.lib import xla_bridge
from jax.interpreters.xla import DeviceArray
from jax.experimental import optimizers, stax
from jax.util import safe_map
from jax.random import KeyArray, shuffle
from jax.test_util import check_eq, JaxTestCase
from jax.ops import index, index_update, index_add
from numpy import product, float_, NINF
from flax import nn
from flax.nn import relu, initializers
import jax.lib.xla_bridge, jax.experimental.optimizers
import jax.numpy as jnp
assert tree_map({"a": 1}, {"a": 2}) if False else True
assert isinstance(jnp.ones(1), (DeviceArray, jnp.DeviceArray))
assert xla_bridge.get_backend().platform == "cpu"
assert index_update(jnp.zeros(3), index[1:], 2.0).tolist() == [0, 2, 2]
assert product([2, 3]) == 6 and float_(1) == 1 and NINF < 0
"""


def test_all_ways_of_importing(tmp_path: Path) -> None:
    """As the first imports of a program, and where all is imported already."""
    install = "import flaxoptim_compat; flaxoptim_compat.install(era=True)\n"
    again = "flaxoptim_compat.uninstall(); flaxoptim_compat.install(era=True)\n"
    output_of(["-c", install + FROM_IMPORTS + again + FROM_IMPORTS], tmp_path)


@pytest.mark.parametrize("missing", ["tensorflow", "tensorboard"])
def test_the_import_of_tensorboard_says_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find_spec = PathFinder.find_spec
    monkeypatch.setattr(
        PathFinder,
        "find_spec",
        lambda name, *rest: None if name.startswith("tensor") else find_spec(name, *rest),
    )
    for name in ("tensorflow", "tensorboard"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    if missing == "tensorboard":
        monkeypatch.setitem(sys.modules, "tensorflow", types.ModuleType("tensorflow"))
    with (
        flaxoptim_compat.installed(era=True),
        pytest.raises(ModuleNotFoundError, match=r"pip install tensorflow tensorboard") as caught,
    ):
        exec("from flax.metrics import tensorboard")
    assert caught.value.name == missing
    assert str(caught.value).startswith(
        f"No module named '{missing}'. flax.metrics.tensorboard is written with TensorFlow"
    )


def test_what_is_there_is_left_to_flaxs_own_loaders(tmp_path: Path) -> None:
    code = """
        import flaxoptim_compat; flaxoptim_compat.install(era=True)
        import flax, flax.io, jax, numpy, importlib.resources, sys
        from unittest.mock import MagicMock
        for name in ("tensorflow", "tensorboard.plugins.hparams"):
            sys.modules[name] = MagicMock()
        sys.modules["tensorboard"] = sys.modules["tensorboard.plugins"] = MagicMock()
        from flax.metrics import tensorboard
        tensorboard.SummaryWriter(".").scalar("loss", 1.0, 1)
        sys.modules["tensorflow"].summary.scalar.assert_called_once()
        assert tensorboard.__spec__.loader.path == tensorboard.__file__
        for module in (flax, jax, jax.numpy, numpy):
            assert type(module.__loader__).__name__ == "SourceFileLoader", module.__loader__
            assert module.__spec__.loader is module.__loader__
        importlib.reload(flax)
        assert importlib.resources.files("flax").joinpath("optim").name == "optim"
        flax.optim.Adam
    """
    output_of(["-W", "ignore", "-c", textwrap.dedent(code)], tmp_path)


def test_a_name_that_comes_back_is_not_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    with flaxoptim_compat.installed(era=True):
        assert jax.tree_multimap is jax_trees.tree_map  # type: ignore[attr-defined]
        monkeypatch.setattr(jax, "tree_multimap", "jax's own again", raising=False)
        assert jax.tree_multimap == "jax's own again"  # type: ignore[attr-defined]
        monkeypatch.undo()


def test_jax_config_stays_the_object_that_it_is(x64: None) -> None:
    with flaxoptim_compat.installed(era=True):
        from jax.config import config

        importlib.import_module("jax.config")
        assert jax.config is config and type(config).__name__ == "Config"
        config.update("jax_enable_x64", True)
        config.enable_omnistaging()
        assert jax.numpy.ones(1).dtype == "float64"
        from jax import config as again

        assert again is config
    assert jax.config is config and not hasattr(config, "enable_omnistaging")
    with pytest.raises(ImportError):
        importlib.import_module("jax.config")


def test_flax_nn_is_served_under_both_of_its_names() -> None:
    with flaxoptim_compat.installed(era=True):
        import flax.nn.stochastic
        from flax.deprecated import nn
        from flax.nn.base import Model
        from flax.nn.stochastic import make_rng

        assert flax.nn.Dense is nn.Dense is served.Dense and Model is served.Model
        assert flax.nn.stochastic is served.stochastic and make_rng is served.make_rng
        assert flax.nn.attention.Cache is served.attention.Cache
        with pytest.raises(ImportError, match=r"cannot import name 'Nonsense'"):
            exec("from flax.nn.base import Nonsense")


@pytest.mark.skipif(jax.__version_info__ < (0, 4, 31), reason="the module is there still")
def test_a_module_that_is_gone_says_too_which_of_its_names_are_gone_for_good() -> None:
    with flaxoptim_compat.installed(era=True):
        with pytest.raises(ImportError, match=r"jax.experimental.maps.xmap is gone for good: use"):
            exec("from jax.experimental.maps import xmap", {})
        with pytest.raises(ImportError, match=r"cannot import name 'never'"):
            exec("from jax.experimental.maps import never", {})
