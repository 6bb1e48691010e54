"""Lines are broken as a formatter breaks them."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
import tokenize

import pytest

from flaxoptim_compat.line_breaks import (
    Unclear,
    expression_in_lines,
    joined,
    statement_in_lines,
    without_brackets,
)

TREE = "jax.tree_util.tree_map_with_path"
KEYS = 'jax.tree_util.keystr(keys, simple=True, separator="/")'
CHAIN = "optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(learning_rate, momentum=0.8))"
KINDS = '"0" if kernels(path, value) else "1" if others(path, value) else "frozen"'
LONG = "a_name_of_some_length"

# Each is a statement of one line that is too long, or just short enough.
STATEMENTS = [
    f"tx = optax.inject_hyperparams(lambda learning_rate: {CHAIN})(learning_rate=0.0)",
    f"tx = optax.chain(lambda rate, {LONG}, {LONG}_2, {LONG}_3: {CHAIN}, 1)",
    f"x = f(lambda path, value: {KINDS})",
    f"x = {TREE}(lambda keys, leaf: (lambda path, value: {KINDS})(path_of({KEYS}), leaf), params)",
    f"x = {TREE}(lambda keys, leaf: (lambda path: path in names)({KEYS} + {KEYS}), params)",
    f"x = f(lambda params, of=lambda *both: {LONG} in both[0]: {TREE}(of, params, {LONG}, {LONG}))",
    f"x = f(a, key=lambda {LONG}: g({LONG}, {LONG}, another).{LONG}.{LONG})",
    f"x = f(a, key=lambda {LONG}: g({LONG}, {LONG}, another).h(1).i(2).{LONG}(3))",
    f"x = f(a, key=lambda {LONG}, {LONG}_2: g({LONG}, {LONG}_2, another).{LONG}(1, 2))",
    f"x = f(a, lambda {LONG}, {LONG}_2: not g({LONG}, {LONG}_2, {LONG}))",
    f"x = f(a, lambda {LONG}, {LONG}_2: -g({LONG}, {LONG}_2, {LONG}))",
    f"x = f(a, lambda {LONG}, {LONG}_2: {LONG}.{LONG} and {LONG}_2.{LONG})",
    f"x = f(a, lambda {LONG}, {LONG}_2: {LONG}.{LONG}.{LONG}.{LONG})",
    f"x = f(lambda {LONG}: [{LONG} for each in {LONG}.{LONG} if each])",
    f"x = f(lambda {LONG}: {{'a': {LONG}, 'b': {LONG}, 'c': {LONG}}})",
    f"x = f(lambda {LONG}: lambda {LONG}_2, b: {LONG} + {LONG}_2 + b)",
    f"x = [{LONG}, lambda b, c: {LONG}, {LONG}, {LONG}.{LONG}]",
    f"names = ['{LONG}', '{LONG}', '{LONG}', '{LONG}']",
    f"names = ('{LONG}', '{LONG}', '{LONG}', '{LONG}')",
    f"names = {LONG}['{LONG}', '{LONG}', '{LONG}']",
    f"x = f(names=('{LONG}', '{LONG}', '{LONG}'), others={LONG})",
    f"x = {{'{LONG}': {LONG}, '{LONG}_2': {LONG}.{LONG}}}",
    f"x = [{LONG} for {LONG} in {LONG}.{LONG} if {LONG}]",
    f"x = {LONG}.{LONG}({LONG}).{LONG}({LONG}, {LONG})",
    f"return {LONG}.{LONG} + {LONG}.{LONG} + {LONG}",
    f"assert {LONG}.{LONG} and {LONG}.{LONG}, {LONG}",
    f"x = {LONG}({LONG}, {LONG}, {LONG}=0)",
    f"self.{LONG} = {LONG} = {LONG}({LONG}, b)",
    f"self.{LONG}, {LONG} = {LONG}.{LONG}.{LONG}(b)",
    f"{LONG}: {LONG}.{LONG}.{LONG} | None",
    f"{LONG}: {LONG} = {LONG}({LONG}, {LONG}, {LONG})",
    f"x = {LONG}[{LONG}({LONG}, {LONG}) :, {LONG}]",
    f"x = {LONG}[:, {LONG} : {LONG} + 1, {LONG}:]",
    f"{LONG}_that_is_even_longer = {LONG}.{LONG}.{LONG}({LONG}, {LONG}, {LONG}, {LONG})",
    f"x = not {LONG} and {LONG}.{LONG}[{LONG} + {LONG}]",
    f"x = 45 * {LONG} * {LONG} * {LONG} * {LONG}({LONG})",
    f"x = None or {LONG} or {LONG} or {LONG} or {LONG}",
    f"x += {LONG} * {LONG} - {LONG} * {LONG}",
]


@pytest.fixture(scope="module")
def by_ruff() -> list[str]:
    """The statements as the formatter writes them."""
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("ruff is not installed")
    text = "".join(f"def f():\n    {each}\n" for each in STATEMENTS)
    settings = ["--isolated", "--no-cache", "--config", 'format.quote-style="preserve"', "-"]
    command = [sys.executable, "-m", "ruff", "format", *settings]
    new = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    lines = new.split("\n")
    found = (each.body[0] for each in ast.parse(new).body if isinstance(each, ast.FunctionDef))
    pieces = (lines[each.lineno - 1 : each.end_lineno] for each in found)
    return ["\n".join(line[4:] for line in piece) for piece in pieces]


@pytest.mark.parametrize("number", range(len(STATEMENTS)))
def test_lines_are_those_of_the_formatter(number: int, by_ruff: list[str]) -> None:
    assert statement_in_lines(STATEMENTS[number], 4, 84) == by_ruff[number]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_one_line_and_back(statement: str) -> None:
    lines = statement_in_lines(statement, 4, 84)
    bare = without_brackets(lines, keeps_commas=False)
    assert ast.dump(ast.parse(f"async def f():\n {joined(bare, keeps_commas=False)}")) == (
        ast.dump(ast.parse(f"async def f():\n {statement}"))
    )
    assert statement_in_lines(joined(bare, keeps_commas=True), 4, 84) == lines


def test_an_expression_has_what_stands_beside_it() -> None:
    text = f"{LONG}({LONG}, {LONG})"
    broken = f"{LONG}(\n  {LONG}, {LONG}\n)"
    for before, after in ((0, 1), (1, 0)):
        width = len(text) + 1
        assert expression_in_lines(text, 2, width, before, after) == text
        assert expression_in_lines(text, 2, width - 1, before, after) == broken


@pytest.mark.parametrize("text", ["x = f(\n    a,  # one\n)", 'x = f("""\n""")', "x = 1)"])
def test_what_is_not_to_be_moved(text: str) -> None:
    with pytest.raises((Unclear, tokenize.TokenError)):
        joined(text, keeps_commas=False)
