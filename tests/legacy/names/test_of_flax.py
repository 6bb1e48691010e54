"""The names that flax lost beside flax.optim: each is served."""

from __future__ import annotations

from flaxoptim_compat.legacy.names.of_flax import ENTRIES


def test_every_row_of_the_table_is_served():
    for entry in ENTRIES:
        assert entry.serve() is not None
        assert entry.gone_since.startswith("flax 0.")
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
