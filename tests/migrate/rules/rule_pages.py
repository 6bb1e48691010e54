"""The pages of the rules: the examples in them, as programs before and after."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.migrate.rules import rule_modules
from tests.migrate.diffs import sides
from tests.support.places import GUIDE

FOLDER = GUIDE / "rules"
# A line that begins with these words, and the block under it.
_EXAMPLE = re.compile(r"^With ([^\n]*):\n\n```(diff|py)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Example(NamedTuple):
    """A file before and after.

    Args:
      code: of the rule on whose page it stands.
      target: ``shim`` or ``optax``, with which it is rewritten.
      before: a small module that works with Flax 0.5.3.
      after: what ``rewrite`` makes of it.
      language: ``py``, or ``gin``, which is the end of such a file's name.
    """

    code: str
    target: str
    before: str
    after: str
    language: str


def path_of(code: str) -> Path:
    """Where the page of a rule stands."""
    return FOLDER / f"{code}.md"


def examples_in(code: str, text: str) -> list[Example]:
    """The examples of a page, one for each target that they name.

    Args:
      code: of the rule.
      text: its page.
    """
    return [
        Example(code, target, *_sides(kind, block), "gin" if "a gin file" in how else "py")
        for how, kind, block in _EXAMPLE.findall(text)
        for target in re.findall(r"`--to (\w+)`", how)
    ]


def _sides(kind: str, block: str) -> tuple[str, str]:
    if kind == "py":
        return block, block
    return sides(block)


EXAMPLES = [
    example for code in rule_modules() for example in examples_in(code, path_of(code).read_text())
]
