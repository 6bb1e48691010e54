"""All generators by their names, in the order in which they run."""

from __future__ import annotations

from tests.generate import (
    api,
    calls,
    command_line,
    formulas,
    goldens,
    index,
    layers,
    measured,
    notebooks,
    pictures,
    random_numbers,
    releases,
    rewriting,
    signatures,
    versions,
)
from tests.generate.generator import Generator

GENERATORS: dict[str, Generator] = {
    "formulas": formulas.GENERATOR,
    "api": api.GENERATOR,
    "calls": calls.GENERATOR,
    "command_line": command_line.GENERATOR,
    "rewriting": rewriting.GENERATOR,
    "index": index.GENERATOR,
    "versions": versions.GENERATOR,
    "measured": measured.GENERATOR,
    "notebooks": notebooks.GENERATOR,
    "pictures": pictures.GENERATOR,
    "goldens": goldens.GENERATOR,
    "random_numbers": random_numbers.GENERATOR,
    "releases": releases.GENERATOR,
    "signatures": signatures.GENERATOR,
    "layers": layers.GENERATOR,
}
