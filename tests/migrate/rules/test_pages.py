"""The pages of the rules, and the two commands that print them."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.cli import explain, main, rules
from flaxoptim_compat.migrate.rules import rule_modules
from flaxoptim_compat.migrate.rules.pages import index, page, targets
from flaxoptim_compat.migrate.rules.rule import Example, Rule
from tests.support.processes import output_of

ALL = rules.all_rules()
CODES = [rule.code for rule in ALL]
BEFORE = "from flax import optim\n\ntx = optim.Adam()\n"
RULE = Rule(
    code="FOC999",
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


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
def test_a_rule_says_all_that_a_page_needs(rule: Rule) -> None:
    assert re.fullmatch(r"FOC\d{3}", rule.code) and re.fullmatch(
        r"[a-z0-9]+(-[a-z0-9]+)*", rule.name
    )
    module = inspect.getmodule(rule_modules()[rule.code].find)
    assert module is not None and module.__name__.rpartition(".")[2].startswith(rule.code.lower())
    assert rule.summary.strip() and "\n" not in rule.summary and "|" not in rule.summary
    assert rule.what.strip() and rule.why.strip() and rule.examples


def test_codes_and_names_are_used_once() -> None:
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in ALL}) == len(ALL)


def test_a_page() -> None:
    text = page(RULE)
    assert text.startswith(
        "# FOC999 a-name\n\nFinds: `Adam`.\n\n## What it does\n\nIt *changes* the"
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
    assert "`# noqa: FOC999`" in text
    assert "[Adam](../optimizers/adam.md), [rewriting](../rewriting.md)" in text


def test_a_change_that_is_the_same_for_both_targets_stands_once() -> None:
    example = Example(BEFORE, shim=BEFORE.upper(), optax=BEFORE.upper())
    text = page(Rule("FOC999", "n", "s", "w", "y", "", (example, example)))
    assert text.count("With either target:\n\n```diff\n-from flax") == 2
    assert "## Examples" in text and "leaves the code alone" not in text


def test_code_that_stays_is_no_change() -> None:
    example = Example(BEFORE, shim=BEFORE, optax=BEFORE + "# FOC999: a reason\n")
    rule = Rule("FOC999", "n", "s", "w", "y", "", (example,))
    text = page(rule)
    assert f"With `--to shim` this stays as it is:\n\n```py\n{BEFORE}```" in text
    assert "+# FOC999: a reason" in text


def test_the_targets_are_those_of_the_examples() -> None:
    def found(code: str, *examples: Example) -> tuple[str, ...]:
        return targets(Rule(code, "n", "s", "w", "y", "", examples))

    changed, marked = "import a\n", f"{BEFORE}    # FOC999: a reason\nx = 1\n"
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
    text = page(Rule("FOC999", "n", "s", f"{'word ' * 15}{code}\n\n- a list", "y", "", ()))
    assert f"\n{code}\n\n- a list\n" in text


def test_the_index() -> None:
    assert "\n| [FOC999](FOC999.md) | a-name | `Adam` | `shim` |\n" in index([RULE])


def test_explain_prints_the_pages(capsys: pytest.CaptureFixture[str]) -> None:
    codes = [rule.code for rule in ALL[:2]]
    assert main(["explain", codes[0].lower(), *codes[1:]]) == 0
    assert capsys.readouterr().out == "\n".join(map(page, ALL[:2]))


def test_explain_says_which_codes_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", ALL[0].code, "foc000", "E501"]) == 2
    out, err = capsys.readouterr()
    assert not out and err.startswith(
        "flaxoptim-compat: There is no rule FOC000, E501. There are FOC1"
    )
    assert {rule.code for rule in ALL} <= set(re.findall(r"FOC\d+", err))


def test_rules_prints_a_table(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    assert main(["rules"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["code", "name", "rewritten", "to", "what", "it", "finds"]
    assert [line[:6] for line in lines if line.startswith("FOC")] == CODES
    assert max(map(len, lines)) <= 110
    assert lines[-1].startswith("flaxoptim-compat explain CODE")


def test_a_table_is_folded_in_its_last_column() -> None:
    rows = [("FOC1", "n", "shim", "words " * 20), ("FOC22", "m", "-", "x")]
    lines = rules.table(rows, 60).splitlines()
    assert len(lines) > 3 and max(map(len, lines)) <= 70
    column = lines[0].index("what it finds")
    assert all(line[:column].isspace() or line[:3] in ("cod", "FOC") for line in lines)
    assert lines[-1][column:] == "x"


def test_a_terminal_gets_the_same_texts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("rich")
    from rich.console import Console

    for command in (explain, rules):
        monkeypatch.setattr(command, "terminal", lambda: Console(width=200))
    assert main(["explain", ALL[0].code]) == 0 and main(["rules"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "When" in out or "What it does" in out
    for rule in ALL:
        assert rule.code in out and rule.name in out


def test_without_rich_a_terminal_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert rules.terminal() is None


def test_neither_imports_jax(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from argparse import Namespace\n"
        "from flaxoptim_compat.cli import explain, rules\n"
        f"rules.run(Namespace()), explain.run(Namespace(codes=[{ALL[0].code!r}]))\n"
        "assert not {'jax', 'flax', 'optax', 'numpy'} & set(sys.modules)"
    )
    assert "## What it does" in output_of(["-c", code], tmp_path)
