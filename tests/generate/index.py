"""``tests/data/package_index.json``: what released versions need, as the package index has it."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from packaging.version import Version

from flaxoptim_compat.versions.allowed import OLDEST
from tests.generate.generator import Files, Generator
from tests.generate.package_index import Wheel, needed, wheels
from tests.support.places import DATA

RECORD = DATA / "package_index.json"
# Until then each release of jax stands for itself; from then on the last of a minor does for all.
_FIRST_IN_MINORS = Version("0.5")
# Below the oldest jax that is allowed: what Flax 0.5.3 runs with, and the end of CUDA 11.
_OLDER = {"jaxlib": ("0.4.13",), "jax": ("0.4.25", "0.4.26")}
_PLUGINS = ("jax-cuda12-plugin", "jax-cuda13-plugin")
_NVIDIA = ("nvidia-cuda-runtime-cu12", "nvidia-cudnn-cu12", "nvidia-cuda-nvcc-cu12")
_NVIDIA_13 = ("nvidia-cuda-runtime", "nvidia-cudnn-cu13", "nvidia-cuda-nvcc")
Facts = dict[str, dict[str, dict[str, Any]]]


def files() -> Files:
    """The record; with the day of the old one where nothing has changed since."""
    facts = read()
    day = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    if RECORD.exists():
        old = json.loads(RECORD.read_text())
        day = old["read"] if old["facts"] == facts else day
    return {RECORD: _written(day, facts)}


def read(only: Facts | None = None) -> Facts:
    """What the index says.

    Args:
      only: ask for these, as far as the index still has them; by default, for what the guide is
        about.

    Raises:
      OracleUnavailable: the index cannot be reached.
    """
    with ThreadPoolExecutor(8) as pool:
        waiting = {
            (project, str(version)): pool.submit(_FACTS[project], of_version)
            for project in _FACTS
            for version, of_version in _releases(project)
            if (_is_told(project, version) if only is None else str(version) in only[project])
        }
        facts: Facts = {project: {} for project in _FACTS}
        for (project, version), fact in waiting.items():
            facts[project][version] = fact.result()
    return facts


def _releases(project: str) -> list[tuple[Version, list[Wheel]]]:
    found: dict[Version, list[Wheel]] = {}
    for wheel in wheels(project):
        found.setdefault(wheel.version, []).append(wheel)
    return sorted(found.items())


def _is_told(project: str, version: Version) -> bool:
    """Whether the guide needs this version."""
    if version < Version(OLDEST.get(project, OLDEST["jax"])):
        return str(version) in _OLDER.get(project, ())
    if project in ("flax", "optax"):
        return True
    same = [other for other, _ in _releases(project) if other.release[:2] == version.release[:2]]
    return version < _FIRST_IN_MINORS or version == max(same)


def _of_pure_python(*names: str) -> Callable[[list[Wheel]], dict[str, Any]]:
    def facts(of_version: list[Wheel]) -> dict[str, Any]:
        (wheel,) = of_version
        bounds = needed(wheel)
        return {"python": wheel.python, "needs": {k: bounds[k] for k in names if k in bounds}}

    return facts


def _of_jax(of_version: list[Wheel]) -> dict[str, Any]:
    of_cuda_11 = needed(of_version[0], "cuda11-pip")
    return {**_of_pure_python("jaxlib")(of_version), "cuda11": of_cuda_11.get("jaxlib")}


def _of_jaxlib(of_version: list[Wheel]) -> dict[str, Any]:
    return {"pythons": _pythons(of_version)}


def _of_plugin(of_version: list[Wheel]) -> dict[str, Any]:
    bounds = needed(of_version[0], "with-cuda")
    kept = {name: bounds[name] for name in (*_NVIDIA, *_NVIDIA_13) if name in bounds}
    return {"pythons": _pythons(of_version), "needs": {**needed(of_version[0]), **kept}}


def _pythons(of_version: list[Wheel]) -> list[str]:
    """Those with a wheel for Linux on x86-64."""
    linux = [each for each in of_version if "linux" in each.platform and "x86_64" in each.platform]
    return sorted({python for each in linux for python in each.pythons}, key=Version)


_FACTS: dict[str, Callable[[list[Wheel]], dict[str, Any]]] = {
    "jax": _of_jax,
    "jaxlib": _of_jaxlib,
    "flax": _of_pure_python("jax", "optax"),
    "optax": _of_pure_python("jax", "jaxlib"),
    **dict.fromkeys(_PLUGINS, _of_plugin),
}


def _written(day: str, facts: Facts) -> bytes:
    """A line for each version."""
    projects = []
    for project, versions in facts.items():
        lines = ",\n".join(f'"{name}": {json.dumps(of)}' for name, of in versions.items())
        projects.append(f'"{project}": {{\n{lines}\n}}')
    return f'{{"read": "{day}",\n"facts": {{\n{",".join(projects)}\n}}}}\n'.encode()


GENERATOR = Generator("tests/data/package_index.json: the package index, over the network", files)
