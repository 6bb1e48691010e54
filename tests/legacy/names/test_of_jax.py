"""The names that jax dropped: each is there or is served, and does what it did."""

from __future__ import annotations

import json
import re
from types import ModuleType
from typing import Any

import jax
import pytest

from flaxoptim_compat.legacy.names import of_jax
from flaxoptim_compat.legacy.names.table import ERA, STAND_INS
from tests.legacy.cases import jax_names as jax_name_cases
from tests.legacy.cases import old_names
from tests.legacy.cases.old_names import RUN_NAMES, exists
from tests.legacy.names.not_even_private import may_be_nowhere
from tests.support.oracle.environments import run_in_old_environment

ENTRIES = {entry.name: entry for entry in of_jax.ENTRIES}


def serve(name: str) -> Any:
    """Look a name up as a program does: in jax if it is there, else in the table."""
    path, _, attribute = name.rpartition(".")
    module = ENTRIES.get(path)
    if module is not None and (module.is_broken() or not exists(path)):
        # It may be one that is gone from there as well.
        elsewhere = ENTRIES.get(f"{module.served_by}.{attribute}")
        return elsewhere.serve() if elsewhere else getattr(module.serve(), attribute)
    if name in ENTRIES and not exists(name):
        return ENTRIES[name].serve()
    return old_names.look_up(name)


# Jax had this one for itself in another place then.
ELSEWHERE = {"jax.interpreters.xla.AxisEnv"} if jax.__version_info__ < (0, 4, 36) else set()


def test_every_name_exists_or_is_served() -> None:
    for name in ENTRIES.keys() - ELSEWHERE:
        entry = ENTRIES[name]
        try:
            served = entry.serve()
        except (AttributeError, ImportError):
            assert exists(name) or may_be_nowhere(entry), name
            continue
        assert not entry.is_module or isinstance(served, ModuleType), name
        # Else the message would name a module of this package. It says: Use ... instead.
        shown = entry.served_by.startswith((ERA, STAND_INS)) or "_src" in entry.served_by
        assert entry.instead or not shown, name
        assert not entry.instead.startswith("nothing"), name


def test_the_table_is_in_order() -> None:
    assert len(ENTRIES) == len(of_jax.ENTRIES)
    for entry in of_jax.ENTRIES:
        assert re.fullmatch(r"(jax|jaxlib) 0\.\d+\.\d+", entry.gone_since), entry.name
        assert entry.module.partition(".")[0] in ("jax", "jaxlib")


def test_no_name_is_gone_that_is_said_to_be_there() -> None:
    installed = jax.__version_info__
    for entry in of_jax.ENTRIES:
        package, _, version = entry.gone_since.partition(" ")
        if package == "jax" and installed < tuple(map(int, version.split("."))):
            assert exists(entry.name), entry


@pytest.fixture(scope="module")
def genuine(old_environment: Any) -> dict[str, Any]:
    """What comes of the cases in jax 0.4.13."""
    done = run_in_old_environment(RUN_NAMES, jax_name_cases.__name__)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


# Where jax still has a name, it may say for how long.
@pytest.mark.filterwarnings("ignore:.*(deprecated|In a future release):DeprecationWarning")
@pytest.mark.filterwarnings("ignore:jax.random.shuffle is deprecated:FutureWarning")
@pytest.mark.parametrize("name", jax_name_cases.CASES)
def test_it_does_what_it_did_in_jax_0_4(name: str, genuine: dict[str, Any]) -> None:
    # Since 0.5 this changes the bits of random numbers; it has nothing to do with the names.
    with jax.threefry_partitionable(False):
        mine = json.loads(json.dumps(old_names.outcome(jax_name_cases.CASES[name], serve)))
    assert mine == genuine["outcomes"][name]
