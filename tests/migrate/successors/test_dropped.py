"""Names that nothing serves are reported, and the tables are about names that are gone."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flaxoptim_compat.legacy import lost
from flaxoptim_compat.migrate.successors.finding_names import REARRANGED
from flaxoptim_compat.migrate.successors.successor import GONE, NOT_EVERYWHERE, PUBLIC
from tests.support import jax_name_cases, numpy_name_cases
from tests.support.old_code import run
from tests.support.old_names import RUN_NAMES, exists
from tests.support.oracle.environments import run_in_old_environment
from tests.support.rewriting_texts import findings_alone, rewrite_alone


def test_the_tables_of_this_package_are_about_names_that_are_gone() -> None:
    names = {entry.name for entry in lost.ENTRIES}
    modules = {entry.name for entry in lost.ENTRIES if entry.is_module}
    assert set(REARRANGED) <= names and names >= NOT_EVERYWHERE
    assert all(name in names or name.rpartition(".")[0] in modules for name in PUBLIC)
    assert not set(GONE) & names


@pytest.mark.exhaustive
@pytest.mark.parametrize("cases", [jax_name_cases, numpy_name_cases])
def test_every_name_of_then_runs_or_is_reported(cases: Any, old_environment: Any) -> None:
    had = json.loads(run_in_old_environment(RUN_NAMES, cases.__name__).stdout)["names"]
    names = [f"{module}.{name}" for module, inside in had.items() for name in inside]
    gone = [name for name in names if not exists(name)]
    assert len(gone) > 60
    for name in gone:
        module, _, attribute = name.rpartition(".")
        whole, imported = f"import {module}\nresult = {name}\n", f"from {module} import {attribute}"
        for text in (whole, f"{imported} as result\n"):
            if any(each.shim is None for each in findings_alone(text)):
                assert name in GONE | dict.fromkeys(NOT_EVERYWHERE)
            else:
                run(rewrite_alone(text))
