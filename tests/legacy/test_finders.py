"""Modules that are gone are found, and leave those that are there to their own loaders."""

from __future__ import annotations

import sys
import textwrap
import types
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

import flaxoptim_compat
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
