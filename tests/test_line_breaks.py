"""What is too long is broken at its brackets, and says what it said."""

from __future__ import annotations

import pytest

from flaxoptim_compat.line_breaks import comment_of, in_lines, is_closed, joined, same

TREE = "jax.tree_util.tree_map_with_path"
KEYS = 'jax.tree_util.keystr(keys, simple=True, separator="/")'
CHAIN = "optax.chain(optax.add_decayed_weights(1e-4), optax.sgd(learning_rate, momentum=0.8))"
KINDS = '"0" if kernels(path, value) else "1" if others(path, value) else "frozen"'
LONG = "a_name_of_some_length"

# Each is a statement of one line that is too long, or just short enough.
STATEMENTS = [
    f"tx = optax.inject_hyperparams(lambda learning_rate: {CHAIN})(learning_rate=0.0)",
    f"x = f(lambda path, value: {KINDS})",
    f"x = {TREE}(lambda keys, leaf: (lambda path, value: {KINDS})(path_of({KEYS}), leaf), params)",
    f"x = f(lambda params, of=lambda *both: {LONG} in both[0]: {TREE}(of, params, {LONG}, {LONG}))",
    f"x = f(a, key=lambda {LONG}: g({LONG}, {LONG}, another).h(1).i(2).{LONG}(3))",
    f"x = f(a, lambda {LONG}, {LONG}_2: not g({LONG}, {LONG}_2, {LONG}))",
    f"x = f(a, lambda {LONG}, {LONG}_2: {LONG}.{LONG} and {LONG}_2.{LONG})",
    f"x = f(lambda {LONG}: [{LONG} for each in {LONG}.{LONG} if each])",
    f"x = f(lambda {LONG}: {{'a': {LONG}, 'b': {LONG}, 'c': {LONG}}})",
    f"x = f(lambda {LONG}: lambda {LONG}_2, b: {LONG} + {LONG}_2 + b)",
    f"x = [{LONG}, lambda b, c: {LONG}, {LONG}, {LONG}.{LONG}]",
    f"x = f(names=('{LONG}', '{LONG}', '{LONG}'), others={LONG})",
    f"x = {{'{LONG}': {LONG}, '{LONG}_2': {LONG}.{LONG}}}",
    f"x = {LONG}.{LONG}({LONG}).{LONG}({LONG}, {LONG})",
    f"x = {LONG}({LONG}, {LONG}, {LONG}=0)",
    f"self.{LONG}, {LONG} = {LONG}.{LONG}.{LONG}(b)",
    f"{LONG}: {LONG}.{LONG}.{LONG} | None",
    f"x = {LONG}[:, {LONG} : {LONG} + 1, {LONG}:]",
    f"x += {LONG} * {LONG} - {LONG} * {LONG}",
]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_one_line_and_back(statement: str) -> None:
    lines = in_lines(statement, "    ", 84)
    assert "\n" in lines or len(statement) <= 84 or not set(statement) & set("([{")
    assert same(f"async def f():\n {lines}", f"async def f():\n {statement}")
    assert joined(lines) == statement
    assert in_lines(lines, "    ", 84) == lines or len(lines) > 84


LAID = {
    "what fits": ("f(a, b)", 7, "f(a, b)"),
    "arguments on one line": ("f(aaaaa, bbbbb)", 14, "f(\n  aaaaa, bbbbb\n)"),
    "an argument a line": ("f(aaaaa, bbbbb)", 11, "f(\n  aaaaa,\n  bbbbb,\n)"),
    "one argument": ("f(g(aaaaa, bbbbb))", 11, "f(\n  g(\n    aaaaa,\n    bbbbb,\n  )\n)"),
    "a tuple of one": ("(aaaaaaaaaaa,)", 8, "(\n  aaaaaaaaaaa,\n)"),
    "brackets in a string": ("f('(', aaaaa)", 12, "f(\n  '(', aaaaa\n)"),
    "an escaped quote": (r"f('\'(', aaa)", 12, "f(\n  '\\'(', aaa\n)"),
    "parameters of a lambda": ("f(lambda a, b: c, d)", 14, "f(\n  lambda a, b: c,\n  d,\n)"),
    "a loop": ("[aaa for a, b in bbb]", 14, "[\n  aaa\n  for a, b in bbb\n]"),
    "the last call": ("x = ff(a)(bbbbb, ccccc)", 15, "x = ff(a)(\n  bbbbb, ccccc\n)"),
    "not an index": ("x = f(aaaaa, bbbbb)[0]", 15, "x = f(\n  aaaaa, bbbbb\n)[0]"),
    "an index where nothing else does": (
        "x = f(a).at[bbbbb, ccccc].g(d)",
        18,
        "x = f(a).at[\n  bbbbb, ccccc\n].g(d)",
    ),
    "parameters": ("def f(aa, bb) -> T[aa, b]:", 20, "def f(\n  aa, bb\n) -> T[aa, b]:"),
    "no brackets": ("aaaaaaa = bbbbbbb", 10, "aaaaaaa = bbbbbbb"),
    "what is behind is too long, too": (
        "f(aaaaaaa).g(bbbbbbbb)",
        9,
        "f(\n  aaaaaaa\n).g(\n  bbbbbbbb\n)",
    ),
}


@pytest.mark.parametrize(("line", "width", "expected"), LAID.values(), ids=LAID)
def test_lines(line: str, width: int, expected: str) -> None:
    assert in_lines(line, "  ", width) == expected
    # Its comma is what makes it a tuple.
    assert joined(expected) == (None if line == "(aaaaaaaaaaa,)" else line)


def test_a_margin_takes_room() -> None:
    assert in_lines("f(a, b)", "  ", 11, " " * 4) == "f(a, b)"
    assert in_lines("f(a, b)", "  ", 9, " " * 4) == "f(\n      a,\n      b,\n    )"
    assert in_lines("f(a, b)", "\t", 10, "\t") == "f(\n\t\ta,\n\t\tb,\n\t)"


@pytest.mark.parametrize(
    "text", ["x = f(\n    a,  # one\n)", 'x = f("""\n""")', "f(\n", "a = 1\nb = 2"]
)
def test_what_is_not_to_be_joined(text: str) -> None:
    assert joined(text) is None


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ("a, \\\n  b", "a, b"),
        ("x = a.f(\n    1\n)\\\n  .g", "x = a.f(1).g"),
        ("(a\n .f(b)\n .g())", "(a .f(b).g())"),
        ("if f(\n    a,\n):", "if f(a):"),
        ("else:", "else:"),
    ],
)
def test_one_line(lines: str, line: str) -> None:
    assert joined(lines) == line


def test_brackets_and_comments_of_lines() -> None:
    assert is_closed("f(a, '(')  # (") and not is_closed("f(a,") and not is_closed("a)(b")
    assert comment_of("x = '#'  # one") == "  # one" and comment_of("x = '#'") == ""
