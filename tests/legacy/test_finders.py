"""Modules that are gone are found, and leave those that are there to their own loaders."""

from __future__ import annotations

import textwrap
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
from flax.metrics import tensorboard
import flax.metrics.tensorboard
assert tensorboard is flax.metrics.tensorboard and tensorboard.SummaryWriter
import jax.lib.xla_bridge, jax.experimental.optimizers
import jax.numpy as jnp
assert tree_map({"a": 1}, {"a": 2}) if False else True
assert isinstance(jnp.ones(1), (DeviceArray, jnp.DeviceArray))
assert xla_bridge.get_backend().platform == "cpu"
assert index_update(jnp.zeros(3), index[1:], 2.0).tolist() == [0, 2, 2]
assert product([2, 3]) == 6 and float_(1) == 1 and NINF < 0
"""


@pytest.mark.parametrize("first", ["", "import jax, flax, numpy, jax.numpy, flax.linen\n"])
def test_all_ways_of_importing(first: str, tmp_path: Path) -> None:
    install = "import flaxoptim_compat; flaxoptim_compat.install(era=True)\n"
    output_of(["-c", first + install + FROM_IMPORTS], tmp_path)


def test_the_modules_of_flax_nn_say_so_too() -> None:
    with flaxoptim_compat.installed(era=True):
        with pytest.raises(ImportError, match=r"module\.init\("):
            exec("from flax.nn.base import Model")
        with pytest.raises(ImportError, match=r"cannot import name 'Nonsense'"):
            exec("from flax.nn.base import Nonsense")


def test_the_loader_of_flax_stays_flaxs_own(tmp_path: Path) -> None:
    code = """
        import flaxoptim_compat; flaxoptim_compat.install(era=True)
        import flax, jax, numpy, importlib.resources
        for module in (flax, jax, jax.numpy, numpy):
            assert type(module.__loader__).__name__ == "SourceFileLoader", module.__loader__
            assert module.__spec__.loader is module.__loader__
            importlib.reload(flax)
        assert importlib.resources.files("flax").joinpath("optim").name == "optim"
        flax.optim.Adam
    """
    output_of(["-W", "ignore", "-c", textwrap.dedent(code)], tmp_path)
