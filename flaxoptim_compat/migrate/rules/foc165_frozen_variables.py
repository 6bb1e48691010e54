"""Programs that freeze trees themselves, beside those that ``init`` returned frozen."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from flaxoptim_compat.migrate.successors.behaviours import set_once

_SETTING = "flax_return_frozendict"
_LINE = f'flax.config.update("{_SETTING}", True)'

RULE = Rule(
    code="FOC165",
    name="frozen-variables",
    summary="`freeze` or `FrozenDict` in a file that uses optimizers of `flax.optim`",
    what=f"Behind the imports comes `{_LINE}`: `init` and `apply` return FrozenDicts again.",
    why=(
        "Since Flax 0.7.1 they return plain dicts. jax takes a FrozenDict and a dict for two"
        " different trees, so that a tree that the program froze itself fits no tree of `init` any"
        " more, and `isinstance(x, FrozenDict)` is false. The setting is one of today's Flax. Take"
        " the line out once the program does without FrozenDicts."
    ),
    refuses=f"Where the file mentions `{_SETTING}` itself, and where it has no imports at its top.",
    examples=(
        Example(
            before=(
                "import flax\nfrom flax import optim\n\n\ndef optimizer(params):\n"
                "    return optim.Adam(1e-3).create(flax.core.freeze(params))\n"
            ),
            shim=(
                "import flax\nfrom flaxoptim_compat import optim\n\n"
                'flax.config.update("flax_return_frozendict", True)\n\n\n'
                "def optimizer(params):\n"
                "    return optim.Adam(1e-3).create(flax.core.freeze(params))\n"
            ),
        ),
    ),
)
_FREEZING = frozenset(
    f"flax.core.{module}{name}"
    for module in ("", "frozen_dict.")
    for name in ("FrozenDict", "freeze")
)


def find(reading: Reading) -> Iterator[Finding]:
    """The first place that freezes a tree, or asks whether one is frozen."""
    if _SETTING in reading.document.text:
        return
    if not _has_to_do_with_optimizers(reading):
        return  # it may be newer, and have dicts in mind
    for use in reading.names.uses:
        if use.name not in _FREEZING or isinstance(use.node, ast.alias):
            continue
        is_argument = isinstance(reading.document.parents[use.node], ast.Call)
        if is_argument and reading.allows(RULE.code, use.node):
            what = f"{use.name} in a program for which init and apply returned FrozenDicts"
            yield set_once(reading, RULE.code, use.node, what, _SETTING, True)
            return


def _has_to_do_with_optimizers(reading: Reading) -> bool:
    """Whether a file names flax.optim, or does something with an optimizer of another file."""
    if any(f"{use.name}.".startswith("flax.optim.") for use in reading.names.uses):
        return True
    facts = reading.facts
    if facts is None:
        return False
    # What is done to an optimizer: a field, an update, and another target.
    codes = ("FOC203", "FOC205", "FOC207")
    return any(next(facts.of(code, reading.document), None) is not None for code in codes)
