"""The versions of Python and of other packages that are allowed, and those installed.

It imports none of them: where importing jax fails, people need this most.
"""

from __future__ import annotations

import platform

TYPE_CHECKING = False  # as in typing, which takes longer to import than all of this
if TYPE_CHECKING:
    from collections.abc import Mapping

# As pyproject.toml has them. What is installed does not say them for a checkout on PYTHONPATH.
OLDEST = {
    "Python": "3.10",
    "jax": "0.4.30",
    "jaxlib": "0.4.30",
    "flax": "0.8.5",
    "optax": "0.2.5",
    "numpy": "1.26.4",
}
_NEEDS = "flaxoptim_compat needs "
# The first flax whose nnx.Optimizer does not keep the model, and takes it with each step.
_NNX = "0.11"


def version_of(name: str) -> str | None:
    """The installed version of a package, or that of this Python; None if it is missing."""
    if name == "Python":
        return platform.python_version()
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def too_old(versions: Mapping[str, str | None]) -> dict[str, str]:
    """The versions among these that are not allowed, by name."""
    return {
        name: version
        for name, version in versions.items()
        if version and name in OLDEST and numbers(version) < numbers(OLDEST[name])
    }


def refuse_old(error: Exception) -> None:
    """Say what is too old where something has failed that an old version may be the cause of.

    Raises:
      ImportError: something is too old. If nothing is, this returns, and the error stands.
    """
    if str(error).startswith(_NEEDS):
        return  # it says so already
    found = too_old({name: version_of(name) for name in OLDEST})
    if found:
        parts = [f"{name} {OLDEST[name]} (here is {version})" for name, version in found.items()]
        raise ImportError(
            f"{_NEEDS}{', '.join(parts)} or newer. Upgrade with pip. Where that "
            "cannot be, migration_guide/versions.md says what to pin and what works without."
        ) from error


def refuse_old_nnx(asked: str) -> None:
    """Refuse a flax whose ``nnx.Optimizer`` is another than that of today.

    Args:
      asked: the name of what needs it.

    Raises:
      ImportError: flax is older.
    """
    version = version_of("flax")
    if version and numbers(version) < numbers(_NNX):
        raise ImportError(
            f"{asked} needs flax {_NNX} or newer (here is {version}), whose nnx.Optimizer has wrt."
        )


def numbers(version: str) -> tuple[int, ...]:
    """The numbers that versions are compared by: 0.5 is 0.5.0, and what is no number ends it."""
    found: list[int] = []
    for part in version.split("."):
        # Of 38+cuda12, which says what it was built for, and of 38rc1 it is 38.
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        found += [int(digits)] if digits else []
        if digits != part:
            break
    while found and not found[-1]:
        found.pop()
    return tuple(found)
