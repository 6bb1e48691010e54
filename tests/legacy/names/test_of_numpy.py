"""The names that numpy dropped: each is there or is served, and does what it did."""

from __future__ import annotations

import json
import re
import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from flaxoptim_compat.legacy.names import of_numpy
from flaxoptim_compat.legacy.names.table import ERA, STAND_INS
from tests.legacy.cases import numpy_names as numpy_name_cases
from tests.legacy.cases import old_names
from tests.legacy.cases.old_names import RUN_NAMES
from tests.support.oracle.environments import run_in_old_environment

ENTRIES = {entry.name: entry for entry in of_numpy.ENTRIES}

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


def serve(name: str) -> Any:
    """Look a name up in the table; a name in a module that is gone, in what serves that one.

    What serves it may be as new as numpy 2: without, the name is still there itself.
    """
    module, _, attribute = name.rpartition(".")
    if name in ENTRIES:
        try:
            return ENTRIES[name].serve()
        except (AttributeError, ImportError):
            return old_names.look_up(name)
    return getattr(ENTRIES[module].serve(), attribute)


def numpy_has(name: str) -> bool:
    with warnings.catch_warnings():
        # Some warn that they will be there again, or that they will be gone.
        warnings.simplefilter("ignore")
        return hasattr(np, name)


def test_every_name_exists_or_is_served() -> None:
    for entry in of_numpy.ENTRIES:
        if not numpy_has(entry.name.removeprefix("numpy.")):
            assert entry.serve() is not None or entry.served_by == "numpy", entry
            assert entry.is_module == isinstance(entry.serve(), ModuleType), entry
            assert entry.instead or not entry.served_by.startswith((ERA, STAND_INS)), entry


def test_the_table_is_in_order() -> None:
    assert len(ENTRIES) == len(of_numpy.ENTRIES)
    for entry in of_numpy.ENTRIES:
        assert re.fullmatch(r"numpy \d+\.\d+\.\d+", entry.gone_since), entry.name


def test_what_numpy_says_it_had_is_served_or_left_out() -> None:
    had = {*vars(np).get("__former_attrs__", {}), *expired()}
    missing = {name for name in had if not numpy_has(name)}
    assert missing, "numpy lists these elsewhere now"
    assert {name for name in missing if f"numpy.{name}" not in ENTRIES} <= LEFT_OUT.keys()
    assert not [name for name in LEFT_OUT if f"numpy.{name}" in ENTRIES]


def expired() -> dict[str, str]:
    module: Any = pytest.importorskip("numpy._expired_attrs_2_0")
    attributes: dict[str, str] = module.__expired_attributes__
    return attributes


@pytest.mark.skipif(numpy_has("float_"), reason="numpy lost nothing since before 2.0")
def test_what_numpy_1_25_had_is_served_or_left_out(genuine: dict[str, Any]) -> None:
    missing = {name for name in genuine["names"]["numpy"] if not numpy_has(name)}
    assert len(missing) > 50
    unserved = {name for name in missing if f"numpy.{name}" not in ENTRIES}
    # In capitals: constants of numpy's C code.
    left_out = {name for name in LEFT_OUT if not numpy_has(name)}
    assert {name for name in unserved if not name.isupper()} == left_out


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What comes of the cases in numpy 1.25."""
    done = run_in_old_environment(RUN_NAMES, numpy_name_cases.__name__)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("name", numpy_name_cases.CASES)
def test_it_does_what_it_did_in_numpy_1_25(name: str, genuine: dict[str, Any]) -> None:
    mine = json.loads(json.dumps(old_names.outcome(numpy_name_cases.CASES[name], serve)))
    assert mine == genuine["outcomes"][name]


def test_what_was_gone_before_numpy_1_25() -> None:
    assert [serve("numpy.alen")(each) for each in ([1, 2], np.ones((3, 1)), 5)] == [2, 3, 1]
    assert serve("numpy.asscalar")(np.asarray([2.5])) == 2.5
    assert serve("numpy.float") is float and serve("numpy.object") is object
    assert serve("numpy.typeDict")["float32"] is np.float32
