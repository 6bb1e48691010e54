"""The names of the era are all served, and nothing that exists today is replaced by them."""

from __future__ import annotations

import importlib
import json
import re
import types
import warnings
from typing import Any

import jax

import flaxoptim_compat
from flaxoptim_compat.legacy import lists, lost
from flaxoptim_compat.legacy.alias import Alias
from flaxoptim_compat.legacy.calls.tables import ANSWERS_BY_MODULE, BY_MODULE
from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.names import of_flax
from tests.generate.releases import BEFORE, RECORD, within_the_span
from tests.legacy.names.not_even_private import may_be_nowhere
from tests.support.places import GUIDE

PAGE = GUIDE / "served_names.md"
ALL = (*of_flax.OPTIM, *lost.ENTRIES)
MODULES = sorted({entry.module for entry in ALL})


def imported(name: str) -> types.ModuleType | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module(name)
    except ImportError:
        return None


def exists(entry: LegacyName) -> bool:
    """Whether the name is there today, without this package."""
    module = imported(entry.module)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if entry.is_module and imported(entry.name) is not None:
            return True
        return module is not None and hasattr(module, entry.attribute)


def test_every_name_can_be_had() -> None:
    # Jax had this one for itself in another place then.
    hidden = {"jax.interpreters.xla.AxisEnv"} if jax.__version_info__ < (0, 4, 36) else set()
    missing = []
    with flaxoptim_compat.installed(era=True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for entry in ALL:
            module = importlib.import_module(entry.module)
            if not (hasattr(module, entry.attribute) or may_be_nowhere(entry)):
                missing.append(entry.name)
            if entry.is_module and hasattr(module, "__path__"):
                assert importlib.import_module(entry.name) is not None
    assert {*missing} <= hidden


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
                more = {name for path, name in takers() if path == module.__name__}
                assert changed <= more
                # Some are there by a __getattr__ only, such as pjit.
                assert now.keys() - before[module.__name__].keys() <= {"__getattr__", *more}
            for name, entry in there.items():
                value = value_of(entry)
                assert value is values[name] or (entry.module, entry.attribute) in takers(), name
                assert not isinstance(value, Alias), name


def takers() -> set[tuple[str, str]]:
    of_lists = {(path, name) for path, names in lists.TOOK_LISTS.items() for name in names}
    called = {name.rpartition(".")[::2] for names in BY_MODULE.values() for name in names}
    # These only warn.
    told = {row.name.rpartition(".")[::2] for group in ANSWERS_BY_MODULE.values() for row in group}
    return of_lists | called | told


def value_of(entry: LegacyName) -> Any:
    return getattr(importlib.import_module(entry.module), entry.attribute)


def rows() -> list[str]:
    shown = []
    for entry in sorted(lost.ENTRIES, key=lambda entry: entry.name.lower()):
        shown.append(f"| `{entry.name}` | `{entry.replacement}` | {entry.gone_since} |")
    return shown


def test_the_page_shows_the_tables() -> None:
    shown = [line for line in PAGE.read_text().splitlines() if re.match(r"\| `", line)]
    assert shown == rows()


def test_the_releases_that_took_names_away_are_those_of_the_record() -> None:
    found = json.loads(RECORD.read_text())
    assert {entry.gone_since for entry in within_the_span()} == found.keys() == BEFORE.keys()
    for gone_since, releases in found.items():
        assert [*releases] == [BEFORE[gone_since], gone_since.partition(" ")[2]]
    for entry in within_the_span():
        before, since = found[entry.gone_since].values()
        assert entry.name in before and entry.name not in since, entry
