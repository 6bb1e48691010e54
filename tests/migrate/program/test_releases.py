"""The versions that a program is rewritten for: those asked for, else those installed."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.migrate.program.releases import FORMS, NEWEST, PACKAGES, Releases, releases
from flaxoptim_compat.versions.allowed import OLDEST

TYPEOF = "jax:typeof"


def for_jax(version: str) -> Releases:
    return Releases((("jax", version),))


@pytest.mark.parametrize(
    ("version", "is_lacking"),
    [
        ("0.4.30", True),
        ("0.5.2", True),
        ("0.5.3", False),
        ("0.5.4.dev20250301", False),
    ],
)
def test_what_a_version_lacks(version: str, is_lacking: bool) -> None:
    assert for_jax(version).lacking(TYPEOF) == (FORMS[TYPEOF] if is_lacking else None)


def test_the_newest_lack_nothing_and_names_of_other_packages_do_not_count() -> None:
    assert not any(map(NEWEST.lacking, FORMS))
    assert for_jax("0.4.30").lacking("numpy:trapezoid") is None
    assert for_jax("0.4.30").lacking("jax:jit") is None
    assert Releases((("numpy", "1.26.4"),)).lacking("numpy:trapezoid") is not None


def test_a_lost_name_that_a_version_has_still() -> None:
    assert for_jax("0.4.30").are_before("jax", "0.10.0")
    assert for_jax("0.4.30").are_before("jaxlib", "0.6.1")
    assert not for_jax("0.4.30").are_before("jax", "0.2.21")
    assert not for_jax("0.4.30").are_before("numpy", "2.0.0")


def test_what_is_installed_counts_unless_another_version_is_asked_for() -> None:
    installed = {name: importlib.metadata.version(name) for name in ("jax", "numpy")}
    assert dict(releases([]).versions) == installed
    found = dict(releases(["jax==0.4.31", " optax == 0.2.6", "jax==0.5.0"]).versions)
    assert found == {**installed, "jax": "0.5.0", "optax": "0.2.6"}


def test_the_first_on_the_path_is_the_one_that_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a/jax-0.6.0.dist-info", "b/jax-0.7.0.dist-info", "b/jax_md-1.0.dist-info"):
        (tmp_path / name).mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [str(tmp_path / each) for each in ("none", "a", "b")])
    # A package that is not installed is taken to be the newest.
    assert releases([]) == for_jax("0.6.0")
    monkeypatch.setattr(sys, "path", [""])
    monkeypatch.chdir(tmp_path / "b")
    assert releases([]) == for_jax("0.7.0")


@pytest.mark.parametrize("text", ["jax", "jax>=0.5", "jax==", "jax==new", "scipy==1.0", ""])
def test_what_is_no_version(text: str) -> None:
    with pytest.raises(
        ValueError, match=r"is no version of flax, jax.*Write it like jax==0\.4\.30"
    ):
        releases([text])


def test_what_is_too_old() -> None:
    for package in PACKAGES:
        oldest = OLDEST[package]
        assert dict(releases([f"{package}=={oldest}"]).versions)[package] == oldest
        with pytest.raises(ValueError, match=f"{package} 0.1 is older than {oldest}, the oldest"):
            releases([f"{package}==0.1"])


def test_a_row_is_about_what_the_oldest_versions_lack() -> None:
    oldest = Releases(tuple(OLDEST.items()))
    assert all(map(oldest.lacking, FORMS))
