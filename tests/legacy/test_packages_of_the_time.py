"""Packages that programs with flax.optim used, as they were released then, under ``run``."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pytest

from tests.support.oracle.cache import OracleUnavailable, clean_environment, run_checked
from tests.support.oracle.era_packages import era_packages
from tests.support.places import ROOT

# {package or part of one: how many of its modules fail, for a reason that is not a lost name}
PACKAGES = {
    "brax": 0,
    "chex": 0,
    "diffrax": 0,
    "distrax": 0,
    "elegy": 0,
    "equinox": 0,
    "haiku": 0,
    "jmp": 0,
    # These want funsor and jaxns, and say so with an error of their own.
    "numpyro": 7,
    "tensorflow_probability.substrates.jax": 0,
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PACKAGES)
def test_all_modules_can_be_imported(name: str) -> None:
    try:
        folder = era_packages()
    except OracleUnavailable as error:
        pytest.skip(str(error))
    path = os.pathsep.join([str(folder), str(ROOT)])
    program = str(ROOT / "tests" / "support" / "import_all.py")
    command = [sys.executable, "-m", "flaxoptim_compat", "run", "--quiet", program]
    done = run_checked(
        [*command, str(folder), name],
        clean_environment(JAX_PLATFORMS="cpu", PYTHONPATH=path, PYTHONDONTWRITEBYTECODE="1"),
        cwd=folder,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    # What is absent, as gym is, is needed by the smaller part.
    assert found["imported"] > max(3, found["modules"] / 2)
    assert len(found["errors"]) <= PACKAGES[name], found["errors"]
