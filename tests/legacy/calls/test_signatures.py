"""Every change of a signature since jax 0.4.13 and flax 0.5.3 is served, documented, or none."""

from __future__ import annotations

import json
from collections import Counter

import jax
import pytest

from flaxoptim_compat.legacy.calls.row import Call
from flaxoptim_compat.legacy.calls.tables import ENTRIES
from tests.generate.signatures import RECORD
from tests.support.signature_changes import Change, changes
from tests.support.signature_decisions import (
    DECISIONS,
    DOCUMENTED,
    SAME,
    decision_about,
    is_served,
)
from tests.support.signatures import signatures

OLD: dict[str, list[str]] = json.loads(RECORD.read_text())
# These took it in releases before those, or took it though their signature does not show it.
OLDER = {
    *("jax.checkpoint", "jax.remat", "jax.dlpack.from_dlpack", "jax.numpy.broadcast_to"),
    *("jax.scipy.special.betaln", "flax.linen.remat", "flax.linen.checkpoint"),
}
OLDER_IN = ("jax.lax.linalg.", "flax.linen.Module.")


TODAY = pytest.mark.skipif(
    jax.__version_info__[:2] != (0, 10), reason="what is decided is the way to jax 0.10"
)


@pytest.fixture(scope="module")
def changed() -> list[Change]:
    return changes(OLD, signatures())


@TODAY
def test_every_change_is_decided(changed: list[Change]) -> None:
    decided = {change: decision_about(change) for change in changed if not is_served(change)}
    assert [change for change, decision in decided.items() if decision is None] == []
    counts = Counter(decision.outcome for decision in decided.values() if decision is not None)
    counts["served"] = len(changed) - len(decided)
    assert len(changed) == counts.total() and counts["served"] > 100
    assert {*counts} == {"served", DOCUMENTED, SAME}


@TODAY
def test_every_decision_is_about_something(changed: list[Change]) -> None:
    for decision in DECISIONS:
        assert any(decision.is_about(change) and not is_served(change) for change in changed), (
            decision
        )
        assert bool(decision.shown) is (decision.outcome == DOCUMENTED)


@pytest.mark.parametrize("row", ENTRIES, ids=lambda row: row.shown)
def test_a_row_has_the_old_parameters(row: Call) -> None:
    took = [each.partition("=")[0] for each in row.took.split()]
    took = [name for name in took if name[0] != "*" and name != "self"]
    for name in row.names.split():
        name = name.removesuffix(".__init__")
        recorded = OLD.get(name)
        if recorded is not None and recorded[:1] == ["="]:
            recorded = OLD[recorded[1]]
        if recorded is not None and name not in OLDER and not name.startswith(OLDER_IN):
            was = [each.partition("=")[0] for each in recorded]
            assert [each for each in was if each[0] != "*" and each not in ("/", "self")] == took
