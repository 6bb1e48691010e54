"""The rules: one per file, which registers itself by its name."""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator
from typing import Protocol

from flaxoptim_compat.migrate.finding import Finding
from flaxoptim_compat.migrate.reading import Reading
from flaxoptim_compat.migrate.rules.rule import Rule

_FILE = re.compile(r"foc[0-9]{3}_\w+")


class RuleModule(Protocol):
    """What the file of a rule has."""

    RULE: Rule

    def find(self, reading: Reading) -> Iterator[Finding]:
        """What the rule finds in a file."""


@functools.cache
def rule_modules() -> dict[str, RuleModule]:
    """All rules by their codes, in the order of the codes."""
    found = {}
    for each in sorted(pkgutil.iter_modules(__path__), key=lambda each: each.name):
        if _FILE.fullmatch(each.name):
            module: RuleModule = importlib.import_module(f"{__name__}.{each.name}")
            found[module.RULE.code] = module
    return found
