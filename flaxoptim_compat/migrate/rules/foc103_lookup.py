"""FOC103: a name of ``flax.optim`` that is looked up while the program runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.names.surface import is_of_flax_optim
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.rules.table_of_flax_optim_names import GONE, finding, uses_for

RULE = Rule(
    code="FOC103",
    name="looked-up-name",
    summary="`flax.optim` or a name of it, looked up by `getattr`, `import_module` and the like",
    what="""\
The module in `getattr(flax.optim, name)` becomes `flaxoptim_compat.optim`, with either target, and
the text in `importlib.import_module("flax.optim")` names the new module.""",
    why="""\
`flaxoptim_compat.optim` has every name that `flax.optim` had, so whichever is looked up is found.
Which one it is shows only when the program runs, so no text of optax can be written for it.""",
    refuses="""\
`hasattr(flax, "optim")` stays: it is false since Flax 0.6, and what follows from that is the
program's own business. The name of a module that is put together
(`import_module(f"flax.optim.{name}")`) stays too, and so does `__import__("flax.optim")`, which
gives `flax`. With `--to optax` a computed name is left on `flaxoptim_compat` and marked.""",
    examples=(
        Example(
            before="""\
import flax


def make(name, **settings):
    return getattr(flax.optim, name)(**settings)
""",
            shim="""\
from flaxoptim_compat import optim


def make(name, **settings):
    return getattr(optim, name)(**settings)
""",
            optax="""\
from flaxoptim_compat import optim


def make(name, **settings):
    # FOC103: Which optimizer this is shows only when it runs.
    return getattr(optim, name)(**settings)
""",
        ),
    ),
)


_INSTEAD = "flaxoptim_compat.optim"


def find(reading: Reading) -> Iterator[Finding]:
    """Each look-up of ``flax.optim`` or in it."""
    for use in uses_for(RULE.code, reading):
        yield finding(RULE.code, reading, use)
    for call in reading.names.lookups:
        function = call.func.id if isinstance(call.func, ast.Name) else ""
        if function not in ("setattr", "delattr") and reading.allows(RULE.code, call):
            yield from _computed(call, function, reading)


def _computed(call: ast.Call, function: str, reading: Reading) -> Iterator[Finding]:
    start, end = reading.document.span(call)
    base = reading.names.full_name(call.args[0]) or ""
    if function == "getattr":
        what = f"a name of {base} that is computed"
        reason = "Which optimizer this is shows only when it runs."
        yield Finding(RULE.code, start, end, what, _INSTEAD, (), None, reason=reason)
    elif function == "hasattr" and is_of_flax_optim(base):
        what = f"a question for a name of {base}, {GONE}"
        yield Finding(RULE.code, start, end, what, _INSTEAD)
    elif function == "hasattr" and base == "flax":
        what = f"a question for flax.optim, {GONE}"
        reason = f"{reading.document.source(call)} is False since flax 0.6.0."
        yield Finding(RULE.code, start, end, what, "nothing", None, None, reason=reason)
    elif function != "hasattr":
        what = f"an import of flax.optim by its name, {GONE}"
        reason = "Which module this is shows only when it runs."
        yield Finding(RULE.code, start, end, what, _INSTEAD, None, None, reason=reason)
