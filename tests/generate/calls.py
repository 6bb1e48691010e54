"""``migration_guide/served_calls.md``: the tables of old calls, as a page."""

from __future__ import annotations

from flaxoptim_compat.legacy.calls.other_answers import OTHER_ANSWERS
from flaxoptim_compat.legacy.calls.tables import ENTRIES, METHODS
from tests.generate.generator import Files, Generator
from tests.support.places import GUIDE
from tests.support.signature_decisions import DECISIONS, DOCUMENTED, OLDER

PAGE = GUIDE / "served_calls.md"
HEAD = """# Served calls

What functions and methods take again under `flaxoptim-compat run`, `enable` and
`install(era=True)`, though it is an error today, and what to write instead. A call that is one of
today is handed on as it is. Each line that makes an old call warns once, with the text of the
second column, and the report at the end of `run` counts them.

`scan` finds such calls by what is given in them, [FOC166](rules/FOC166.md) and
[FOC171](rules/FOC171.md), and the methods of arrays that have gone, [FOC167](rules/FOC167.md);
`rewrite` writes them as those of today, or says what to write. They do not find calls that only a
value tells from those of today, such as `jax.random.fold_in(key, -1)`, nor the pair that
`EarlyStopping.update` was, nor methods that other objects have as well. `run` does.

| old call | today |
| --- | --- |
"""
LEFT = """
## What is not served

All signatures of jax 0.4.13 and flax 0.5.3 were compared with today's, and those of jax 0.2.9 and
0.2.25 and flax 0.2.2 and 0.3.4 with both. These calls mean something else today, or nothing that
could be made of them:

| old call | what to do |
| --- | --- |
"""
ANSWERS = """
## What is answered otherwise

jax takes these calls as it did, and answers otherwise. Whether a program wants the old answer
nobody can tell, so none is changed; under `run`, `enable` and `install(era=True)` a line that
makes one warns once, where that can be told without looking at numbers. They come out of a
comparison of 810 functions of jax and flax, each called with 45 sets of arguments, on jax 0.4.13
and under `run` on jax 0.10.2. Of 9,680 calls that worked then, 295 give other dtypes, shapes or
numbers, or an error. Those that are not here differ in the last places of float16, beyond the
edge of where a special function is defined, or have arguments that mean nothing. Random numbers
and optimizers were compared elsewhere.

| call | gives today | for what it gave | warns |
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
