"""What a program does with optimizers and their classes, told by what it asks them for."""

from __future__ import annotations

import re

import pytest

from flaxoptim_compat.migrate.editing.marks import marks_in
from tests.support.rewriting_texts import findings_of, in_one_line_each, rewrite, why_dual


def test_an_optimizer_that_is_matched_by_its_fields_stays_one() -> None:
    matched = "match optimizer:\n    case optim.Optimizer(target=found):\n        print(found)\n"
    program = f"from flax import optim\n\noptimizer = optim.Adam(0.1).create({{}})\n{matched}"
    rewritten = rewrite(program, "optax")
    assert rewritten.startswith("from flaxoptim_compat import optim\n")
    assert rewritten.endswith(
        f"# FOC219: The class is matched by its fields, or has a subclass.\n{matched}"
    )


OPTIMIZER = "from flax import optim\n\noptimizer = optim.Adam(0.1).create({})\n"


@pytest.mark.parametrize(
    ("given", "name"), [("**changes", "**"), ("target=x, optimizer_def=y", "optimizer_def")]
)
def test_what_a_train_state_has_not_is_not_replaced(given: str, name: str) -> None:
    step = f"optimizer = optimizer.replace({given})\n"
    (why,) = why_dual(OPTIMIZER + step)
    assert why.reason == f"A TrainState has no `{name}` to replace."
    rewritten = rewrite(OPTIMIZER + step, "optax")
    assert rewritten.endswith(
        f"optimizer = dual(optim.Adam(0.1), inject=False).create({{}})\n{step}"
    )


def test_an_annotation_of_several_optimizers_does_not_join_them() -> None:
    program = (
        "from typing import Tuple\n\nfrom flax import optim\n\n\n"
        "def both(p) -> Tuple[optim.Optimizer, optim.Optimizer]:\n"
        "    return optim.Adam(0.1).create(p), optim.Adam(0.2).create(1.0)\n"
    )
    text = rewrite(program, "optax")
    assert "Tuple[train_state.TrainState, train_state.TrainState]:" in text
    assert "tx=optax.adam(0.1)" in text
    assert "optim.Adam(0.2).create(1.0).to_train_state(inject=False)" in text


def test_what_asks_whether_it_is_one_of_several_joins_them() -> None:
    program = (
        "from flax import optim\n\n\n"
        "def either(p, first):\n"
        "    a, b = optim.Adam(0.1).create(p), optim.Adam(0.2).create(p)\n"
        "    o = a if first else b\n"
        "    return isinstance(o, optim.Optimizer), {}\n"
    )
    assert rewrite(program.format("first"), "optax").count("TrainState.create(") == 2
    text = rewrite(program.format("b.something"), "optax")
    assert "TrainState" not in text and text.count("dual(") == 2


def test_a_mark_names_no_lines_which_may_move() -> None:
    program = (
        "from flax import optim\n\n\n"
        "def target_of(one):\n    return one.target\n\n\n"
        "def f(p):\n    o = optim.Adam(0.1).create(p)\n"
        "    return type(o), target_of(o), target_of(elsewhere())\n"
    )
    once = rewrite(program, "optax")
    mark, _ = marks_in(once)
    assert "`elsewhere()`, program.py, is" in mark.text
    assert rewrite(f"\n\n{once}", "optax") == f"\n\n{once}"


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ("Frozen()", ": an object of `Frozen`, program.py"),
        ("run", ": `run`, program.py"),
        ("numpy.empty", ": `numpy.empty`"),
        ("serialization.msgpack_restore(p)", ": the nested dicts of a checkpoint"),
        ("serialization.to_state_dict(optim.Adam(0.1).create(p))", ""),
    ],
)
def test_what_else_something_may_be_is_named(other: str, named: str) -> None:
    program = (
        "import functools\n\nimport elsewhere\nimport numpy\n"
        "from flax import optim, serialization\n\n\n"
        "class Frozen:\n    target = 0\n\n\n"
        "def target_of(one):\n    return one.target\n\n\n"
        f"def run(p):\n    return target_of(optim.Adam(0.1).create(p)), target_of({other})\n"
    )
    (why,) = why_dual(program)
    what = "A value is an optimizer in some calls, and something else in others"
    assert why.code == "FOC219" and re.sub(r":\d+", "", why.reason) == f"{what}{named}."


