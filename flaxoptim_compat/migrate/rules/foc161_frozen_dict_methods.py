"""Methods of the FrozenDicts that ``init`` and ``apply`` returned, and dicts do not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.edits import Edit, Span
from flaxoptim_compat.migrate.editing.finding import Change, Finding
from flaxoptim_compat.migrate.editing.import_plan import ImportPlan
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.behaviours import OldMethod, is_about_flax, methods_in

RULE = Rule(
    code="FOC161",
    name="frozen-dict-methods",
    summary="`pop` with two results, `unfreeze` and `copy` of a FrozenDict",
    what=(
        "`state, params = variables.pop('params')` becomes"
        " `state, params = flax.core.pop(variables, 'params')`, `x.unfreeze()` becomes"
        " `flax.core.unfreeze(x)`, and `x.copy({...})` becomes `flax.core.copy(x, {...})`."
    ),
    why=(
        "Since Flax 0.7.1 `init` and `apply` return plain dicts, whose `pop` returns the value"
        " only, and which have no `unfreeze`. The functions take both, and do what the methods did."
    ),
    refuses=(
        "Where the object may be something else: `pop` of a key that is no collection of variables"
        " and is not among the names that the result gets, a method that the file defines itself,"
        " and a `copy` of what is no dict. `pop` with one result is what it was."
    ),
    examples=(
        Example(
            before=(
                "import flax\n\n\ndef split(variables):\n"
                "    state, params = variables.pop('params')\n"
                "    return state.unfreeze(), params.copy({'w': 0.0})\n"
            ),
            shim=(
                "import flax\n\n\ndef split(variables):\n"
                "    state, params = flax.core.pop(variables, 'params')\n"
                "    return flax.core.unfreeze(state), flax.core.copy(params, {'w': 0.0})\n"
            ),
        ),
    ),
)


def find(reading: Reading) -> Iterator[Finding]:
    """The calls of the methods."""
    if not is_about_flax(reading):
        return
    for method in methods_in(reading):
        if reading.allows(RULE.code, method.call):
            yield _finding(reading, method)


def _finding(reading: Reading, method: OldMethod) -> Finding:
    document, call = reading.document, method.call
    assert isinstance(call.func, ast.Attribute)
    start, end = document.span(call)
    what = f"FrozenDict.{method.name}, which plain dicts do not have"
    if method.name != "unfreeze":
        what = f"FrozenDict.{method.name}, which is another method in a plain dict"
    instead = f"flax.core.{method.name}"
    if method.doubt:
        reason = f"{what}: {method.doubt}"
        return Finding(RULE.code, start, end, what, instead, None, None, reason=reason)
    pieces: list[str | Span] = [Span(*document.span(call.func.value))]
    for each in [*call.args, *(keyword.value for keyword in call.keywords)]:
        pieces += [", ", Span(*document.span(each))]

    def edits(imports: ImportPlan) -> tuple[Edit, ...]:
        function = imports.name_of(f"flax.core:{method.name}", call)
        return (Edit(start, end, (f"{function}(", *pieces, ")")),)

    return Finding(RULE.code, start, end, what, instead, Change(edits), Change(edits))
