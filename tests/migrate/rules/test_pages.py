"""The pages of the rules."""

from __future__ import annotations

import re

from flaxoptim_compat.migrate.rules.pages import index, page, targets
from flaxoptim_compat.migrate.rules.rule import Example, Rule

BEFORE = "from flax import optim\n\ntx = optim.Adam()\n"
RULE = Rule(
    code="FOC299",
    name="a-name",
    summary="`Adam`",
    what="It *changes* the import.",
    why="Because.",
    refuses="When it [rains].",
    examples=(Example(BEFORE, shim=BEFORE.replace("flax ", "flaxoptim_compat ")),),
)
CHANGE = """\
-from flax import optim
+from flaxoptim_compat import optim
 
 tx = optim.Adam()
"""  # noqa: W293


def test_a_page() -> None:
    text = page(RULE)
    assert text.startswith(
        "# FOC299 a-name\n\nFinds: `Adam`.\n\n## What it does\n\nIt *changes* the"
    )
    headings = re.findall("^## (.*)$", text, re.MULTILINE)
    assert headings == [
        "What it does",
        "Why",
        "When it leaves the code alone",
        "Example",
        "Ignore it",
        "See also",
    ]
    assert f"With `--to shim`:\n\n```diff\n{CHANGE}```\n" in text and "--to optax" not in text
    assert "`# noqa: FOC299`" in text
    assert "[Adam](../optimizers/adam.md), [rewriting](../rewriting.md)" in text


def test_a_change_that_is_the_same_for_both_targets_stands_once() -> None:
    example = Example(BEFORE, shim=BEFORE.upper(), optax=BEFORE.upper())
    text = page(Rule("FOC299", "n", "s", "w", "y", "", (example, example)))
    assert text.count("With either target:\n\n```diff\n-from flax") == 2
    assert "## Examples" in text and "leaves the code alone" not in text


def test_code_that_stays_is_no_change() -> None:
    example = Example(BEFORE, shim=BEFORE, optax=BEFORE + "# FOC299: a reason\n")
    rule = Rule("FOC299", "n", "s", "w", "y", "", (example,))
    text = page(rule)
    assert f"With `--to shim` this stays as it is:\n\n```py\n{BEFORE}```" in text
    assert "+# FOC299: a reason" in text


def test_the_targets_are_those_of_the_examples() -> None:
    def found(code: str, *examples: Example) -> tuple[str, ...]:
        return targets(Rule(code, "n", "s", "w", "y", "", examples))

    changed, marked = "import a\n", f"{BEFORE}    # FOC299: a reason\nx = 1\n"
    assert found("FOC299", Example(BEFORE, shim=BEFORE, optax=changed)) == ("optax",)
    assert found("FOC299", Example(BEFORE, shim=changed), Example(BEFORE, optax=changed)) == (
        "shim",
        "optax",
    )
    # A comment that says why code stays rewrites nothing.
    assert found("FOC299", Example(f"{BEFORE}x = 1\n", optax=marked)) == ()
    # What is no optimizer is rewritten in the same way for both.
    assert found("FOC199", Example(BEFORE, shim=changed)) == ("shim", "optax")


def test_paragraphs_are_filled_and_code_stays_whole() -> None:
    code = "`" + "a - b " * 12 + "`"
    text = page(Rule("FOC299", "n", "s", f"{'word ' * 15}{code}\n\n- a list", "y", "", ()))
    assert f"\n{code}\n\n- a list\n" in text


def test_the_index() -> None:
    assert "\n| [FOC299](FOC299.md) | a-name | `Adam` | `shim` |\n" in index([RULE])