def test_the_last_star_decides() -> None:
    program = "from flax.optim import *\nfrom optax import *\n\nAdam(0.1).create(params)\n"
    assert rewrite(program, "optax").endswith("\nAdam(0.1).create(params)\n")


@pytest.mark.parametrize("maker", ["args.opt(0.1)", "load('flax.optim').Adam(0.1)", "made"])
@pytest.mark.parametrize("params", ["{}", "target={}", "focus=made, target={}"])
def test_an_optimizer_that_may_be_made_unseen_holds_those_of_which_nothing_is_known(
    maker: str, params: str
) -> None:
    program = (
        f"{OPTIMIZER}optimizer = optimizer.apply_gradient({{}})\n\n\n"
        "def other(args, load, made, g):\n"
        f"    found = {maker}.create({params})\n"
        "    found = found.apply_gradient(g)\n"
        "    return found.target\n"
    )
    rewritten = rewrite(program, "optax")
    (why,) = (each for each in why_dual(program) if each.code == "FOC202")
    assert why.reason.startswith("The result of this `create` is not ")
    assert (
        "TrainState" not in rewritten
        and "dual(optim.Adam(0.1), inject=False).create({})" in rewritten
    )
    assert rewrite(rewritten, "optax") == rewritten
    # Without such steps it may be anything.
    anything = program.replace("    found = found.apply_gradient(g)\n", "")
    assert "TrainState.create(" in rewrite(anything, "optax")


_TREES = "import jax\nfrom jax.tree_util import tree_flatten, tree_leaves, tree_structure\n\n\n"


def test_leaves_that_only_go_back_where_they_came_from_may_be_any() -> None:
    together = "optimizer = jax.tree_util.tree_unflatten(treedef, [x * 1 for x in leaves])\n"
    taken = f"{_TREES}{OPTIMIZER}leaves, treedef = tree_flatten(optimizer)\n{together}"
    rewritten = rewrite(taken, "optax")
    assert "TrainState.create(" in rewritten
    assert not [*marks_in(rewritten)]


def test_all_leaves_are_others_in_a_train_state() -> None:
    rewritten = rewrite(f"{_TREES}{OPTIMIZER}print(len(tree_leaves(optimizer)))\n", "optax")
    assert "a TrainState has others, in another order" in " ".join(
        rewritten.replace("#", "").split()
    )


def test_the_entries_of_a_pair_are_told_apart_by_its_annotation() -> None:
    program = (
        "from typing import Any, Dict, Tuple\n\nimport jax\nfrom flax import optim\n\n"
        "Metrics = Dict[str, Any]\n\n\n"
        "def step(o: optim.Optimizer, loss_fn) -> Tuple[optim.Optimizer, Metrics]:\n"
        "    (_, metrics), g = jax.value_and_grad(loss_fn, has_aux=True)(o.target)\n"
        "    return o.apply_gradient(g), metrics\n\n\n"
        "def run(loss_fn) -> Tuple[optim.Optimizer, ...]:\n"
        "    o, metrics = step(optim.Adam(0.1).create({}), loss_fn)\n"
        "    print(metrics.items())\n"
        "    return o, o\n\n\n"
        "print(run(len)[1].target)\n"
    )
    rewritten = rewrite(program, "optax")
    assert not [*marks_in(rewritten)]
    assert rewritten.endswith("print(run(len)[1].params)\n")


