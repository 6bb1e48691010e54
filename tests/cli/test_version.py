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


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str) -> None:
    """Have only these be installed, those of the names with a dash as well."""

    def version(name: str) -> str:
        try:
            return versions[name.replace("-", "_")]
        except KeyError:
            raise metadata.PackageNotFoundError(name) from None

    monkeypatch.setattr(metadata, "version", version)


def test_the_version_is_what_a_report_of_a_bug_needs(capsys: pytest.CaptureFixture[str]) -> None:
    # Newer optax does without chex.
    there = {each.metadata["Name"] for each in metadata.distributions()} & {"chex"}
    assert versions(capsys) == [
        f"flaxoptim-compat {flaxoptim_compat.__version__}",
        f"Python {platform.python_version()}",
        *(f"{name} {metadata.version(name)}" for name in (*NEEDED, "orbax-checkpoint", *there)),
        platform.platform(),
    ]


def test_what_is_too_old_says_what_is_needed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Numbers compare as such, and what follows a plus is no part of them.
    others = {"flax": "0.10.0", "optax": "0.2.4", "numpy": "1.26.4", "chex": "0.0.1"}
    installed(monkeypatch, jax="0.4.20", jaxlib="0.4.30+cuda12.cudnn91", **others)
    monkeypatch.setattr(platform, "python_version", lambda: "3.9.18")
    assert versions(capsys)[1:-1] == [
        "Python 3.9.18, needs 3.10 or newer",
        "jax 0.4.20, needs 0.4.30 or newer",
        "jaxlib 0.4.30+cuda12.cudnn91",
        "flax 0.10.0",
        "optax 0.2.4, needs 0.2.5 or newer",
        "numpy 1.26.4",
        "chex 0.0.1",
    ]


def test_what_is_missing_is_said_to_be_unless_nothing_needs_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(monkeypatch, **dict.fromkeys(("jax", "flax", "optax", "numpy"), "2.0.0"))
    assert versions(capsys)[2:-1] == [
        "jax 2.0.0",
        "jaxlib missing, needs 0.4.30 or newer",
        "flax 2.0.0",
        "optax 2.0.0",
        "numpy 2.0.0",
    ]
