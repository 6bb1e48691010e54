"""Lines that edits make too long are broken, and all others stay as they are."""

from __future__ import annotations

import ast
import functools
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.edits import Edit, Span, apply_edits
from flaxoptim_compat.migrate.editing.layout import laid_out
from flaxoptim_compat.migrate.program.document import Document
from tests.support.places import DATA
from tests.support.rewriting_folders import PROGRAMS, copied, rewrite, texts

# What stands for what, before the lines are broken: in a program of 88 columns.
LONG = "jax_utils.replicate_on_all_devices"
LONGER = "train_state.TrainState.create(apply_fn=None, tx=optax.adam(0.1), params=params)"


EXAMPLES = {
    "the last brackets break first": (
        "x = old(a)",
        "old",
        f"{LONG}.{LONG}(parameters, gradients)",
        f"x = {LONG}.{LONG}(\n    parameters, gradients\n)(a)",
    ),
    "an element a line": (
        "x = State(0, a, model_state)",
        "a",
        LONGER,
        f"x = State(\n    0,\n    {LONGER},\n    model_state,\n)",
    ),
    "brackets within brackets": (
        "state = AgentState(a, parameters=params_of_the_agent)",
        "a",
        LONGER.replace("params=params", "params=params_of_the_agent"),
        """state = AgentState(
    train_state.TrainState.create(
        apply_fn=None, tx=optax.adam(0.1), params=params_of_the_agent
    ),
    parameters=params_of_the_agent,
)""",
    ),
    "parameters": (
        "def train_step(a: Optimizer, batch, learning_rate_fn, model, **rest) -> Tuple[A, B]:\n"
        "    pass",
        "Optimizer",
        "train_state.TrainState",
        "def train_step(\n    a: train_state.TrainState, batch, learning_rate_fn, model, **rest\n"
        ") -> Tuple[A, B]:\n    pass",
    ),
    "lines that would fit in one": (
        "x = f(\n    a, of_it\n)",
        "of_it",
        "b",
        "x = f(\n    a, b\n)",
    ),
    "such a comma within what is asked for an entry": (
        "x = {\n    'a': a_value,\n    'b': a_value_that_is_longer,\n}[name]",
        "a_value_that_is_longer",
        "b",
        "x = {\n    'a': a_value,\n    'b': b,\n}[name]",
    ),
    "what was too long before": (
        f"x = f(a, {LONG!r}, {LONG!r}, {LONG!r})",
        "a",
        "b",
        f"x = f(b, {LONG!r}, {LONG!r}, {LONG!r})",
    ),
    "lines that stand below a bracket": (
        "x = jax.tree_multimap(lambda a, b: a * f(b,\n"
        "                                         c),\n"
        "                      a, b)",
        "jax.tree_multimap",
        "jax.tree.map",
        "x = jax.tree.map(lambda a, b: a * f(b,\n"
        "                                    c),\n"
        "                 a, b)",
    ),
    "and those that do not": (
        "x = optax.f(functools.partial(\n    a, b), [c,\n    d], e,\n            g)",
        "optax",
        "optim.adam",
        "x = optim.adam.f(functools.partial(\n    a, b), [c,\n    d], e,\n                 g)",
    ),
    "a string of lines below a bracket": (
        'x = old(a, """\n             b""",\n        c)',
        "old",
        "other",
        'x = other(a, """\n             b""",\n        c)',
    ),
}


def changed(text: str, *edits: Edit) -> str:
    document = Document("program.py", text, ast.parse(text))
    return apply_edits(text, laid_out(document, edits))


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_an_edit_within_a_statement(example: tuple[str, str, str, str]) -> None:
    before, old, new, after = example
    (at,) = (each.start() for each in re.finditer(rf"\b{re.escape(old)}(?!\w)", before))
    result = changed(f"{before}\n", Edit(at, at + len(old), (new,)))
    ast.parse(result)
    assert result == f"{after}\n"
    assert changed(result) == result


def test_what_is_put_before_and_behind_a_statement_is_a_part_of_it() -> None:
    text = "x, y = f(a)\n"
    edits = [
        Edit(0, 0, ("import b\n",)),
        Edit(0, 0, ("(",)),
        Edit(4, 4, (")",)),
        Edit(11, 11, (f".{LONG}({LONG}, {LONG})",)),
        Edit(11, 11, ("\nz = 1",)),
    ]
    assert changed(text, *edits) == (
        "import b\n(x, y) = f(a).jax_utils.replicate_on_all_devices(\n"
        f"    {LONG}, {LONG}\n)\nz = 1\n"
    )


def test_brackets_that_others_close_are_left_as_they_are() -> None:
    text = "x = f(a)\ny = 1\n"
    # Not what any rule does, but no reason to fail.
    edits = [Edit(4, 4, ("(",)), Edit(13, 14, ("1)",))]
    assert changed(text, *edits) == "x = (f(a)\ny = 1)\n"


