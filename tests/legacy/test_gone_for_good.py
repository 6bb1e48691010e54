"""Names that are gone for good: whoever asks for one is told what to do."""

from __future__ import annotations

import importlib
from typing import Any

import jax
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy import lost
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from tests.legacy.cases.old_names import exists


@pytest.fixture(autouse=True)
def _installed() -> Any:
    with flaxoptim_compat.installed(era=True):
        yield


def test_the_table_is_in_order() -> None:
    assert not GONE.keys() & {entry.name for entry in lost.ENTRIES}
    assert not [name for name, advice in GONE.items() if advice.endswith(".") or not advice]
    # Of more than 300, the oldest jax has two thirds still.
    assert len(GONE_TODAY) > 100


# flax has this one still, and says itself what it needs.
TENSORBOARD = "flax.metrics.tensorboard"


GONE_TODAY = [name for name in GONE if name != TENSORBOARD and not exists(name)]


def said_of(name: str) -> str:
    """The error of a ``from`` import; "" where the whole module is gone."""
    module, _, attribute = name.rpartition(".")
    try:
        importlib.import_module(module)
    except ImportError:
        return ""
    with pytest.raises(ImportError) as caught:
        exec(f"from {module} import {attribute}", {})
    return caught.value.msg


def test_an_import_says_what_to_do() -> None:
    # Before jax 0.10 the stand-in for this module has its names still.
    names = [
        name
        for name in GONE_TODAY
        if not name.startswith("jax.jaxpr_util.") or jax.__version_info__ >= (0, 10)
    ]
    said = {name: said for name in names if (said := said_of(name))}
    assert said == {name: f"{name} is gone for good: {GONE[name]}." for name in said}
    assert len(said) > 50


def test_an_attribute_is_asked_for_as_ever() -> None:
    assert not hasattr(jax.core, "diff_shape")
    assert getattr(jax.core, "diff_shape", 5) == 5
    with pytest.raises(
        AttributeError, match=r"jax.core.diff_shape is gone for good: the name belonged"
    ):
        _ = jax.core.diff_shape  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match=r"^module 'jax.core' has no attribute 'never'$"):
        _ = jax.core.never  # type: ignore[attr-defined]
    with pytest.raises(ImportError, match=r"cannot import name 'never'"):
        exec("from jax.core import never", {})


def test_a_module_says_it_too() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"jax.experimental.sharded_jit is gone for good"):
        importlib.import_module("jax.experimental.sharded_jit")
    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'jax.experimental.never'$"):
        importlib.import_module("jax.experimental.never")