def test_a_part_of_a_class_of_the_program_is_why_all_of_them_stay() -> None:
    program = (
        "from flax import optim\n\n\nclass Sign(optim.GradientDescent):\n    pass\n\n\n"
        "every = optim.ModelParamTraversal(lambda path, _: True)\n"
        "print(optim.MultiOptimizer((every, Sign(0.1))).create({}).target)\n"
    )
    (file,) = findings_of(program)
    (several,) = (each for each in file.findings if each.code == "FOC208")
    assert several.cause.startswith("The class of a part is not one of flax.optim")


def test_of_classes_that_a_program_chooses_from_all_are_named() -> None:
    program = (
        "import sys\nfrom flax import optim\n\n"
        "classes = {'adam': optim.Adam, 'momentum': optim.Momentum}\n"
        "print(classes[sys.argv[1]](0.1).create({}).target)\n"
    )
    (file,) = findings_of(program)
    (made,) = (each for each in file.findings if each.code == "FOC201")
    assert "flax.optim.Adam or flax.optim.Momentum" in made.what
    assert made.cause.startswith("The program chooses the class when it runs, Adam or Momentum:")


OWN_STATE = """\
from flax import struct
from flaxoptim_compat import transforms


class State(struct.PyTreeNode):
    tx: object

    def apply_gradient(self, grads):
        return self


def step({name}, grads):
    return {name}.apply_gradient(grads), transforms
"""


@pytest.mark.parametrize(("name", "is_hint"), [("state", False), ("optimizer", True)])
def test_what_a_class_of_the_program_has_tells_no_optimizer(name: str, is_hint: bool) -> None:
    text = OWN_STATE.replace("{name}", name)
    assert ("FOC205: Nothing in these" in rewrite(text, "optax")) == is_hint
    (file,) = findings_of(text)
    assert not file.unknown


@pytest.mark.parametrize("asked", ["m.o.target", "getattr(m.o, 'target')"])
def test_what_is_asked_of_something_unknown_holds_what_may_be_it(asked: str) -> None:
    program = (
        "from flax import optim\n\n\n"
        "class Learner:\n    def __init__(self, p):\n"
        "        self.o = optim.Adam(0.1).create(p)\n\n\n"
        "class Monitored:\n    def __init__(self, inner):\n        self._inner = inner\n\n"
        "    def __getattr__(self, name):\n        name = name.strip('_')\n"
        "        return getattr(self._inner, name)\n\n\n"
        f"def run(p):\n    m = Monitored(Learner(p))\n    return {asked}\n"
    )
    text = rewrite(program, "optax")
    assert [each.code for each in why_dual(program)] == ["FOC218"]
    assert "TrainState" not in text and "dual(optim.Adam(0.1), inject=False).create(p)" in text


def test_a_create_that_stays_keeps_all_that_it_makes() -> None:
    program = (
        "from flax import optim\n\n\n"
        "def create(made, p):\n    return made.create(p)\n\n\n"
        "def one(p):\n    optimizer = optim.Adam(0.1)\n    optimizer = create(optimizer, p)\n"
        "    return create(optimizer, p)\n\n\n"
        "def other(p):\n    return create(optim.Momentum(0.1), p).target\n"
    )
    text = rewrite(program, "optax")
    assert [each.code for each in why_dual(program)] == ["FOC219"]
    assert "return create(dual(optim.Momentum(0.1), inject=False), p).params\n" in text


APPLY = (
    "from flax import optim\n\n\n"
    "def apply(optimizer, *args, **kwargs):\n"
    "    return optimizer.apply_gradient(*args, **kwargs)\n\n\n"
)


def test_a_step_that_may_be_given_a_rate_may_have_needed_it() -> None:
    """So it may be for definitions of which no rate is seen, and of which it may be None."""
    for made in ("getattr(optim, name)(**settings)", "optim.Adam(rate, beta1=0.8)"):
        program = (
            f"{APPLY}def run(p, g, name, settings, rate=None):\n"
            f"    return apply({made}.create(p), g, learning_rate=0.1)\n"
        )
        text = in_one_line_each(rewrite(program, "optax"))
        assert text.count(".to_train_state(inject=False, learning_rate=0.0)") == 2, text


