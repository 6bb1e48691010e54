"""``migration_guide/served_calls.md``: the tables of old calls, as a page."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE

PAGE = GUIDE / "served_calls.md"
HEAD = """# Served calls

What functions and methods take again under `flaxoptim-compat run`, `enable` and
`install(era=True)`, though it is an error today, and what to write instead. A call that is one of
today is handed on as it is. Each line that makes an old call warns once, with the text of the
second column, and the report at the end of `run` counts them.

| old call | today |
| --- | --- |
"""


def files() -> Files:
    """The page."""
    rows = {row.old: row.today for row in ENTRIES} | {each.old: each.today for each in METHODS}
    shown = sorted(rows.items(), key=lambda row: row[0].lower())
    lines = (f"| `{old}` | `{today}` |\n" for old, today in shown)
    return {PAGE: (HEAD + "".join(lines)).encode()}


GENERATOR = Generator("migration_guide/served_calls.md: the tables of old calls", files)
