"""The same program written otherwise becomes the same, or at least does the same."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.migrate.program_results import errors, results
from tests.migrate.test_wild_programs import ALL, FUSED_OTHERWISE
from tests.support.options import each
from tests.support.places import DATA
from tests.support.rewriting_folders import PROGRAMS, copied, rewrite, texts, without_imports


def with_comments(text: str) -> str:
    """With a comment behind each line that has none, and that one may stand behind."""
    lines = text.split("\n")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0] - 1
        ends = token.type in (tokenize.NEWLINE, tokenize.NL) and token.line.strip()
        if ends and "#" not in lines[line]:
            lines[line] += f"  # {line + 1}!"
    return "\n".join(lines)


def comments_of(text: str) -> set[str]:
    """The comments that ``with_comments`` put there."""
    return set(re.findall(r"# \d+!", text))


def with_tabs(text: str) -> str:
    """Indented by tabs, but for what is within strings."""
    kept: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.STRING:
            kept |= {*range(token.start[0] + 1, token.end[0] + 1)}
    return "\n".join(
        line if number in kept else re.sub("^( {4})+", lambda by: "\t" * (len(by[0]) // 4), line)
        for number, line in enumerate(text.split("\n"), 1)
    )


class _Results(ast.NodeTransformer):
    """What a step or ``create`` returns, given to ``hand_on``, which returns it."""

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("apply_gradient", "create"):
            return ast.Call(ast.Name("hand_on", ast.Load()), [node], [])
        return node


def handed_on(text: str, hand_on: str) -> str:
    """A program whose steps and ``create`` give their results to a function."""
    if ".apply_gradient(" not in text and ".create(" not in text:
        return text
    tree = _Results().visit(ast.parse(text))
    program = ast.unparse(ast.fix_missing_locations(tree))
    # Its `from __future__` stays the first statement.
    future = "".join(re.findall(r"^from __future__ .*\n", program, re.MULTILINE))
    return f"{future}import jax\n{hand_on}\n{program.replace(future, '', bool(future))}"


# What changes nothing of what is done with the program.
BLANKS: dict[str, Callable[[str], str]] = {
    "unparsed": lambda text: ast.unparse(ast.parse(text)),
    "comments, tabs, and line ends of Windows but for the last": lambda text: (
        with_tabs(with_comments(text)).rstrip("\n").replace("\n", "\r\n")
    ),
}
# What does the same in another way, of which more may stay.
HAND_ON = {
    "a function": "def hand_on(of):\n    return of",
    "leaves": "def hand_on(of):\n    leaves, tree = jax.tree_util.tree_flatten(of)\n"
    "    return jax.tree_util.tree_unflatten(tree, leaves)",
}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All programs, rewritten as they are."""
    folder = tmp_path_factory.mktemp("usual")
    for name in PROGRAMS:
        rewrite(copied(DATA / name, folder / name), "optax")
    return texts(folder)


@pytest.mark.parametrize(
    "spelling", each(BLANKS, [spelling for spelling in BLANKS if spelling != "unparsed"])
)
def test_blanks_and_comments_change_nothing(
    spelling: str, usual: dict[str, str], tmp_path: Path
) -> None:
    before = {}
    for name in PROGRAMS:
        for path in copied(DATA / name, tmp_path / name).rglob("*.py"):
            text = BLANKS[spelling](path.read_text())
            before[str(path.relative_to(tmp_path))] = text
            path.write_bytes(text.encode())
        rewrite(tmp_path / name, "optax")
    for path, text in texts(tmp_path).items():
        assert without_imports(text) == without_imports(usual[path]), path
        assert comments_of(text) == comments_of(before[path]), path


@pytest.mark.exhaustive
@pytest.mark.parametrize("spelling", HAND_ON)
def test_what_is_done_otherwise_ends_on_the_same_numbers(spelling: str, tmp_path: Path) -> None:
    folder = copied(DATA / "wild_programs", tmp_path / "programs")
    for path in folder.rglob("*.py"):
        path.write_text(handed_on(path.read_text(), HAND_ON[spelling]))
    copied(folder, tmp_path / "before")
    for program in ALL:
        rewrite(folder / program, "optax")
    changed = [path for path, text in texts(folder).items() if "train_state" in text]
    assert len(changed) > 20
    # Some of them look at how they are written.
    before = results(tmp_path / "before", tmp_path / "before.npz", "--install")
    broken = {name.partition("/")[0] for name in before if name.endswith("/error")}
    assert len(broken) < 3, broken
    of_these = {name: each for name, each in before.items() if not name.endswith("/error")}
    found = results(folder, tmp_path / "after.npz")
    after = {name: each for name, each in found.items() if name.partition("/")[0] not in broken}
    different = errors(after, of_these)
    assert {name: ulps for name, ulps in different.items() if ulps > FUSED_OTHERWISE} == {}
