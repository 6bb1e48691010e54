"""The names that jax, flax and numpy dropped: each is there or is served, and does what it did."""

from __future__ import annotations

import importlib
import json
import re
import warnings
from types import ModuleType
from typing import Any

import flax
import jax
import numpy as np
import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.lost import OF_PACKAGES
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.legacy.names.table import ERA, STAND_INS
from tests.legacy.cases import flax_names, jax_names, numpy_names, old_names
from tests.legacy.cases.old_names import RUN_NAMES, exists
from tests.legacy.names.not_even_private import may_be_nowhere
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import OLD_ENVIRONMENT

ENTRIES = {entry.name: entry for entry in OF_PACKAGES}
# What programs had no use for, or what only interactive sessions and numpy itself had.
LEFT_OUT = {
    "add_newdoc_ufunc": "for numpy's own documentation",
    "chararray": "deprecated wherever it still is",
    "compat": "for Python 2",
    "deprecate": "for numpy's own deprecations",
    "deprecate_with_doc": "for numpy's own deprecations",
    "fastCopyAndTranspose": "undocumented",
    "get_array_wrap": "undocumented",
    "geterrobj": "undocumented",
    "kernel_version": "of a documentation tool",
    "lookfor": "interactive",
    "numarray": "a text that it is gone",
    "oldnumeric": "a text that it is gone",
    "recfromcsv": "genfromtxt with another shape of result",
    "recfromtxt": "genfromtxt with another shape of result",
    "set_numeric_ops": "replaced numpy's arithmetic, which nothing can today",
    "set_string_function": "replaced numpy's printing, which nothing can today",
    "seterrobj": "undocumented",
    "source": "interactive",
    "who": "interactive",
}
# Jax had this one for itself in another place then.
ELSEWHERE = {"jax.interpreters.xla.AxisEnv"} if jax.__version_info__ < (0, 4, 36) else set()


# --- the tables


def test_every_name_exists_or_is_served() -> None:
    for name in ENTRIES.keys() - ELSEWHERE:
        entry = ENTRIES[name]
        try:
            served = entry.serve()
        except (AttributeError, ImportError):
            assert exists(name) or may_be_nowhere(entry), name
            continue
        # What is written in C is a module that no program imported.
        is_module = isinstance(served, ModuleType) and entry.attribute != "_xla"
        assert entry.is_module == is_module, name
        # Else the message would name a module of this package. It says: Use ... instead.
        shown = entry.served_by.startswith((ERA, STAND_INS)) or "_src" in entry.served_by
        assert entry.instead or not shown, name
        assert not entry.instead.startswith("nothing"), name


def test_the_tables_are_in_order() -> None:
    assert len(ENTRIES) == len(OF_PACKAGES)
    installed = jax.__version_info__
    for entry in OF_PACKAGES:
        match = re.fullmatch(r"(\w+) (\d+\.\d+\.\d+)", entry.gone_since)
        assert match, entry
        package, version = match.groups()
        of = entry.module.partition(".")[0]
        assert package == of or {package, of} == {"jax", "jaxlib"}, entry
        # No name is gone that is said to be there.
        if package == "jax" and installed < tuple(map(int, version.split("."))):
            assert exists(entry.name), entry


def numpy_has(name: str) -> bool:
    with warnings.catch_warnings():
        # Some warn that they will be there again, or that they will be gone.
        warnings.simplefilter("ignore")
        return hasattr(np, name)


def test_what_numpy_says_it_had_is_served_or_left_out() -> None:
    expired: Any = pytest.importorskip("numpy._expired_attrs_2_0")
    had = {*vars(np).get("__former_attrs__", {}), *expired.__expired_attributes__}
    missing = {name for name in had if not numpy_has(name)}
    assert missing, "numpy lists these elsewhere now"
    assert {name for name in missing if f"numpy.{name}" not in ENTRIES} <= LEFT_OUT.keys()
    assert not [name for name in LEFT_OUT if f"numpy.{name}" in ENTRIES]


@pytest.mark.skipif(numpy_has("float_"), reason="numpy lost nothing since before 2.0")
def test_what_numpy_1_25_had_is_served_or_left_out(genuine: dict[str, Any]) -> None:
    names = genuine[numpy_names.__name__]["names"]["numpy"]
    missing = {name for name in names if not numpy_has(name)}
    assert len(missing) > 50
    unserved = {name for name in missing if f"numpy.{name}" not in ENTRIES}
    # In capitals: constants of numpy's C code.
    left_out = {name for name in LEFT_OUT if not numpy_has(name)}
    assert {name for name in unserved if not name.isupper()} == left_out


def test_every_name_of_the_time_is_there_or_is_served_or_is_gone_for_good(
    old_environment: Any,
) -> None:
    found = json.loads(run_in_old_environment(OLD_ENVIRONMENT / "all_names.py").stdout)
    names = {(module, name) for module, names in found.items() for name in names}
    assert len(names) > 3000
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        missing = {
            f"{module}.{name}"
            for module, name in names
            if not {module, f"{module}.{name}"} & GONE.keys() and not exists(f"{module}.{name}")
        }
    assert missing <= ELSEWHERE


# --- what they do


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What comes of the cases in jax 0.4.13, flax 0.5.3 and numpy 1.25, and the names there."""
    return {
        module.__name__: json.loads(run_in_old_environment(RUN_NAMES, module.__name__).stdout)
        for module in (jax_names, flax_names, numpy_names)
    }


# Where jax still has a name, it may say for how long.
@pytest.mark.filterwarnings("ignore:.*(deprecated|In a future release):DeprecationWarning")
@pytest.mark.filterwarnings("ignore:jax.random.shuffle is deprecated:FutureWarning")
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize(
    ("module", "name"),
    [(each, name) for each in (jax_names, flax_names, numpy_names) for name in each.CASES],
)
def test_it_does_what_it_did(module: Any, name: str, genuine: dict[str, Any]) -> None:
    # Since jax 0.5 this changes the bits of random numbers; it has nothing to do with the names.
    with flaxoptim_compat.installed(era=True), jax.threefry_partitionable(False):
        mine = old_names.outcome(module.CASES[name], old_names.look_up)
    assert json.loads(json.dumps(mine)) == genuine[module.__name__]["outcomes"][name]


def test_what_was_gone_before_numpy_1_25() -> None:
    served = {name: ENTRIES[f"numpy.{name}"].serve() for name in ("alen", "asscalar", "typeDict")}
    assert [served["alen"](each) for each in ([1, 2], np.ones((3, 1)), 5)] == [2, 3, 1]
    assert served["asscalar"](np.asarray([2.5])) == 2.5
    assert served["typeDict"]["float32"] is np.float32
    assert ENTRIES["numpy.float"].serve() is float and ENTRIES["numpy.object"].serve() is object


def test_the_settings_are_those_of_the_object_of_today() -> None:
    today = flax.config
    with flaxoptim_compat.installed(era=True):
        assert importlib.import_module("flax.config").flax_profile is today.flax_profile
        assert flax.config is today
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("flax.config")
    assert flax.config is today
