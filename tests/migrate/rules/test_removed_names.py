"""Names and behaviours that jax, flax and numpy dropped: what stays, and what becomes of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.program.document import Document
from flaxoptim_compat.migrate.run.analysis import Task, analyse
from flaxoptim_compat.migrate.run.rewriting import rewritten
from tests.migrate.rules import removed_behaviour_texts, removed_name_texts
from tests.migrate.rules.removed_behaviour_texts import LEFT
from tests.support.rewriting_texts import findings_alone, rewrite, rewrite_alone

LEFT_ALONE = removed_name_texts.LEFT_ALONE | removed_behaviour_texts.LEFT_ALONE
FIXES = removed_name_texts.FIXES | removed_behaviour_texts.FIXES


@pytest.mark.parametrize("text", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_it_is_left_alone(text: str) -> None:
    assert findings_alone(text) == []
    assert rewrite_alone(text, "shim") == rewrite_alone(text, "optax") == text


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_it_is_rewritten(before: str, after: str) -> None:
    assert rewrite_alone(before) == after
    assert rewrite_alone(before, "optax") == after


@pytest.mark.parametrize(("text", "code", "reason"), LEFT.values(), ids=LEFT)
def test_it_says_why_it_leaves_it(text: str, code: str, reason: str) -> None:
    (found,) = [each for each in findings_alone(text) if each.shim is None]
    assert found.code == code and reason in found.reason
    marks = marks_in(rewrite_alone(text, "optax"))
    assert f"{code}: {found.reason}" in [mark.text for mark in marks]


def test_a_program_of_flax_nn_is_told_that_its_modules_stay_and_its_optimizers_can_move() -> None:
    (found,) = findings_alone("from flax import nn\nnn.relu, nn.Module\n")
    assert found.code == "FOC154" and found.instead == (
        "flaxoptim_compat.nn: the modules stay as they are, and the optimizers can move;"
        " later flax.linen"
    )
    (found,) = findings_alone("from flax.nn import Module\nModule\n")
    assert found.code == "FOC158" and found.instead.startswith(
        "flaxoptim_compat.nn.Module; later subclass flax.linen.Module"
    )


def test_what_is_ignored_stays() -> None:
    text = (
        "import jax\n"
        "from jax import tree_map\n"
        "jax.tree_leaves\n"
        "x = jax.ops.index_add(x, jax.ops.index[0], 1)\n"
    )
    codes = {2: frozenset({"FOC151"}), 3: frozenset({""}), 4: frozenset({"FOC152"})}
    assert rewrite_alone(text, ignored=codes) == (
        "import jax\n"
        "import numpy as np\n"
        "from jax import tree_map\n"
        "jax.tree_leaves\n"
        # The index is a name of its own, which is rewritten where the update around it is not.
        "x = jax.ops.index_add(x, np.s_[0], 1)\n"
    )


def test_a_file_that_freezes_what_goes_into_the_optimizer_of_another_one() -> None:
    texts = {
        "making": "from flax import optim\ndef make(p):\n    return optim.Adam(1e-3).create(p)\n",
        "loading": (
            "import flax\n"
            "from making import make\n"
            "optimizer = make({})\n"
            "optimizer = optimizer.replace(target=flax.core.freeze(optimizer.target))\n"
        ),
        "beside": "import flax\nimport loading\nprint(flax.core.freeze({}))\n",
    }
    documents = [
        Document(Path(f"{name}.py"), text, ast.parse(text), name) for name, text in texts.items()
    ]
    for target in ("shim", "optax"):
        files = analyse(documents, {}, Task(target))
        counts = [[each.code for each in file.findings].count("FOC165") for file in files]
        assert counts == [0, 1, 0]
        setting = '\nflax.config.update("flax_return_frozendict", True)\n'
        assert setting in rewritten(files[1], target).text


@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize(
    "statement",
    [
        "from flax.metrics import tensorboard",
        "from flax.metrics.tensorboard import SummaryWriter as Writer",
        "import flax.metrics.tensorboard",
        "import flax.metrics.tensorboard as tb",
    ],
)
def test_a_module_that_is_there_is_imported_as_it_was(statement: str, target: str) -> None:
    text = f"{statement}\nimport jax\njax.tree_map(f, x)\n"
    lines = rewrite_alone(text, target).splitlines()
    assert [line for line in lines if "tensorboard" in line and line[0] != "#"] == [statement]
    assert lines[0].startswith("# FOC160: ") and lines[-1] == "jax.tree.map(f, x)"


RIGHT = {
    "an import": """\
try:
    from jax import linear_util as lu
except ImportError:
    from jax.extend import linear_util as lu
lu.wrap_init(f)
""",
    "an import of what was before": """\
try:
    from jax.tree_util import tree_map
except ImportError:
    from jax import tree_map
tree_map(f, tree)
""",
    "a function": """\
def mapped(f, tree):
    try:
        return jax.tree_map(f, tree)
    except AttributeError:
        return jax.tree.map(f, tree)
""",
    "a question": """\
if hasattr(jax, "tree_map"):
    tree_map = jax.tree_map
else:
    tree_map = jax.tree.map
""",
    "its opposite": """\
if not hasattr(jax, "tree_map"):
    tree_map = jax.tree.map
else:
    tree_map = jax.tree_map
""",
    "an expression": """\
tree_map = jax.tree_map if hasattr(jax, "tree_map") else jax.tree.map
""",
}
WRONG = {
    "both are gone": """\
try:
    tree_map = jax.tree_multimap
except AttributeError:
    tree_map = jax.tree_map
""",
    "nothing instead": """\
try:
    jax.tree_map(f, x)
except AttributeError:
    pass
""",
    "without another library": """\
try:
    import tree
except ImportError:
    import numpy
    jax.tree_map(f, x)
""",
    "another error": """\
try:
    x = jax.tree_map(f, x)
except KeyError:
    x = None
""",
    "the error again": """\
try:
    x = jax.tree_map(f, x)
except AttributeError:
    raise SystemExit
""",
    "much more than a question": """\
try:
    for each in x:
        jax.tree_map(f, each)
except AttributeError:
    print("none")
""",
    "another question": """\
if hasattr(jax, "Array"):
    x = jax.tree_map(f, x)
""",
}


@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("target", ["shim", "optax"])
def test_it_stays(name: str, target: str) -> None:
    program = f"import jax\n\n{RIGHT[name]}"
    assert rewrite(program, target) == program


@pytest.mark.parametrize("name", WRONG)
def test_without_a_branch_for_today_it_is_rewritten(name: str) -> None:
    new = rewrite(f"import jax\n\n{WRONG[name]}", "shim")
    assert "jax.tree.map" in new and "tree_map(" not in new and "multimap" not in new
