"""What a lost name becomes: every entry has a successor, or is reported with advice."""

from __future__ import annotations

import json
from typing import Any

import flax
import jax
import numpy as np
import pytest
from flax import linen

from flaxoptim_compat import nn
from flaxoptim_compat.legacy import lost
from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.names.gone_for_good import GONE
from flaxoptim_compat.legacy.names.public import public
from flaxoptim_compat.migrate.rules.table_of_removed_names import code_of
from flaxoptim_compat.migrate.successors.rearranged_calls import REARRANGED
from flaxoptim_compat.migrate.successors.successor import (
    BACK,
    NN,
    OBJECTS_TODAY,
    ONLY_SERVED,
    PUBLIC,
    successor,
)
from tests.legacy.cases import numpy_names as numpy_name_cases
from tests.legacy.cases.old_names import RUN_NAMES, exists
from tests.migrate.successors.old_code import run
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import OLD_ENVIRONMENT
from tests.support.rewriting_texts import INSTALLED, findings_alone, rewrite_alone

ENTRIES = [entry for entry in lost.ENTRIES if entry.name not in BACK]


def test_every_name_of_the_tables_has_a_successor() -> None:
    for entry in ENTRIES:
        name = f"{entry.name}.config" if entry.name in OBJECTS_TODAY else entry.name
        found = successor(name)
        assert found is not None and found.old == name
        assert bool(found.today) != (name in ONLY_SERVED), name
        # In one of three ways: by another name, by another call, by a stand-in.
        ways = {
            "FOC151": not found.is_stand_in,
            "FOC152": name in REARRANGED,
            "FOC153": found.is_stand_in,
            "FOC154": True,
            "FOC155": not found.is_stand_in,
            "FOC156": name in REARRANGED,
            "FOC157": found.is_stand_in,
            "FOC158": found.is_stand_in,
            "FOC159": name in ONLY_SERVED,
            "FOC168": not found.is_stand_in,
        }
        assert ways[code_of(found)], name


SERVED_EVERYWHERE = [each for each in lost.ENTRIES if each.name not in ONLY_SERVED | BACK]


def objects_of_today(entry: LegacyName) -> list[Any]:
    """What a name may have become: what serves it, and of functions of trees the usual two."""
    tree_function = entry.attribute.removeprefix("tree_").replace("multimap", "map")
    if entry.attribute.startswith("tree_"):
        return [getattr(jax.tree, tree_function), getattr(jax.tree_util, f"tree_{tree_function}")]
    known = {"flax.config": flax.config, "jax.config": jax.config, "jax.ops.index": np.s_}
    if entry.name in known:
        return [known[entry.name]]
    if entry.name.startswith(NN) and entry.attribute in ("activation", "initializers", "pooling"):
        return [getattr(linen, entry.attribute)]  # of which flax.nn had the same functions
    if entry.name.startswith(NN) and entry.attribute == "stochastic":
        return [nn.stochastic]  # the function, which hides the module
    # Of a lost module, the public one with the same names.
    public_entry = entry._replace(served_by=public(entry.served_by))
    return [public_entry.serve() if entry.is_module else entry.serve()]


def test_every_name_stands_for_what_served_it() -> None:
    for entry in SERVED_EVERYWHERE:
        assert_it_stands_for_what_served_it(entry)


def assert_it_stands_for_what_served_it(entry: LegacyName) -> None:
    module = entry.name if entry.is_module else entry.module
    texts = [
        f"import {module}\nresult = {entry.name}\n",
        f"import {entry.module} as m\nresult = m.{entry.attribute}\n",
        f"from {entry.module} import {entry.attribute} as result\n",
    ]
    name = f"{entry.name}.config" if entry.name in OBJECTS_TODAY else entry.name
    lost_name = successor(name)
    assert lost_name is not None
    forms = (lost_name.today, lost_name.imported)
    is_lacking = any(map(INSTALLED.lacking, forms))
    # Where only the module is gone, these are about the object.
    for text in texts[:1] if entry.name in OBJECTS_TODAY else texts:
        new = rewrite_alone(text, releases=INSTALLED)
        assert new != text
        if f": {lost_name.what}: " in new:
            assert is_lacking, new
            continue
        result = run(new)
        # These versions have it still if they lack what takes its place.
        expected = [run(text)] if is_lacking else objects_of_today(entry)
        found = [result is each or repr(result) == repr(each) for each in expected]
        assert any(found), new


IN_MODULES = {each.name: each for each in SERVED_EVERYWHERE if each.is_module}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - {each.name for each in SERVED_EVERYWHERE}))
def test_so_do_names_of_modules_that_are_elsewhere_today(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    expected = getattr(IN_MODULES[module].serve(), attribute)
    text = f"import {module}\nresult = {name}\n"
    found = run(rewrite_alone(text, releases=INSTALLED))
    if attribute in ("avg_pool", "max_pool"):
        # Those of flax.nn are written anew here, and do what Linen's do.
        inputs = jax.random.normal(jax.random.key(0), (2, 5, 6, 3))
        settings = {"window_shape": (2, 3), "strides": (2, 1), "padding": ((1, 0), (0, 2))}
        np.testing.assert_array_equal(found(inputs, **settings), expected(inputs, **settings))
    else:
        assert found is expected


def test_the_tables_of_this_package_are_about_names_that_are_gone() -> None:
    names = {entry.name for entry in lost.ENTRIES}
    modules = {entry.name for entry in lost.ENTRIES if entry.is_module}
    assert set(REARRANGED) <= names
    assert all(name in names or name.rpartition(".")[0] in modules for name in PUBLIC)
    assert not set(GONE) & names


# What a module had by the name that is an object's today: only `run` serves these.
OF_AN_OBJECT = {"flax.config.bool_env", "flax.config.flax_lazy_rng"}
# {what is asked: the script that says which names there were, and what it is given}
OF_THEN = {
    "jax and flax": (OLD_ENVIRONMENT / "all_names.py",),
    "numpy": (RUN_NAMES, numpy_name_cases.__name__),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("packages", OF_THEN)
def test_every_name_of_then_runs_or_is_reported(packages: str, old_environment: Any) -> None:
    found = json.loads(run_in_old_environment(*OF_THEN[packages]).stdout)
    had = found.get("names", found)
    names = [f"{module}.{name}" for module, inside in had.items() for name in inside]
    gone = {name for name in names if not exists(name)} - OF_AN_OBJECT
    assert len(gone) > 60
    for name in sorted(gone):
        module, _, attribute = name.rpartition(".")
        whole, imported = f"import {module}\nresult = {name}\n", f"from {module} import {attribute}"
        for text in (whole, f"{imported} as result\n"):
            if any(each.shim is None for each in findings_alone(text)):
                # By itself, or with its module.
                assert {name, module} & (GONE.keys() | ONLY_SERVED), name
            else:
                run(rewrite_alone(text))
