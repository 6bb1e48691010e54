"""The page about versions, and what is recorded of the package index for it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from packaging.requirements import Requirement

from flaxoptim_compat.versions.allowed import OLDEST, refuse_old, version_of
from tests.generate import index, versions
from tests.generate.package_index import wheels
from tests.support.oracle.cache import OracleUnavailable
from tests.support.pages import blocks
from tests.support.places import ROOT

PAGE = versions.PAGE.read_text()
RECORD = json.loads(index.RECORD.read_text())
FACTS: index.Facts = RECORD["facts"]


def test_the_page_has_what_is_recorded() -> None:
    assert versions.with_tables(PAGE, RECORD) == PAGE
    for table in (versions.table_of_jax, versions.table_of_python, versions.table_of_cuda):
        assert PAGE.count(table(FACTS)) == 1
    assert RECORD["read"] in PAGE


def test_what_the_tables_of_the_page_are_made_of() -> None:
    lines = {line for line in PAGE.splitlines() if line.startswith("|")}
    made = set(versions.with_tables(PAGE, _of_one_jax()).splitlines())
    assert "| 0.4.30 | 3.10 | 0.8.5 | 0.2.5 |" in made - lines
    assert "| 3.9 | 0.4.30 | no |" in made
    assert "| 3.10 | 0.4.30 | yes, with flax 0.8.5 and optax 0.2.5 |" in made - lines


def _of_one_jax() -> dict[str, Any]:
    """A newer flax wants another optax, a newer optax another jax, another flax another Python."""
    flax = {
        "0.8.5": {"python": ">=3.9", "needs": {"jax": ">=0.4.27", "optax": ""}},
        "0.9.0": {"python": ">=3.9", "needs": {"jax": ">=0.4.27", "optax": "==0.2.6"}},
        "0.10.0": {"python": ">=3.11", "needs": {"jax": ">=0.4.27", "optax": ""}},
    }
    optax = {
        "0.2.5": {"python": ">=3.10", "needs": {"jax": ">=0.4.27"}},
        "0.2.6": {"python": ">=3.10", "needs": {"jax": ">=0.5.3"}},
    }
    jax = {"0.4.30": {"python": ">=3.9", "needs": {"jaxlib": "<=0.4.30,>=0.4.27"}}}
    jaxlib = {"0.4.30": {"pythons": ["3.9", "3.10"]}, "0.4.31": {"pythons": ["3.12"]}}
    plugins = {name: FACTS[name] for name in ("jax-cuda12-plugin", "jax-cuda13-plugin")}
    facts = {"jax": jax, "jaxlib": jaxlib, "flax": flax, "optax": optax, **plugins}
    return {"read": "2000-01-01", "facts": facts}


def test_a_page_made_a_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="<!-- index: CUDA --> is not there once"):
        versions.with_tables(PAGE.replace("<!-- index: CUDA -->", ""), RECORD)


def test_the_pins_of_the_commands_go_together() -> None:
    commands = [line for block in blocks(PAGE, "text") for line in block.splitlines()]
    assert len(commands) == 2
    rows = versions.together(FACTS)
    for command in commands:
        pins = [Requirement(each) for each in re.findall("'([^']*)'", command)]
        named = {each.name: str(each.specifier).removeprefix("==") for each in pins}
        assert named.pop("jaxlib", named["jax"]) in FACTS["jaxlib"]
        assert named in [{"jax": row.jax, "flax": row.flax, "optax": row.optax} for row in rows]
        for extra in pins[0].extras:
            assert named["jax"] in FACTS[f"jax-{extra}-plugin"]


def test_what_the_page_says_of_the_floor_and_of_cuda_11() -> None:
    text = PAGE.replace("\n", " ")
    floor = [f"{name} {OLDEST[name]}" for name in ("Python", "jax", "flax", "optax", "numpy")]
    assert f"{', '.join(floor[:-1])} and {floor[-1]}, or newer" in text
    last, next_one = FACTS["jax"]["0.4.25"], FACTS["jax"]["0.4.26"]
    assert last["cuda11"] == "==0.4.25+cuda11.cudnn86" and next_one["cuda11"] is None
    assert "The last jax with an extra for CUDA 11 is 0.4.25" in text
    assert f"`{last['cuda11'].removeprefix('==')}`" in text


def test_what_the_page_says_of_flax_0_5_3_is_what_the_tests_run() -> None:
    pins = (ROOT / "tests" / "support" / "oracle" / "old_environment.txt").read_text().splitlines()
    for name in ("jax", "jaxlib", "optax", "numpy", "scipy"):
        (pin,) = (each for each in pins if each.startswith(f"{name}=="))
        assert pin.replace("==", " ") in PAGE.replace("\n", " ")


def test_the_error_is_what_the_page_quotes(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {name: version_of(name) for name in OLDEST} | {"jax": "0.4.20"}
    monkeypatch.setattr("flaxoptim_compat.versions.allowed.version_of", found.get)
    with pytest.raises(ImportError) as caught:
        refuse_old(AttributeError())
    (quoted,) = re.findall(r"`(flaxoptim_compat needs [^`]*)`", PAGE)
    assert str(caught.value).startswith(f"{quoted}. ")
    assert str(versions.PAGE.relative_to(ROOT)) in str(caught.value)


@pytest.mark.exhaustive
def test_what_is_recorded_of_the_index_is_still_so() -> None:
    # The content of a release never changes, so a few of each project show whether it is read as
    # it was. That all are still there, and not taken back, the page of the project says.
    some = {
        project: {each: of_versions[each] for each in [*of_versions][:: len(of_versions) // 2]}
        for project, of_versions in FACTS.items()
    }
    try:
        found = index.read(some)
    except OracleUnavailable as error:
        pytest.skip(f"the package index cannot be read: {error}")
    for project, of_versions in some.items():
        # Large wheels are taken off the index in time; wheels for new Pythons may be added.
        large = "pythons" in next(iter(of_versions.values()))
        offered = {str(each.version) for each in wheels(project)}
        assert large or set(FACTS[project]) <= offered, project
        assert large or set(found[project]) == set(of_versions), project
        for version, fact in found[project].items():
            recorded = of_versions[version]
            assert set(recorded.get("pythons", ())) <= set(fact.get("pythons", ())), project
            assert {**fact, "pythons": None} == {**recorded, "pythons": None}, (project, version)
    assert found["jaxlib"]
