"""The tables of ``migration_guide/versions.md``, from what is recorded of the package index."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from flaxoptim_compat.versions.allowed import OLDEST
from tests.generate.generator import Files, Generator
from tests.generate.index import RECORD, Facts
from tests.support.places import GUIDE

PAGE = GUIDE / "versions.md"
# What metadata leave out: flax 0.10.4 calls jax.api_util.debug_info, there since jax 0.5.1.
NEEDED_AS_WELL = {"flax": {"0.10.4": {"jax": ">=0.5.1"}}}


class Together(NamedTuple):
    """What goes with one jax on one Python."""

    jax: str
    python: str
    flax: str
    optax: str


def together(facts: Facts) -> list[Together]:
    """The newest flax and optax for each jax and each Python that has a jaxlib for it."""
    found = []
    for jax in _in_order(facts["jax"], OLDEST["jax"]):
        for python in _pythons_of(facts, jax):
            if Version(python) < Version(OLDEST["Python"]):
                continue
            optaxes = _fitting(facts["optax"], jax, python)
            pairs = (
                (flax, optax)
                for flax in _fitting(facts["flax"], jax, python)
                if jax in SpecifierSet(NEEDED_AS_WELL["flax"].get(flax, {}).get("jax", ""))
                for optax in optaxes
                if optax in SpecifierSet(facts["flax"][flax]["needs"].get("optax", ""))
            )
            pair = next(pairs, None)
            if pair:
                found.append(Together(jax, python, *pair))
    return found


def _in_order(versions: Iterable[str], oldest: str = "0") -> list[str]:
    return sorted((each for each in versions if Version(each) >= Version(oldest)), key=Version)


def _pythons_of(facts: Facts, jax: str) -> list[str]:
    """Those that this jax allows and the newest jaxlib that it allows has wheels for."""
    of_jax = facts["jax"][jax]
    jaxlibs = [each for each in facts["jaxlib"] if each in SpecifierSet(of_jax["needs"]["jaxlib"])]
    pythons: list[str] = facts["jaxlib"][_in_order(jaxlibs)[-1]]["pythons"]
    return [each for each in pythons if _allows(of_jax["python"], each)]


def _fitting(versions: dict[str, dict[str, Any]], jax: str, python: str) -> list[str]:
    """Newest first."""
    return [
        name
        for name in reversed(_in_order(versions))
        if jax in SpecifierSet(versions[name]["needs"].get("jax", ""))
        and _allows(versions[name]["python"], python)
    ]


def _allows(bound: str, python: str) -> bool:
    # The last of its patch versions, as a user has it.
    return f"{python}.99" in SpecifierSet(bound)


def table_of_jax(facts: Facts) -> str:
    """Which flax and optax go with which jax."""
    rows: list[tuple[str, str, str, str]] = []
    for jax, of_jax in groupby(together(facts), lambda row: row.jax):
        for (flax, optax), same in groupby(of_jax, lambda row: (row.flax, row.optax)):
            rows.append((jax, _span([row.python for row in same]), flax, optax))
    return _table(("jax", "Python", "newest flax", "newest optax"), _merged(rows))


def table_of_python(facts: Facts) -> str:
    """The newest jax for each Python."""
    newest: dict[str, str] = {}
    for jaxlib in _in_order(facts["jaxlib"]):
        for python in facts["jaxlib"][jaxlib]["pythons"]:
            newest[python] = jaxlib
    # A jax may be newer than its jaxlib.
    newest |= {row.python: row.jax for row in together(facts)}
    with_it = {(row.jax, row.python): row for row in together(facts)}
    rows = []
    for python in _in_order(newest):
        row = with_it.get((newest[python], python))
        works = f"yes, with flax {row.flax} and optax {row.optax}" if row else "no"
        rows.append((newest[python], works, python))
    shown = [
        (_span([python for *_, python in same]), jax, works)
        for (jax, works), same in groupby(rows, lambda row: row[:2])
    ]
    return _table(("Python", "newest jax", "this package"), shown)


def table_of_cuda(facts: Facts) -> str:
    """What the plugins for CUDA need."""
    rows = []
    for major in ("12", "13"):
        project = f"jax-cuda{major}-plugin"
        for plugin in _in_order(facts[project]):
            needs = facts[project][plugin]["needs"]
            nvidia = [
                next(needs[name] for name in needs if re.fullmatch(rf"{part}(-cu\d+)?", name))
                for part in ("nvidia-cuda-runtime", "nvidia-cuda-nvcc", "nvidia-cudnn")
            ]
            assert needs[f"jax-cuda{major}-pjrt"] == f"=={plugin}"
            pythons = _span(facts[project][plugin]["pythons"], OLDEST["Python"])
            rows.append((plugin, f"`jax[cuda{major}]`", pythons, *map(_in_words, nvidia)))
    heads = ("plugin", "extra", "Python", "CUDA runtime", "nvcc", "cuDNN")
    return _table(heads, _merged(rows))


def _merged(rows: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Neighbours that differ in their first column only become one."""
    for rest, same in groupby(rows, lambda row: row[1:]):
        yield (_span([row[0] for row in same]), *rest)


def _span(versions: list[str], oldest: str = "0") -> str:
    inside = _in_order(versions, oldest)
    return inside[0] if len(inside) == 1 else f"{inside[0]} to {inside[-1]}"


def _in_words(bound: str) -> str:
    """``from 9.1, below 10.0`` of ``<10.0,>=9.1``."""
    words = {">=": "from", "<": "below"}
    parts = sorted(SpecifierSet(bound), key=lambda each: each.operator, reverse=True)
    return ", ".join(f"{words[each.operator]} {each.version}" for each in parts)


def _table(heads: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


TABLES: dict[str, Callable[[Any], str]] = {
    "jax": lambda record: f"As read on {record['read']}:\n\n{table_of_jax(record['facts'])}",
    "Python": lambda record: table_of_python(record["facts"]),
    "CUDA": lambda record: table_of_cuda(record["facts"]),
}


def with_tables(page: str, record: dict[str, Any]) -> str:
    """A page with the tables between their marks.

    Raises:
      ValueError: the page does not have the marks of a table once.
    """
    for name, table in TABLES.items():
        begin, end = f"<!-- index: {name} -->\n", "<!-- end -->"
        before, found, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed or begin in after:
            raise ValueError(f"{begin.strip()} is not there once, with {end} after it.")
        page = f"{before}{begin}{table(record)}{end}{after}"
    return page


def files() -> Files:
    """The page with the tables of the record."""
    return {PAGE: with_tables(PAGE.read_text(), json.loads(RECORD.read_text())).encode()}


GENERATOR = Generator(
    "the tables of migration_guide/versions.md: tests/data/package_index.json", files
)
