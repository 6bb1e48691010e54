"""``flaxoptim-compat --version``."""

from __future__ import annotations

import platform
from importlib import metadata

import pytest

import flaxoptim_compat
from flaxoptim_compat.cli import main

NEEDED = ("jax", "jaxlib", "flax", "optax", "numpy")


def versions(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    output, errors = capsys.readouterr()
    assert errors == ""
    return output.splitlines()


def test_the_version_is_what_a_report_of_a_bug_needs(capsys: pytest.CaptureFixture[str]) -> None:
    # Newer optax does without chex.
    there = {each.metadata["Name"] for each in metadata.distributions()} & {"chex"}
    assert versions(capsys) == [
        f"flaxoptim-compat {flaxoptim_compat.__version__}",
        f"Python {platform.python_version()}",
        *(f"{name} {metadata.version(name)}" for name in (*NEEDED, "orbax-checkpoint", *there)),
        platform.platform(),
    ]


# {what is installed: what is said}; numbers compare as such, and what follows a plus is no part.
OLD = {
    "Python": ("3.9.18", "Python 3.9.18, needs 3.10 or newer"),
    "jax": ("0.4.20", "jax 0.4.20, needs 0.4.30 or newer"),
    "jaxlib": ("0.4.30+cuda12.cudnn91", "jaxlib 0.4.30+cuda12.cudnn91"),
    "flax": ("0.10.0", "flax 0.10.0"),
    "optax": ("0.2.4", "optax 0.2.4, needs 0.2.5 or newer"),
    "numpy": ("1.26.4", "numpy 1.26.4"),
    "chex": ("0.0.1", "chex 0.0.1"),
}
MISSING = {
    "Python": ("3.12.0", "Python 3.12.0"),
    "jax": ("2.0.0", "jax 2.0.0"),
    "jaxlib": (None, "jaxlib missing, needs 0.4.30 or newer"),
    **{name: ("2.0.0", f"{name} 2.0.0") for name in ("flax", "optax", "numpy")},
}


@pytest.mark.parametrize("found", [OLD, MISSING], ids=["too old", "missing"])
def test_what_is_too_old_or_missing_is_said_unless_nothing_needs_it(
    found: dict[str, tuple[str | None, str]],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def version(name: str) -> str:
        installed, _ = found.get(name, (None, ""))
        if installed is None:
            raise metadata.PackageNotFoundError(name)
        return installed

    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(platform, "python_version", lambda: found["Python"][0])
    assert versions(capsys)[1:-1] == [said for _, said in found.values()]
