"""The pages of the rules: written by hand in ``migration_guide/rules``, and in each wheel."""

from __future__ import annotations

import functools
import re
from pathlib import Path

# A wheel has the pages beside this file; a checkout has them in its guide, and only there.
_SHIPPED = Path(__file__).parent / "pages"
_IN_GUIDE = Path(__file__).parents[3] / "migration_guide" / "rules"
_SUMMARY = re.compile(r"^Finds: (.*?)\.$\n\n", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^## .*$\n\n", re.MULTILINE)


@functools.cache
def page(code: str) -> str:
    """The page of a rule, as Markdown.

    Args:
      code: such as ``FOC203``.
    """
    folder = _SHIPPED if _SHIPPED.is_dir() else _IN_GUIDE
    return (folder / f"{code}.md").read_text(encoding="utf-8")


def summary(code: str) -> str:
    """The summary of a page, in one line: the code that the rule finds.

    Args:
      code: the code of the rule.
    """
    match = _SUMMARY.search(page(code))
    assert match is not None
    return " ".join(match[1].split())


def explanation(code: str) -> list[str]:
    """The sections of a page before its examples: what ``rewrite`` does, why, and when it does not.

    Args:
      code: the code of the rule.
    """
    _, *sections = _HEADING.split(page(code).partition("\n## Example")[0])
    return [each.strip() for each in sections]
