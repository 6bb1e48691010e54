"""All generators by their names, in the order in which they run."""

from __future__ import annotations

from tests.generate import (
    api,
    calls,
    command_line,
    formulas,
    index,
    layers,
    measured,
    notebooks,
    pictures,
    recordings,
    releases,
    rewriting,
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
    "goldens": recordings.GOLDENS,
    "random_numbers": recordings.RANDOM_NUMBERS,
    "releases": releases.GENERATOR,
    "signatures": recordings.SIGNATURES,
    "layers": layers.GENERATOR,
}
