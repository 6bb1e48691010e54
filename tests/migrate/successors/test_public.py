"""What a name becomes is what served it, where that has a public name elsewhere too."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from flaxoptim_compat.legacy import lost
from flaxoptim_compat.legacy.entry import Entry
from flaxoptim_compat.legacy.names.public import public
from flaxoptim_compat.migrate.successors.successor import BACK, NOT_EVERYWHERE, PUBLIC
from tests.support.old_code import run
from tests.support.rewriting_texts import rewrite_alone

ENTRIES = [each for each in lost.ENTRIES if each.name not in NOT_EVERYWHERE | BACK]


def objects_of_today(entry: Entry) -> list[Any]:
    """What a name may have become: what serves it, and of functions of trees the usual two."""
    tree_function = entry.attribute.removeprefix("tree_").replace("multimap", "map")
    if entry.attribute.startswith("tree_"):
        return [getattr(jax.tree, tree_function), getattr(jax.tree_util, f"tree_{tree_function}")]
    known = {"jax.config": jax.config, "jax.ops.index": np.s_}
    if entry.name in known:
        return [known[entry.name]]
    # Of a lost module, the public one with the same names.
    public_entry = entry._replace(served_by=public(entry.served_by))
    return [public_entry.serve() if entry.is_module else entry.serve()]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_name_stands_for_what_served_it(entry: Entry) -> None:
    module = entry.name if entry.is_module else entry.module
    texts = [
        f"import {module}\nresult = {entry.name}\n",
        f"import {entry.module} as m\nresult = m.{entry.attribute}\n",
        f"from {entry.module} import {entry.attribute} as result\n",
    ]
    # Where only the module is gone, these are about the object.
    for text in texts[:1] if entry.name == "jax.config" else texts:
        new = rewrite_alone(text)
        assert new != text
        result = run(new)
        found = [result is each or repr(result) == repr(each) for each in objects_of_today(entry)]
        assert any(found), new


IN_MODULES = {each.name: each for each in ENTRIES if each.is_module}


@pytest.mark.parametrize("name", sorted(PUBLIC.keys() - {each.name for each in ENTRIES}))
def test_so_do_names_of_modules_that_are_elsewhere_today(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    expected = getattr(IN_MODULES[module].serve(), attribute)
    assert run(rewrite_alone(f"import {module}\nresult = {name}\n")) is expected
