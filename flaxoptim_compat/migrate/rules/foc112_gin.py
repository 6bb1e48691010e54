"""FOC112: a name of ``flax.optim`` in a gin file."""

from __future__ import annotations

from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names import gin
from flaxoptim_compat.migrate.names.surface import served
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.rules.table_of_flax_optim_names import GONE

_AFTER = """\
import flaxoptim_compat.optim

warmup/flaxoptim_compat.optim.Adam.learning_rate = 1e-4
Adam.beta1 = 0.95
train.definition = @flaxoptim_compat.optim.Adam()  # as in the paper
"""

RULE = Rule(
    code="FOC112",
    name="name-in-a-gin-file",
    summary="a name of `flax.optim` in a gin file: a binding, a reference, an import",
    what="""\
The name is one of `flaxoptim_compat.optim`, with either target: what gin binds are parameters of a
legacy class, which `flaxoptim_compat` goes on to serve. Scopes, comments and the layout stay. Names
that gin completes itself, such as `Adam.beta1`, need nothing.""",
    why="""\
gin knows a class by its module, which is another one after a rewrite, or by the module that the
program registered it with, which FOC104 changes in the same way. A name that is not registered is
an error of gin.""",
    refuses="""\
Names in strings, macros, names that `flax.optim` never had, and `DynamicScale`, which Flax has in
another module. Bindings on command lines are not seen. Give the gin files together with the program
that registers the classes.""",
    examples=(
        Example.alike(
            before=_AFTER.replace("flaxoptim_compat.optim", "flax.optim"),
            after=_AFTER,
            language="gin",
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """Each name in a gin file; files of Python have none."""
    document = reading.document
    for each in gin.names_in(document.text) if document.is_gin else ():
        line, _ = document.position(each.start)
        if not reading.allows_on(line, RULE.code):
            continue
        what = f"{each.name}, {GONE}"
        instead = served(each.name) or "code of your own"
        edits = None if each.new is None else (Edit(each.start, each.end, (each.new,)),)
        yield Finding(
            RULE.code, each.start, each.end, what, instead, edits, edits, reason=each.reason
        )