def test_lines_within_a_block_have_less_room() -> None:
    text = "def f():\n  return replicate(a)\n"
    at = text.index("a)")
    # By twos, and so with lines of 80 characters and twice as much within brackets.
    assert changed(text, Edit(at, at + 1, (LONGER,))) == (
        f"def f():\n  return replicate(\n      {LONGER[: LONGER.index('apply')]}\n"
        "          apply_fn=None, tx=optax.adam(0.1), params=params\n      )\n  )\n"
    )


def ruff(folder: Path, *arguments: str) -> str:
    """What the formatter says of a folder."""
    settings = ["--isolated", "--no-cache", "--config", 'format.quote-style="preserve"']
    command = [sys.executable, "-m", "ruff", "format", *settings, *arguments, "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True).stdout


Formatted = Callable[[str], tuple[Path, dict[str, str]]]


@pytest.fixture(scope="module")
def formatted(tmp_path_factory: pytest.TempPathFactory) -> Formatted:
    """All programs, formatted in lines of that length and rewritten, and their texts before."""
    if importlib.util.find_spec("ruff") is None:
        pytest.skip("ruff is not installed")

    @functools.cache
    def in_lines_of(width: str) -> tuple[Path, dict[str, str]]:
        folder = tmp_path_factory.mktemp(width)
        for name in PROGRAMS:
            copied(DATA / name, folder / name)
        ruff(folder, "--line-length", width)
        before = texts(folder)
        rewrite(folder, "optax")
        return folder, before

    return in_lines_of


@pytest.mark.parametrize("width", ["88", pytest.param("100", marks=pytest.mark.exhaustive)])
def test_what_was_formatted_is_formatted(width: str, formatted: Formatted) -> None:
    folder, before = formatted(width)
    changed = [path for path, text in texts(folder).items() if text != before[path]]
    found = ruff(folder, "--line-length", width, "--check").splitlines()
    others = [each for each in found if each.startswith("Would reformat: ")]
    assert len(changed) > 75
    # A line in place of which there are two, or an argument less with a comma behind it.
    assert len(others) < 0.05 * len(changed), others


def test_how_a_program_is_laid_out_does_not_change_what_it_becomes(formatted: Formatted) -> None:
    """In lines that are far too short, which nothing else in the program says."""
    short, usual = (texts(formatted(width)[0]) for width in ("50", "88"))
    assert sum(text != usual[path] for path, text in short.items()) > 75
    for path, text in short.items():
        assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(usual[path])), path


HAND_LAID = {
    "what an edit takes over, without its lines": (
        "x = make(definition, {'a': 1,\n                      'b': 2}).create",
        [("make(definition, {'a': 1,\n                      'b': 2})", "state(", ", rate)")],
        "x = state(make(definition, {'a': 1, 'b': 2}), rate).create",
    ),
    "but with them where there are comments": (
        "x = make({'a': 1,  # one\n          'b': 2}).create",
        [("make({'a': 1,  # one\n          'b': 2})", "state(", ", rate)")],
        "x = state(make({'a': 1,  # one\n          'b': 2}), rate).create",
    ),
    "one edit within another": (
        "x = f(a,\n      g(b))",
        [("g(b)", f"{LONG}(", f", {LONG}, {LONG})"), ("b", "(not ", ")")],
        f"x = f(\n    a,\n    {LONG}(\n"
        f"        g((not b)),\n        {LONG},\n        {LONG},\n    ),\n)",
    ),
    "on a line of its own": (
        "x = f(\n        a,\n        b,\n        c)",
        [("b", f"{LONG}(", f", {LONG}, {LONG})")],
        f"x = f(\n        a,\n        {LONG}(\n"
        f"            b, {LONG}, {LONG}\n        ),\n        c)",
    ),
    "within a string": (
        "x = f(a,\n      f'{b}')",
        [("b", f"{LONG}(", f", {LONG}, {LONG})")],
        f"x = f(\n    a,\n    f'{{{LONG}(b, {LONG}, {LONG})}}',\n)",
    ),
    "a comment beside it": (
        "x = f(a,  # one\n      b)",
        [("b", f"{LONG}(", f", {LONG}, {LONG})")],
        f"x = f(a,  # one\n      {LONG}(\n          b, {LONG}, {LONG}\n      ))",
    ),
}


@pytest.mark.parametrize("example", HAND_LAID.values(), ids=HAND_LAID)
def test_edits_of_what_someone_laid_out_by_hand(
    example: tuple[str, list[tuple[str, str, str]], str],
) -> None:
    before, wrapped, after = example
    edits = []
    for piece, start, end in wrapped:
        at = before.index(piece)
        edits.append(Edit(at, at + len(piece), (start, Span(at, at + len(piece)), end)))
    assert changed(f"{before}\n", *edits) == f"{after}\n"
