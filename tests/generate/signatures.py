"""``tests/data/signatures.json``: what functions took in jax 0.4.13 and flax 0.5.3."""

from __future__ import annotations

import json

from tests.generate.generator import Files, Generator
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import DATA, OLD_ENVIRONMENT

RECORD = DATA / "signatures.json"


def files() -> Files:
    """The record, a line for each function."""
    done = run_in_old_environment(OLD_ENVIRONMENT / "record_signatures.py")
    lines = (
        f"{json.dumps(name)}: {json.dumps(of)}" for name, of in json.loads(done.stdout).items()
    )
    content = ",\n".join(lines)
    return {RECORD: f"{{\n{content}\n}}\n".encode()}


GENERATOR = Generator("tests/data/signatures.json: the arguments of jax 0.4.13, flax 0.5.3", files)
