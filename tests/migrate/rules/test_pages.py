"""The pages of the rules: ``rewrite`` does what their examples show, and all rules have theirs."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import flaxoptim_compat
from flaxoptim_compat.migrate.editing.finding import Finding
from flaxoptim_compat.migrate.rules import page, rule_modules
from flaxoptim_compat.migrate.rules.rule import Rule
from tests.migrate.rules.rule_pages import EXAMPLES, FOLDER, Example, path_of
from tests.migrate.unmarked import without_marks
from tests.support.rewriting_texts import findings_of, rewrite

ALL = [each.rule for each in rule_modules().values()]
of_each_rule = pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.code)
HEADINGS = [
    "What rewrite does",
    "Why",
    "When rewrite leaves the code alone",
    "Example",
    "Ignore the rule",
    "See also",
]
CODE = re.compile(r"^```.*?^```$|`[^`]*`", re.DOTALL | re.MULTILINE)
# What a file takes names from that stands on a page alone.
BESIDE = {"FOC110": {"package.optimizers": "from flax.optim import Adam\n"}}


# --- the examples


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.code}-{each.target}")
def test_rewrite_does_what_an_example_shows(example: Example) -> None:
    text = rewrite(example.before, example.target, example.language)
    assert text == example.after
    assert rewrite(text, example.target, example.language) == text


@of_each_rule
def test_a_rule_finds_something_in_each_of_its_examples(rule: Rule) -> None:
    examples = [each for each in EXAMPLES if each.code == rule.code]
    assert examples and all(map(findings, examples))


@of_each_rule
def test_a_rule_rewrites_if_an_example_shows_that_it_does(rule: Rule) -> None:
    shown = {
        example.target
        for example in EXAMPLES
        if example.code == rule.code
        and without_marks(example.after) != without_marks(example.before)
        and any(each.change_for(example.target) is not None for each in findings(example))
    }
    assert bool(shown) == rule.is_rewritten and shown <= set(rule.targets)


def findings(example: Example) -> list[Finding]:
    """Those of the rule that the example is for."""
    program = {"package.program": example.before, **BESIDE.get(example.code, {})}
    found = findings_of(program, example.language)[0].findings
    return [each for each in found if each.code == example.code]


# --- the text


def test_each_rule_has_its_page() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {
        "README.md",
        *(f"{rule.code}.md" for rule in ALL),
    }


@of_each_rule
def test_a_page_has_its_parts(rule: Rule) -> None:
    text = path_of(rule.code).read_text()
    assert text == page.page(rule.code)
    assert text.startswith(f"# {rule.code} {rule.name}\n\nFinds: ")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    programs = {each.before for each in EXAMPLES if each.code == rule.code}
    # That a rule always rewrites goes without saying.
    expected = [each for each in HEADINGS if each in headings or not each.startswith("When")]
    assert [each.replace("Examples", "Example") for each in headings] == expected
    assert ("Examples" in headings) == (len(programs) > 1)
    assert len(re.findall(r"^With `--to .*:\n\n```", text, re.MULTILINE)) == text.count("\n```\n")
    assert f"\n`# noqa: {rule.code}` at the end of a line leaves that line as it is.\n" in text
    assert max(map(len, text.splitlines())) <= 100


@of_each_rule
def test_sentences_have_nouns(rule: Rule) -> None:
    text = CODE.sub("x", path_of(rule.code).read_text())
    assert not re.findall(r"(?:^|(?<=[.:] )|(?<=- ))(?:What|Which|It|This) .*", text)


@of_each_rule
def test_the_parts_that_other_commands_print(rule: Rule) -> None:
    text = path_of(rule.code).read_text()
    summary = page.summary(rule.code)
    assert summary and "\n" not in summary and "|" not in summary and summary[-1] != "."
    assert f"Finds: {summary}." in text.replace("\n", " ")
    parts = page.explanation(rule.code)
    assert all(parts) and len(parts) == 2 + ("\n## When rewrite leaves" in text)
    assert not any("\n#" in each or "```" in each for each in parts)


def test_the_index_has_a_row_for_each_rule() -> None:
    lines = (FOLDER / "README.md").read_text().splitlines()
    assert [line for line in lines if line.startswith("| [")] == [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {page.summary(rule.code)} |"
        f" {', '.join(f'`{target}`' for target in rule.targets)} |"
        for rule in ALL
    ]


CODES = [rule.code for rule in ALL]


def test_a_rule_stands_in_the_file_of_its_code_or_in_a_table() -> None:
    for code, registered in rule_modules().items():
        assert registered.rule.code == code
        if isinstance(registered.sees, functools.partial):
            module = inspect.getmodule(registered.sees.func)
            assert module is not None and ".table_of_" in module.__name__
            assert registered.rule in module.RULES and registered.sees.args == (code,)
        else:
            module = inspect.getmodule(registered.sees)
            assert module is not None and f".{code.lower()}_" in module.__name__


def test_codes_and_names_are_used_once() -> None:
    for rule in ALL:
        assert re.fullmatch(r"FOC\d{3}", rule.code)
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert sorted(set(CODES)) == CODES
    assert len({rule.name for rule in ALL}) == len(ALL)


PACKAGE = Path(flaxoptim_compat.__file__).parent
FILES = [*sorted((PACKAGE / "migrate").rglob("*.py")), PACKAGE / "cli/scan.py"]
FORBIDDEN = re.compile(r"(?:What|Its?|Which|Whose|They)\b|what (?:`|\{|is|has)|its ")


def messages(file: Path) -> Iterator[str]:
    """The strings of a file, as far as they are no docstrings: of f-strings the beginnings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    left_out = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(map(id, node.values[1:]))
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in left_out:
                yield text


def test_no_message_begins_without_a_noun() -> None:
    found = [(file, each) for file in FILES for each in messages(file) if FORBIDDEN.match(each)]
    assert found == []
