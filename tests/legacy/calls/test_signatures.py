"""Every change of a signature since jax 0.4.13 and flax 0.5.3 is served, documented, or none."""

from __future__ import annotations

import inspect
import json
import re
import warnings
from collections import Counter

import jax
import jax.numpy as jnp
import pytest

from flaxoptim_compat.legacy.calls.row import OldCall, OldParameter
from flaxoptim_compat.legacy.calls.tables import ENTRIES
from tests.generate.recordings import SIGNATURES_FILE
from tests.legacy.calls.signature_changes import Change, changes
from tests.legacy.calls.signature_decisions import (
    DECISIONS,
    DOCUMENTED,
    SAME,
    decision_about,
    is_served,
)
from tests.legacy.calls.signatures import signatures
from tests.legacy.cases.old_names import look_up

OLD: dict[str, list[str]] = json.loads(SIGNATURES_FILE.read_text())
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
def test_a_row_has_the_old_parameters(row: OldCall) -> None:
    expected = [each.name for each in took(row) if each.name[0] != "*"]
    for name in row.names.split():
        name = name.removesuffix(".__init__")
        recorded = OLD.get(name)
        if recorded is not None and recorded[:1] == ["="]:
            recorded = OLD[recorded[1]]
        if recorded is not None and name not in OLDER and not name.startswith(OLDER_IN):
            was = [each.partition("=")[0] for each in recorded]
            assert [
                each for each in was if each[0] != "*" and each not in ("/", "self")
            ] == expected


# What is old in calls of these is told by values, or by the object whose method it is.
BY_VALUE = re.compile(r"flax\.linen\.\w*(Cell|Attention)\.|jax\.dlpack\.|jax\.Array\.__")
# Other arguments stand where these had some that are gone.
SHIFTED = ("flax.training.checkpoints.save_checkpoint", "jax.experimental.pjit.pjit")
BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
IN_ORDER = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
ROWS = [
    pytest.param(name, row, id=name)
    for row in ENTRIES
    for name in row.names.split()
    if not BY_VALUE.match(name)
]


def took(row: OldCall) -> list[OldParameter]:
    return [each for each in row.parameters if each.name != "self"]


def takes(name: str) -> list[inspect.Parameter]:
    """What it takes today, without that of which jax only says that it is deprecated."""
    if name.startswith("jax.Array."):
        found = getattr(jnp.ones(1), name.removeprefix("jax.Array."))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = look_up(name.removesuffix(".__init__"))
    parameters = inspect.signature(found).parameters.values()
    return [
        each
        for each in parameters
        if each.name != "self" and type(each.default).__name__ != "DeprecatedArg"
    ]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_what_is_written_instead_is_taken_by_all_versions(name: str, row: OldCall) -> None:
    today = takes(name)
    by_name = {each.name for each in today if each.kind in BY_NAME}
    for place, each in enumerate(took(row)):
        if not each.by_name:
            assert today[place].kind in IN_ORDER, each
        elif each.today.isidentifier() and not (each.by_place and each.today == each.name):
            assert each.today in by_name, each


@TODAY
@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_row_says_by_which_way_each_argument_is_taken(name: str, row: OldCall) -> None:
    today = takes(name)
    by_name = {each.name: each for each in today if each.kind in BY_NAME}
    in_order = [each for each in today if each.kind in IN_ORDER]
    parameters = took(row)
    starred = next((i for i, each in enumerate(parameters) if each.name[0] == "*"), None)
    for place, each in enumerate(parameters[:starred]):
        if name not in SHIFTED and not row.by:
            assert each.by_place is (place < len(in_order)), each
            if each.by_place:
                assert in_order[place].name in (each.name, each.today), each
        if each.today.isidentifier() and place < len(in_order):
            assert each.by_name is (each.today in by_name), each
    for each in parameters:
        if each.only:
            assert repr(by_name[each.name].default) == each.only, each
        elif each.today != each.name:
            assert each.name not in by_name, each
