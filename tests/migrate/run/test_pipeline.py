"""``flaxoptim-compat rewrite --to optax`` of several files: they change together or not at all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from flaxoptim_compat.migrate.program.document import Document
from tests.support.rewriting_folders import Rewrite, read

MAKES = "from flax import optim\n\n\ndef make(params):\n    return optim.Adam(0.1).create(params)\n"
USES = "from {} import make\n\n\ndef train(p, g):\n    return make(p).apply_gradient(g).target\n"


def test_an_optimizer_that_a_file_left_alone_makes_stays(rewrite: Rewrite) -> None:
    files = {"mine": MAKES, "vendor__theirs": MAKES}
    files |= {"a": USES.format("mine"), "b": USES.format("vendor.theirs")}
    assert rewrite("--write", to="optax", **files).status == 1
    assert "apply_gradients(grads=g).params" in read("a.py")
    assert "apply_gradient(g).target" in read("b.py")
    assert read("vendor/theirs.py") == MAKES


def test_a_mistake_in_one_file_leaves_it_and_what_belongs_to_it(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flaxoptim_compat.migrate.run import examination

    genuine = examination.rewritten

    def mistaken(file: Any, target: str) -> Any:
        if file.document.path.name == "a.py":
            raise ValueError("line 1 of the result: invalid syntax")
        return genuine(file, target)

    monkeypatch.setattr(examination, "rewritten", mistaken)
    files = {"lib": MAKES, "a": USES.format("lib"), "other": MAKES + "p = make({}).target\n"}
    done = rewrite("--write", to="optax", **files)
    assert done.status == 2
    assert (
        "a.py: not read: flaxoptim-compat made a mistake in this file: ValueError: line 1"
        in done.output
    )
    assert read("a.py") == files["a"]
    # It still gets what answers as an optimizer.
    assert "dual(optim.Adam(0.1), inject=False).create(params)" in read("lib.py")
    assert "TrainState.create(" in read("other.py")


def test_a_mistake_about_the_whole_program(
    rewrite: Rewrite, monkeypatch: pytest.MonkeyPatch
) -> None:
    from flaxoptim_compat.migrate.run import pipeline

    genuine = pipeline.analyse

    def mistaken(documents: Sequence[Document], *more: Any, **kinds: Any) -> Any:
        if len(documents) > len(kinds["without_optimizers"]):
            raise AssertionError
        return genuine(documents, *more, **kinds)

    monkeypatch.setattr(pipeline, "analyse", mistaken)
    done = rewrite("--write", to="optax", a=MAKES, b="import jax\njax.tree_map(f, x)\n")
    assert done.status == 2
    # What can be said without is said, and what has nothing to do with it is done.
    assert (
        "a.py: left alone, with 2 findings (FOC101, FOC102): flaxoptim-compat made" in done.output
    )
    assert (
        "a.py: not read: flaxoptim-compat made a mistake in this file: AssertionError"
        in done.output
    )
    assert (read("a.py"), read("b.py")) == (MAKES, "import jax\njax.tree.map(f, x)\n")


def test_changes_of_numbers_are_listed(rewrite: Rewrite) -> None:
    source = MAKES.replace("Adam", "Adagrad") + "p = make({}).target\n"
    assert "changes numbers" not in rewrite("--check", to="optax", a=source).output
    done = rewrite("--check", "--accept-changes", to="optax", a=source)
    assert re.search(
        r"^a\.py:5:12: FOC20\d changes numbers: Adagrad: .*\d", done.output, re.MULTILINE
    )
