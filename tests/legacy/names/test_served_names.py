"""The names of the era are all served, and nothing that exists today is replaced by them."""

from __future__ import annotations

import importlib
import importlib.util
import re
import types
import warnings
from pathlib import Path
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy import era, lists
from flaxoptim_compat.legacy.alias import Alias
from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names import of_flax_optim
from tests.support.places import GUIDE
from tests.support.processes import output_of, start

PAGE = GUIDE / "served_names.md"
ALL = (*of_flax_optim.ENTRIES, *era.ENTRIES)
MODULES = sorted({entry.module for entry in ALL})


def imported(name: str) -> types.ModuleType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        return None


def exists(entry: Entry) -> bool:
    """Whether the name is there today, without this package."""
    module = imported(entry.module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if entry.is_module and imported(entry.name) is not None:
            return True
        return module is not None and hasattr(module, entry.attribute)


@pytest.mark.parametrize("entry", ALL, ids=lambda entry: entry.name)
def test_every_name_can_be_had(entry: Entry) -> None:
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = importlib.import_module(entry.module)
        assert hasattr(module, entry.attribute)
        if entry.is_module and hasattr(module, "__path__"):
            assert importlib.import_module(entry.name) is not None


def test_nothing_that_exists_is_replaced() -> None:
    there = {entry.name: entry for entry in ALL if exists(entry)}
    modules = [module for module in map(imported, MODULES) if module is not None]
    before = {module.__name__: dict(vars(module)) for module in modules}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = {name: value_of(entry) for name, entry in there.items()}
        with flaxoptim_compat.installed(era=True):
            for module in modules:
                now = dict(vars(module))
                changed = {
                    name
                    for name, value in before[module.__name__].items()
                    if now[name] is not value and name != "__getattr__"
                }
                # These take more than they did, and pass on what they took before.
                taking_lists = {name for path, name in list_takers() if path == module.__name__}
                assert changed <= taking_lists
                assert now.keys() - before[module.__name__].keys() <= {"__getattr__"}
            for name, entry in there.items():
                value = value_of(entry)
                assert value is values[name] or name.rpartition(".")[2] in taking_lists, name
                assert not isinstance(value, Alias), name


def list_takers() -> set[tuple[str, str]]:
    return {(path, name) for path, names in lists.TOOK_LISTS.items() for name in names}


def value_of(entry: Entry) -> Any:
    return getattr(importlib.import_module(entry.module), entry.attribute)


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
from tests.support.places import GUIDE
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


def test_the_modules_of_flax_nn_say_so_too() -> None:
    with flaxoptim_compat.installed(era=True):
        with pytest.raises(ImportError, match=r"module\.init\("):
            exec("from flax.nn.base import Model")
        with pytest.raises(ImportError, match=r"cannot import name 'Nonsense'"):
            exec("from flax.nn.base import Nonsense")


def rows() -> list[str]:
    shown = []
    for entry in sorted(era.ENTRIES, key=lambda entry: entry.name.lower()):
        gone_since = entry.gone_since or "there, but needs TensorFlow"
        shown.append(f"| `{entry.name}` | `{entry.replacement}` | {gone_since} |")
    return shown


def test_the_page_shows_the_tables() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if re.match(r"\| `", line)]
    assert shown == rows()
