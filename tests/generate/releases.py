"""In which releases a lost name is there: the two around its end, installed and asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from packaging.version import Version

from flaxoptim_compat.legacy.entry import LegacyName
from flaxoptim_compat.legacy.lost import OF_PACKAGES
from flaxoptim_compat.versions.allowed import OLDEST
from tests.generate.generator import Files, Generator
from tests.support.places import DATA

RECORD = DATA / "names_in_releases.json"
# The last release before one that took names away. What went before the oldest that is allowed is
# gone in all versions that this package runs with.
BEFORE = {
    "jax 0.4.31": "0.4.30",
    "jax 0.4.34": "0.4.33",
    "jax 0.4.35": "0.4.34",
    "jax 0.4.36": "0.4.35",
    "jax 0.4.38": "0.4.37",
    "jax 0.5.0": "0.4.38",
    "jax 0.5.1": "0.5.0",
    "jax 0.6.0": "0.5.3",
    "jax 0.6.1": "0.6.0",
    "jax 0.7.0": "0.6.2",
    "jax 0.7.1": "0.7.0",
    "jax 0.8.0": "0.7.2",
    "jax 0.9.0": "0.8.3",
    "jax 0.9.2": "0.9.1",
    "jax 0.10.0": "0.9.2",
    "jax 0.10.2": "0.10.1",
    "jax 0.11.0": "0.10.2",
    "jaxlib 0.6.1": "0.6.0",
    "numpy 2.0.0": "1.26.4",
    "numpy 2.4.0": "2.3.5",
    "numpy 2.5.0": "2.4.6",
}
_ASKING = """
import importlib, json, sys, warnings
warnings.simplefilter("ignore")
def is_there(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        try:
            for part in parts[length:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False
print(json.dumps([name for name in json.load(sys.stdin) if is_there(name)]))
"""


def within_the_span() -> list[LegacyName]:
    """The names that went after the oldest versions that are allowed."""
    found = []
    for entry in OF_PACKAGES:
        package, _, version = entry.gone_since.partition(" ")
        if package in OLDEST and Version(version) > Version(OLDEST[package]):
            found.append(entry)
    return found


def files() -> Files:
    """For each such release, of the names that it took away those that are there, and before."""
    names: dict[str, list[str]] = {}
    for entry in within_the_span():
        names.setdefault(entry.gone_since, []).append(entry.name)
    record = {}
    for since in sorted(names):
        package, _, version = since.partition(" ")
        asked = sorted(names[since])
        record[since] = {each: _found(package, each, asked) for each in (BEFORE[since], version)}
        print(since, {each: len(there) for each, there in record[since].items()}, flush=True)
    return {RECORD: f"{json.dumps(record, indent=1)}\n".encode()}


def _found(package: str, version: str, names: list[str]) -> list[str]:
    """Those of some names that are there in one release, in an environment of its own."""
    # Jax and jaxlib are released together, and each needs the other.
    together = ("jax", "jaxlib") if package != "numpy" else ("numpy",)
    wanted = [f"{each}=={version}" for each in together]
    with tempfile.TemporaryDirectory() as folder:
        for python in _pythons():
            python_here = Path(folder, Path(python).parts[-3], "bin", "python")
            subprocess.run([python, "-m", "venv", python_here.parents[1]], check=True)
            install = [python_here, "-m", "pip", "install", "--quiet", *wanted]
            if subprocess.run(install, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                done = subprocess.run(
                    [python_here, "-c", _ASKING],
                    input=json.dumps(names),
                    stdout=subprocess.PIPE,
                    text=True,
                    check=True,
                )
                found: list[str] = json.loads(done.stdout)
                return found
    raise RuntimeError(f"No Python here has wheels of {' and '.join(wanted)}.")


def _pythons() -> Iterable[str]:
    """Those that may have wheels: one with the versions of long ago, and the newest."""
    versions = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    others = [path / "bin" / "python" for path in sorted(versions.glob("3.1[0-9].*"))]
    return [*map(str, others)] or [sys.executable]


GENERATOR = Generator(
    "tests/data/names_in_releases.json: the releases that took names away, from the package index",
    files,
)
