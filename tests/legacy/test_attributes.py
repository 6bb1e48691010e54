"""Names are given back by modules that have lost them, and only as long as they have."""

from __future__ import annotations

import importlib

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat import nn as served
from flaxoptim_compat.legacy.stand_ins import jax_trees


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
