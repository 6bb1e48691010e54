"""A rule as a page: what ``explain`` prints, and what stands in ``migration_guide/rules``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from flaxoptim_compat.catalogue import OPTIMIZERS
from flaxoptim_compat.migrate.editing.finding import OF_OPTIMIZERS
from flaxoptim_compat.migrate.editing.marks import without_marks, wrapped
from flaxoptim_compat.migrate.rules.rule import Example, Rule

# Those with a page of their own in migration_guide/optimizers, or beside it.
_OPTIMIZER_PAGES = {row.name: f"../optimizers/{row.page}" for row in OPTIMIZERS} | {
    "DynamicScale": "../optimizers/dynamic_scale.md",
    "MultiOptimizer": "../multi_optimizer.md",
}
_TARGETS = ("shim", "optax")
_WIDTH = 100


def page(rule: Rule) -> str:
    """The page of one rule, as Markdown.

    Args:
      rule: the rule.
    """
    sections = [
        f"# {rule.code} {rule.name}",
        _filled(f"Finds: {rule.summary}."),
        f"## What it does\n\n{_filled(rule.what)}",
        f"## Why\n\n{_filled(rule.why)}",
        f"## When it leaves the code alone\n\n{_filled(rule.refuses)}" if rule.refuses else "",
        "\n\n".join([_heading(rule.examples), *map(_example, rule.examples)]),
        f"## Ignore it\n\n`# noqa: {rule.code}` at the end of a line leaves that line as it is.",
        f"## See also\n\n{_filled(_links(rule))}",
    ]
    return "\n\n".join(filter(None, sections)) + "\n"


def index(rules: Iterable[Rule]) -> str:
    """The table of all rules, as Markdown.

    Args:
      rules: in the order of the table.
    """
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.summary} | {_listed(rule)} |"
        for rule in rules
    ]
    return "\n".join([_INDEX_START, *rows, "", _INDEX_END])


def targets(rule: Rule) -> tuple[str, ...]:
    """For which of ``shim`` and ``optax`` the rule rewrites code; none if it only reports it.

    Args:
      rule: its examples decide.
    """
    found = tuple(
        target
        for target in _TARGETS
        if any(_is_rewritten(each.before, _after(each, target)) for each in rule.examples)
    )
    # What is no optimizer is the same for both, and shown for one.
    return _TARGETS if found and not rule.code.startswith(OF_OPTIMIZERS) else found


_INDEX_START = """\
# Rules

What `flaxoptim-compat scan` finds and `flaxoptim-compat rewrite` changes, by the code that both
print. `flaxoptim-compat explain FOC101` prints a page of these. The last column says with which
`--to` code is rewritten; without one, it is only reported.

| code | name | what it finds | rewritten |
| --- | --- | --- | --- |"""

_INDEX_END = """\
FOC101 to FOC119 are names of `flax.optim`, FOC151 to FOC179 what jax, flax and numpy have removed
or changed beside it, and those from FOC201 the optimizers themselves. How the commands are used is
in [rewriting](../rewriting.md).
"""


def _is_rewritten(before: str, after: str | None) -> bool:
    """Whether there is more than a comment that says why the code stays."""
    return after is not None and without_marks(after) != without_marks(before)


def _filled(text: str) -> str:
    """Paragraphs in lines that fit; code in them stays whole, and so does what is no paragraph."""
    return "\n\n".join(
        block if block.startswith(("-", "*", "|", "`" * 3)) else "\n".join(wrapped(block, _WIDTH))
        for block in text.strip().split("\n\n")
    )


def _listed(rule: Rule) -> str:
    return ", ".join(f"`{target}`" for target in targets(rule))


def _heading(examples: tuple[Example, ...]) -> str:
    return "## Example" if len(examples) == 1 else "## Examples"


def _example(example: Example) -> str:
    """The differences for both targets, once if they are the same."""
    after = {target: _after(example, target) for target in _TARGETS}
    if after["shim"] == after["optax"]:
        return _change("With either target", example, after["shim"])
    return "\n\n".join(
        _change(f"With `--to {target}`", example, text)
        for target, text in after.items()
        if text is not None
    )


def _after(example: Example, target: str) -> str | None:
    return example.shim if target == "shim" else example.optax


def _change(heading: str, example: Example, after: str | None) -> str:
    before = example.before
    if after is None or after == before:
        return f"{heading} this stays as it is:\n\n{_fenced(example.language, before)}"
    old, new = before.splitlines(), after.splitlines()
    # All lines around the changes, and without the three lines of a diff's head.
    lines = list(difflib.unified_diff(old, new, n=len(old), lineterm=""))[3:]
    return f"{heading}:\n\n" + _fenced("diff", "\n".join(lines))


def _fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def _links(rule: Rule) -> str:
    texts = [rule.summary, rule.what, rule.why, *(each.before for each in rule.examples)]
    named = re.findall(r"\w+", " ".join(texts))
    links = [f"[{name}]({path})" for name, path in _OPTIMIZER_PAGES.items() if name in named]
    return ", ".join([*links, "[rewriting](../rewriting.md)", "[all rules](README.md)"])
