"""All that the rewrite writes for the versions that are installed is there in them."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

import optax
import pytest

from flaxoptim_compat import transforms
from flaxoptim_compat.catalogue import OPTIMIZERS
from flaxoptim_compat.formula_text.recorded import parameters_of
from flaxoptim_compat.formula_text.stages import SHORTHANDS
from flaxoptim_compat.legacy.lost import ENTRIES
from flaxoptim_compat.migrate.program.releases import FORMS
from flaxoptim_compat.migrate.successors.rearranged_calls import REARRANGED
from flaxoptim_compat.migrate.successors.successor import (
    BACK,
    IMPORTED,
    OBJECTS_TODAY,
    PUBLIC,
    successor,
)
from tests.migrate.names.names_in_texts import names_of
from tests.migrate.rules import removed_behaviour_texts, removed_name_texts
from tests.migrate.rules.rule_pages import EXAMPLES
from tests.support.optax_texts import spelled
from tests.support.options import TELLING
from tests.support.places import DATA
from tests.support.rewriting_texts import INSTALLED, rewrite

PACKAGES = ("flax", "jax", "numpy", "optax")


def is_there(form: str) -> bool:
    """Whether ``module:attribute``, or an import of it by name, finds something today."""
    module, _, path = form.partition(":")
    try:
        found = importlib.import_module(module)
        for part in filter(None, path.split(".")):
            found = getattr(found, part)
    except (AttributeError, ImportError):
        return False
    return True


def successors() -> set[str]:
    """What takes the place of all names that are gone, as it is looked up and as it is imported."""
    found = {*PUBLIC.values(), *IMPORTED.values()}
    for name in [entry.name for entry in ENTRIES]:
        known = successor(name)
        assert known is not None or name in OBJECTS_TODAY | BACK, name
        found |= {known.today, known.imported} if known is not None and known.today else set()
    # The stand-ins have tests of their own.
    return {each for each in found if each and not each.startswith("flaxoptim_compat")}


def test_the_table_says_of_each_successor_whether_it_is_there() -> None:
    written = successors()
    assert len(written) > 150
    wrong = {each for each in written if is_there(each) != (INSTALLED.lacking(each) is None)}
    assert wrong == set()


def test_each_row_is_about_something_that_is_written() -> None:
    called = {each for each in FORMS if each.endswith(")")}
    assert FORMS.keys() - called <= successors()
    for each in FORMS.keys() - called:
        assert is_there(each) == (INSTALLED.lacking(each) is None), each
    for each in called:
        match = re.fullmatch(r"(.+)\((.+)\)", each)
        assert match is not None
        function = look_up(match[1].replace(":", "."))
        taken = {takes(function, keyword) for keyword in match[2].split(", ")}
        assert taken == {INSTALLED.lacking(each) is None}, each


def look_up(name: str) -> Any:
    """What stands for a full name once all modules are imported; raises if nothing does."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AttributeError(name)


def named(text: str) -> set[str]:
    """The names of the packages in a program, and the keywords that their functions are given."""
    names = names_of(text)
    found = {use.name for use in names.uses}
    for node in ast.walk(names.document.tree):
        full = names.full_name(node.func) if isinstance(node, ast.Call) else None
        if isinstance(node, ast.Call) and full is not None:
            found |= {f"{full}({each.arg})" for each in node.keywords if each.arg}
    return {each for each in found if each.partition(".")[0] in PACKAGES}


def is_known(each: str) -> bool:
    """Whether the installed versions know a name, or a keyword of a function."""
    name, _, keyword = each.removesuffix(")").partition("(")
    try:
        found = look_up(name)  # that one is going to go, its warning says
    except (AttributeError, DeprecationWarning):
        return False
    return not keyword or takes(found, keyword)


def takes(function: Any, keyword: str) -> bool:
    """Whether a function takes a keyword, as far as it says what it takes."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:  # as some of numpy's own
        return True
    takes_any = any(each.kind is each.VAR_KEYWORD for each in found)
    return takes_any or keyword in {each.name for each in found}


def programs(target: str) -> Iterator[tuple[str, str]]:
    """Programs whose rewrites have all that the rules write."""
    # Most are the same for either target.
    yield from {
        each.before: (each.code, each.before) for each in EXAMPLES if each.language == "py"
    }.values()
    for texts in (removed_name_texts.FIXES, removed_behaviour_texts.FIXES):
        for what, (before, _) in texts.items():
            yield what, before
    yield "calls", CALLS
    for folder in ("wild_programs", "legacy_programs", "linen_programs"):
        for path in sorted((DATA / folder).glob("*.py")):
            yield path.name, path.read_text()
    for case in TELLING if target == "optax" else ():
        for how in ("keywords", "names"):
            call = spelled(case, how)[0].removeprefix("tx = ").rstrip()
            for step in ("", ", learning_rate=rate(s)"):
                yield f"{case.name} {how} {step}", PROGRAM.format(call=call, step=step)


# Each call that is written anew, with all keywords that it may have.
CALLS = """\
import jax
import numpy as np
from jax import lax, numpy as jnp
np.NINF, np.NZERO, np.PZERO, jnp.NINF, jnp.NZERO, jnp.PZERO
jax.random.shuffle(key, a, axis=1), lax.tie_in(a, b)
jax.ops.index_update(a, i, b), jax.ops.index_add(a, i, b), jax.ops.index_mul(a, i, b)
jax.ops.index_min(a, i, b), jax.ops.index_max(a, i, b)
"""

PROGRAM = """\
from flax import optim
import jax.numpy as jnp


def train(params, grads, cfg, rate):
    optimizer = {call}.create(params)
    for s in range(3):
        optimizer = optimizer.apply_gradient(grads{step})
    return optimizer.target
"""


@pytest.mark.parametrize("target", ["shim", "optax"])
def test_what_is_written_for_the_installed_versions_is_there(target: str) -> None:
    written = set()
    for what, before in programs(target):
        after = rewrite(before, target, releases=INSTALLED)
        # What a place had that stays, it has still.
        new = named(after) - named(before)
        written |= new
        assert {each for each in new if not is_known(each)} == set(), (what, after)
    assert len(written) > (60 if target == "optax" else 30)


def test_the_calls_are_all_that_are_written_anew() -> None:
    assert {use.name for use in names_of(CALLS).uses} >= REARRANGED.keys()


def functions() -> set[str]:
    """All functions of which a definition is made in optax."""
    shorthands = {each.function for each in SHORTHANDS.values()}
    namesakes = {f"optax.{row.namesake}" for row in OPTIMIZERS if row.namesake}
    stages = {each for key in SHORTHANDS for each in key}
    return shorthands | namesakes | stages


@pytest.mark.parametrize("name", sorted(functions()))
def test_a_function_takes_what_is_recorded_of_it(name: str) -> None:
    module, _, function = name.partition(".")
    there = inspect.signature(getattr({"optax": optax, "transforms": transforms}[module], function))
    assert [*parameters_of(name)] == [*there.parameters]
