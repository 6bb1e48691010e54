"""The versions that a program is rewritten for, and what is written for old ones."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.editing.marks import marks_in
from flaxoptim_compat.migrate.program.releases import FORMS, NEWEST, PACKAGES, Releases, releases
from flaxoptim_compat.versions.allowed import OLDEST
from tests.migrate.unmarked import without_marks
from tests.support.rewriting_folders import Rewrite, read
from tests.support.rewriting_texts import findings_alone, rewrite_alone

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


OLD = Releases((("jax", "0.4.30"), ("numpy", "1.26.4")))
# {what: a program, the version that knows the new name, what stays before, and what it becomes}
LEFT = {
    "a lost name that is there still": (
        "import jax\nx = jax.core.get_aval(1)\n",
        ("jax", "0.5.2", "0.5.3"),
        "FOC151: jax.core.get_aval, gone since jax 0.10.0: jax.typeof from jax 0.5.3 on;"
        " before, it can stay",
        "import jax\nx = jax.typeof(1)\n",
    ),
    "one that is not": (
        "from jax.lib.xla_bridge import host_ids\nhost_ids()\n",
        ("jax", "0.4.31", "0.4.33"),
        "FOC151: jax.lib.xla_bridge.host_ids, gone since jax 0.2.21: jax.process_indices from"
        " jax 0.4.33 on",
        "from jax import process_indices as host_ids\nhost_ids()\n",
    ),
    "a name in a module that has moved": (
        "from jax.lib import xla_bridge\nx = xla_bridge.get_backend()\n",
        ("jax", "0.4.30", "0.4.33"),
        "FOC151: jax.lib.xla_bridge.get_backend, gone since jax 0.9.0:"
        " jax.extend.backend.get_backend from jax 0.4.33 on; before, it can stay",
        "from jax.extend import backend\nx = backend.get_backend()\n",
    ),
}


@pytest.mark.parametrize("target", ["shim", "optax"])
@pytest.mark.parametrize("what", LEFT)
def test_what_stays_and_since_when_it_does_not(what: str, target: str) -> None:
    text, (package, before, since), mark, expected = LEFT[what]
    old, new = (Releases(((package, version),)) for version in (before, since))
    left = rewrite_alone(text, target, releases=old)
    assert without_marks(left) == text
    assert {each.text for each in marks_in(left)} == {mark}
    assert rewrite_alone(text, target, releases=new) == expected
    assert rewrite_alone(text, target) == expected


def test_what_is_written_is_what_the_versions_have_in_common() -> None:
    # What else is asked of a module whose import stays comes from elsewhere.
    text = (
        "from jax.lib import xla_bridge\n"
        "x = xla_bridge.get_backend()\n"
        "y = xla_bridge.get_device_backend()\n"
    )
    lines = rewrite_alone(text, releases=OLD).splitlines()
    assert "from jax.lib import xla_bridge" in lines and "x = xla_bridge.get_backend()" in lines
    assert "y = flax_xla_bridge.get_device_backend()" in lines
    found = findings_alone(text)
    assert all(each.shim is not None for each in found)


PROGRAM = "import jax\njax.core.get_aval(1)\n"


def test_versions_on_the_command_line(rewrite: Rewrite) -> None:
    for options in (
        ("--for", "jax==0.4.30"),
        ("--for", "numpy==1.26.4,jax==0.4.30"),
        ("--for", "numpy==1.26.4", "--for", "jax==0.7.0, jax==0.4.30"),
    ):
        done = rewrite("--check", *options, a=PROGRAM)
        assert "a.py:2:1: FOC151 left: " in done.output
    for options in (("--for", "jax==0.10.0"), ("--for", "jax==0.4.30", "--for", "jax==0.10.0")):
        # A run for other versions does not take its results from the cache.
        rewrite("--write", *options, a=PROGRAM)
        assert read("a.py") == PROGRAM.replace("core.get_aval", "typeof")


def test_versions_in_the_settings(rewrite: Rewrite) -> None:
    Path("pyproject.toml").write_text("[tool.flaxoptim-compat]\nfor = ['jax==0.4.30']\n")
    assert "1 left" in rewrite("--check", a=PROGRAM).output
    # What the command line says of a package counts.
    assert "1 left" in rewrite("--check", "--for", "numpy==2.0.0").output
    assert "0 left" in rewrite("--check", "--for", "jax==0.10.0").output


def test_scan_says_what_rewrite_will_do(
    rewrite: Rewrite, capsys: pytest.CaptureFixture[str]
) -> None:
    rewrite("--check", a=PROGRAM)
    assert main(["scan", "a.py", "--format", "concise", "--for", "jax==0.10.0"]) == 1
    assert "FOC151 [*] jax.core.get_aval" in capsys.readouterr().out
    assert main(["scan", "a.py", "--format", "concise", "--for", "jax==0.4.30"]) == 1
    assert "FOC151 [-] jax.core.get_aval" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["jax>=0.4.30", "jax==0.4.29", "torch==2.0"])
def test_versions_that_mean_nothing(rewrite: Rewrite, text: str) -> None:
    done = rewrite("--for", text, a=PROGRAM)
    assert (done.status, done.output) == (2, "")
    assert done.errors.startswith("flaxoptim-compat: for: ")
    Path("pyproject.toml").write_text(f"[tool.flaxoptim-compat]\nfor = ['{text}']\n")
    assert rewrite().errors == done.errors
