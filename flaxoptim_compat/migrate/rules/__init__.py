"""The rules: one in a file, or several that differ in their texts only in a table."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.optimizers.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

# Such a file has RULE and find(reading), or RULES and find(code, reading).
_FILE = re.compile(r"foc[0-9]{3}_\w+")
_TABLE = re.compile(r"table_\w+")


class Registered(NamedTuple):
    """A rule with its eyes.

    Args:
      rule: what people read of it.
      find: what it finds in a file.
    """

    rule: Rule
    find: Callable[[Reading], Iterator[Finding]]


@functools.cache
def rule_modules() -> dict[str, Registered]:
    """All rules by their codes, in the order of the codes."""
    found: list[Registered] = []
    for each in pkgutil.iter_modules(__path__):
        if _FILE.fullmatch(each.name):
            module = importlib.import_module(f"{__name__}.{each.name}")
            found.append(Registered(module.RULE, module.find))
        elif _TABLE.fullmatch(each.name):
            table = importlib.import_module(f"{__name__}.{each.name}")
            found += [
                Registered(rule, functools.partial(table.find, rule.code)) for rule in table.RULES
            ]
    return {each.rule.code: each for each in sorted(found, key=lambda each: each.rule.code)}
