"""What the tables say of the release without a name holds in that release and in the one before."""

from __future__ import annotations

import json

from tests.generate.releases import BEFORE, RECORD, within_the_span

FOUND: dict[str, dict[str, list[str]]] = json.loads(RECORD.read_text())
ENTRIES = within_the_span()


def test_the_release_before_has_it_and_that_one_has_not() -> None:
    for entry in ENTRIES:
        before, since = FOUND[entry.gone_since].values()
        assert entry.name in before and entry.name not in since, entry


def test_the_record_is_about_these_releases() -> None:
    assert {entry.gone_since for entry in ENTRIES} == FOUND.keys() == BEFORE.keys()
    for since, releases in FOUND.items():
        assert [*releases] == [BEFORE[since], since.partition(" ")[2]]
