"""The names that Python's own modules dropped: each is served, and does what it did."""

from __future__ import annotations

import base64
import collections.abc
import importlib
import re
import sys
from typing import Any

import pytest

import flaxoptim_compat
from flaxoptim_compat.legacy.names.of_python import ENTRIES
from tests.support.places import ROOT
from tests.support.processes import output_of


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_name_is_gone_and_is_served(entry: Any) -> None:
    module = importlib.import_module(entry.module)
    gone = tuple(map(int, entry.gone_since.removeprefix("Python ").split(".")))
    if sys.version_info < gone:
        pytest.skip("it is there in this Python")
    assert re.fullmatch(r"Python 3\.\d+", entry.gone_since)
    assert not hasattr(module, entry.attribute)
    with (
        flaxoptim_compat.installed(era=True),
        pytest.warns(flaxoptim_compat.FlaxOptimDeprecationWarning, match=entry.attribute),
    ):
        assert getattr(module, entry.attribute) is entry.serve()
    assert not hasattr(module, entry.attribute)


def test_all_abstract_classes_of_python_3_9_are_served() -> None:
    since_then = {"Buffer", "ByteString"}
    served = {entry.attribute for entry in ENTRIES if entry.module == "collections"}
    assert served == set(collections.abc.__all__) - since_then


def test_the_arguments_of_a_function() -> None:
    served = {entry.attribute: entry.serve() for entry in ENTRIES}
    spec = served["getargspec"](lambda a, b=1, *c, **d: None)
    assert spec == (["a", "b"], "c", "d", (1,)) and spec.varargs == "c"
    with pytest.raises(ValueError, match="keyword-only"):
        served["getargspec"](lambda *, a: None)
    assert served["gcd"](12, 18) == 6
    assert served["decodestring"](base64.b64encode(b"a")) == b"a"


STARTED = "from flaxoptim_compat.legacy import hook; hook.start(era=True)\nimport sys\n"
LOADED = "print('numpy' in sys.modules, 'flaxoptim_compat.legacy.lost' in sys.modules)"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("from collections import Mapping\nfrom fractions import gcd\ngcd(4, 6)", "False True\n"),
        ("import collections, inspect, time; hasattr(collections, 'nothing')", "False True\n"),
        ("import collections, fractions, inspect\ncollections.OrderedDict", "False False\n"),
    ],
    ids=["two names", "a question", "none"],
)
def test_a_program_needs_no_other_import_before(program: str, expected: str) -> None:
    code = f"{STARTED}{program}\n{LOADED}"
    assert output_of(["-W", "ignore", "-c", code], ROOT) == expected
