"""``migration_guide/served_calls.md``: the tables of old calls, as a page."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.other_answers import OTHER_ANSWERS
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from tests.generate.generator import Files, Generator
from tests.legacy.calls.signature_decisions import DECISIONS, DOCUMENTED, OLDER
from tests.support.places import GUIDE

PAGE = GUIDE / "served_calls.md"
HEAD = """# Served calls

This page is for programs with calls that are an error today. `flaxoptim-compat run`, `enable` and
`install(era=True)` accept the old calls again; the second column says what to write instead. A call
of today is passed on unchanged. Each line that makes an old call warns once, with the text of the
second column, and the report at the end of `run` counts the calls.

`scan` finds old calls by their arguments, [FOC166](rules/FOC166.md) and
[FOC171](rules/FOC171.md), and removed methods of arrays, [FOC167](rules/FOC167.md).
`rewrite` replaces them by calls of today, or says what to write. Neither finds calls that differ
only in a value, such as `jax.random.fold_in(key, -1)`, the pair of `EarlyStopping.update`, or
methods that other objects have as well. `run` does.

| old call | what to write today |
| --- | --- |
"""
LEFT = """
## What is not served

All signatures of jax 0.4.13 and flax 0.5.3 were compared with today's, and those of jax 0.2.9 and
0.2.25 and flax 0.2.2 and 0.3.4 with both. These calls have another meaning today, or no
equivalent:

| old call | what to do |
| --- | --- |
"""
ANSWERS = """
## What is answered otherwise

jax accepts these calls as before, and returns another result. Nobody can tell whether a program
needs the old result, and therefore no call is changed. Under `run`, `enable` and
`install(era=True)` a line with such a call warns once, if the call can be recognised without
looking at numbers. The list comes from a comparison of 810 functions of jax and flax, each called
with 45 sets of arguments, on jax 0.4.13 and under `run` on jax 0.10.2. Of 9,680 calls that worked
then, 295 give other dtypes, shapes or numbers, or an error. The calls that are not listed differ in
the last places of float16 or beyond the domain of a special function, or have meaningless
arguments. Random numbers and optimizers were compared elsewhere.

| call | result today | code for the old result | warns |
| --- | --- | --- | --- |
"""


def files() -> Files:
    """The page."""
    rows = {row.old: row.today for row in ENTRIES} | {each.old: each.today for each in METHODS}
    shown = sorted(rows.items(), key=lambda row: row[0].lower())
    lines = (f"| `{old}` | `{today}` |\n" for old, today in shown)
    left = [(each.shown, each.text) for each in DECISIONS if each.outcome == DOCUMENTED]
    left_lines = (f"| `{call}` | {text} |\n" for call, text in (*left, *OLDER))
    answers = (
        f"| `{each.call}` | {each.today} | `{each.before}` | {'yes' if each.told_by else ''} |\n"
        for each in OTHER_ANSWERS
    )
    page = (HEAD, *lines, LEFT, *left_lines, ANSWERS, *answers)
    return {PAGE: "".join(page).encode()}


GENERATOR = Generator("migration_guide/served_calls.md: the tables of old calls", files)