def test_what_goes_one_way_with_a_rate_and_without_stays() -> None:
    program = (
        f"{APPLY}def one(p, g):\n"
        "    return apply(optim.Adam().create(p), g, learning_rate=0.1)\n\n\n"
        "def other(p, g):\n    return apply(optim.Adam(0.2).create(p), g)\n"
    )
    text = rewrite(program, "optax")
    (mark,) = marks_in(text)
    assert " ".join(mark.text.split()).endswith(
        "`optim.Adam()`, program.py, has no learning rate or may be given None,"
        " and `optim.Adam(0.2)`, program.py, has one: give each one."
    )
    assert "train_state" not in text
    # With the line changed that it names.
    mended = rewrite(program.replace("optim.Adam()", "optim.Adam(0.1)"), "optax")
    assert "# FOC" not in mended and "to_train_state(inject=False)" in mended


def test_a_step_of_several_definitions_does_not_show_that_each_has_a_rate() -> None:
    held = "class Held:\n    def __init__(self, it):\n        self.it = it\n\n\n"
    program = (
        f"from flax import optim\n\n\n{held}def one(p, g, name, settings):\n"
        "    optimizer = Held(getattr(optim, name)(**settings).create(p)).it\n"
        "    return Held(optimizer.apply_gradient(g, learning_rate=0.1)).it\n\n\n"
        "def other(p, g):\n"
        "    return Held(Held(optim.Adam(0.2).create(p)).it.apply_gradient(g)).it\n"
    )
    text = rewrite(program, "optax")
    marks = [mark.text for mark in marks_in(text) if mark.code != "FOC103"]
    assert len(marks) == 1 and "has one: give each one." in " ".join(marks[0].split())
    assert "train_state" not in text


def test_a_definition_that_is_asked_for_create_by_name_is_dual() -> None:
    program = (
        "from flax import optim\n\n\ndef f(p, g):\n"
        "    o = getattr(optim.Adam(0.1), 'create')(p)\n    return o.apply_gradient(g)\n"
    )
    left = rewrite(program, "optax")
    (why,) = why_dual(program)
    assert why.reason.startswith("The definition is asked for `create` by this name")
    assert left.endswith(
        "    o = getattr(dual(optim.Adam(0.1), inject=False), 'create')(p)\n"
        "    return o.apply_gradients(grads=g)\n"
    )


def test_what_a_create_out_of_sight_makes_may_have_what_no_optimizer_has() -> None:
    asked = "def show(model, g):\n    return model.optimizer_def.create(g).unknown\n"
    text = rewrite(f"{OPTIMIZER}\n\n{asked}", "optax")
    assert in_one_line_each(text).endswith(".to_train_state(inject=False).unknown")
    assert "# FOC" not in text


CREATE = "from flax import optim\n\nfirst = optim.Adam(0.1).create({})\n\n\n"


@pytest.mark.parametrize("owner", ["optimizer", "state.optimizer"])
def test_a_step_of_something_unknown(owner: str) -> None:
    argument = owner.partition(".")[0]
    step = f"def step({argument}, grads):\n    return {owner}.apply_gradient(grads)\n"
    assert f"return {owner}.apply_gradients(grads=grads)\n" in rewrite(CREATE + step, "optax")


def test_steps_are_dual_where_it_is_not_seen_what_is_created() -> None:
    program = (
        "import settings\nfrom flax import optim\n\nsettings.made = optim.Adam(0.1)\n\n\n"
        "def train(params, grads):\n    optimizer = settings.made.create(params)\n"
        "    return optimizer.apply_gradient(grads).target\n"
    )
    rewritten = rewrite(program, "optax")
    assert "settings.made = dual(optim.Adam(0.1), inject=False)\n" in rewritten
    assert "    return optimizer.apply_gradient(grads).target\n" in rewritten
    assert "Nothing in these files makes this optimizer" in why_dual(program)[0].reason
