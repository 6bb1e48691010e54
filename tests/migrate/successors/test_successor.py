"""Every name of the tables has a successor, found in one of three ways."""

from __future__ import annotations

import pytest

from flaxoptim_compat.legacy import lost
from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.migrate.successors.finding_names import REARRANGED, code_of
from flaxoptim_compat.migrate.successors.successor import (
    BACK,
    NOT_EVERYWHERE,
    OBJECTS_TODAY,
    successor,
)

ENTRIES = [entry for entry in lost.ENTRIES if entry.name not in BACK]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_name_of_the_tables_has_a_successor(entry: Entry) -> None:
    name = f"{entry.name}.config" if entry.name in OBJECTS_TODAY else entry.name
    found = successor(name)
    assert found is not None and found.old == name
    assert bool(found.today) != (name in NOT_EVERYWHERE)
    # In one of three ways: by another name, by another call, by a stand-in.
    code = code_of(found)
    ways = {
        "FOC151": not found.is_stand_in,
        "FOC152": name in REARRANGED,
        "FOC153": found.is_stand_in,
        "FOC154": True,
        "FOC155": not found.is_stand_in,
        "FOC156": name in REARRANGED,
        "FOC157": found.is_stand_in,
        "FOC159": name in NOT_EVERYWHERE,
    }
    assert ways[code]
