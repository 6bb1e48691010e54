"""The rules: one rule in a file, or in a table several that are found or edited in one way."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.found_place import FoundPlace
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.optimizers.recognition import Recognisers
from flaxoptim_compat.migrate.rules.rule import Rule

# Such a file has RULE and find(reading), or RULES and find(code, reading). Those about optimizers
# have RECOGNISES too, since what becomes of an optimizer depends on all that is done with it.
_FILE = re.compile(r"foc[0-9]{3}_\w+|table_\w+")


class Registered(NamedTuple):
    """A rule, and the function that finds its places.

    Args:
      rule: the rule.
      sees: finds the places in a file that the rule is about.
    """

    rule: Rule
    sees: Callable[[Reading], Iterator[FoundPlace]]

    def find(self, reading: Reading) -> Iterator[Finding]:
        """The findings of the rule in a file."""
        for place in self.sees(reading):
            if (finding := place.finding(self.rule.code, reading)) is not None:
                yield finding


@functools.cache
def rule_modules() -> dict[str, Registered]:
    """All rules by their codes, in the order of the codes."""
    rules: list[Registered] = []
    for module in _modules():
        if hasattr(module, "RULE"):
            rules.append(Registered(module.RULE, module.find))
        else:
            rules += [
                Registered(rule, functools.partial(module.find, rule.code)) for rule in module.RULES
            ]
    return {each.rule.code: each for each in sorted(rules, key=lambda each: each.rule.code)}


@functools.cache
def recognisers() -> Recognisers:
    """The recognisers of the rules about optimizers, in the order of their codes."""
    modules = [each for each in _modules() if hasattr(each, "RECOGNISES")]
    return Recognisers(each.RECOGNISES for each in sorted(modules, key=_first_code))


@functools.cache
def _modules() -> Sequence[Any]:
    names = [each.name for each in pkgutil.iter_modules(__path__)]
    return [
        importlib.import_module(f"{__name__}.{name}") for name in names if _FILE.fullmatch(name)
    ]


def _first_code(module: Any) -> str:
    code: str = module.RULE.code if hasattr(module, "RULE") else module.RULES[0].code
    return code
