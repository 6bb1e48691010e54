"""All generators by their names, in the order in which they run."""

from __future__ import annotations

from tests.generate import (
    calls,
    formulas,
    goldens,
    index,
    measured,
    pictures,
    releases,
    rewriting,
    rules,
    signatures,
    versions,
)
from tests.generate.generator import Generator

GENERATORS: dict[str, Generator] = {
    "formulas": formulas.GENERATOR,
    "calls": calls.GENERATOR,
    "rules": rules.GENERATOR,
    "rewriting": rewriting.GENERATOR,
    "index": index.GENERATOR,
    "versions": versions.GENERATOR,
    "measured": measured.GENERATOR,
    "pictures": pictures.GENERATOR,
    "goldens": goldens.GENERATOR,
    "releases": releases.GENERATOR,
    "signatures": signatures.GENERATOR,
}
