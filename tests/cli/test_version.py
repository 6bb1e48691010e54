"""``flaxoptim-compat --version``."""

from __future__ import annotations

import platform
from importlib import metadata

import pytest

import flaxoptim_compat
from flaxoptim_compat.cli import main


def versions(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    output, errors = capsys.readouterr()
    assert errors == ""
    return output.splitlines()


def test_the_version_is_what_a_report_of_a_bug_needs(capsys: pytest.CaptureFixture[str]) -> None:
    needed = ("jax", "jaxlib", "flax", "optax", "numpy")
    assert versions(capsys) == [
        f"flaxoptim-compat {flaxoptim_compat.__version__}",
        *(f"{name} {metadata.version(name)}" for name in needed),
        f"Python {platform.python_version()}",
        platform.platform(),
    ]


def test_a_package_that_is_missing_is_said_to_be(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == "jaxlib":
            raise metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr(metadata, "version", version)
    assert versions(capsys)[1:4] == ["jax 1.2.3", "jaxlib missing", "flax 1.2.3"]
