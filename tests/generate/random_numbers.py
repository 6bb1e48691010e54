"""``tests/data/random_numbers.json``: the random numbers of some seeds on jax 0.4.13."""

from __future__ import annotations

import json

from tests.generate.generator import Files, Generator
from tests.legacy.cases import random_numbers as random_cases
from tests.legacy.cases.old_names import RUN_NAMES
from tests.support.oracle.environments import run_in_old_environment
from tests.support.places import DATA

FILE = DATA / "random_numbers.json"


def files() -> Files:
    """What the cases give in the old environment."""
    done = run_in_old_environment(RUN_NAMES, random_cases.__name__)
    outcomes = json.loads(done.stdout)["outcomes"]
    found = {name: [leaf[1:] for leaf in leaves] for name, (_, *leaves) in outcomes.items()}
    lines = [f"{json.dumps(name)}: {json.dumps(leaves)}" for name, leaves in found.items()]
    return {FILE: ("{\n" + ",\n".join(lines) + "\n}\n").encode()}


GENERATOR = Generator("tests/data/random_numbers.json: seeds on jax 0.4.13", files)
