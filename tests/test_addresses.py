"""Once the package names its site, what is printed and written leads there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from flaxoptim_compat import addresses
from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.editing.marks import marks_in
from tests.support.places import ROOT

SITE, REPOSITORY = "https://example.org/guide", "https://example.org/source"
LEFT = """\
from flax import optim


def make(name, params):
    return getattr(optim, name)(0.1).create(params)
"""


def printed(folder: Path, command: str, *urls: str) -> str:
    """What a command prints where the installed package has these addresses."""
    described = folder / "described" / "flaxoptim_compat-9.dist-info"
    described.mkdir(parents=True, exist_ok=True)
    lines = ["Metadata-Version: 2.4", "Name: flaxoptim_compat", "Version: 9"]
    lines += [f"Project-URL: {each}" for each in urls]
    (described / "METADATA").write_text("\n".join(lines) + "\n\n")
    path = os.pathsep.join([str(described.parent), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "flaxoptim_compat", *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("urls", "page"),
    [
        ((f"Documentation, {SITE}/", f"Repository, {REPOSITORY}"), f"{SITE}/rules/FOC103.html"),
        (
            (f"Repository, {REPOSITORY}",),
            f"{REPOSITORY}/blob/main/migration_guide/rules/FOC103.md",
        ),
        (("Funding, https://example.org",), None),
        ((), None),
    ],
)
def test_everything_follows_what_the_package_says(
    tmp_path: Path, urls: tuple[str, ...], page: str | None
) -> None:
    program = tmp_path / "old.py"
    program.write_text(LEFT)
    explained = printed(tmp_path, "explain FOC103", *urls)
    assert explained.endswith(f"\nThis page: <{page}>\n") == bool(page)
    sarif = json.loads(printed(tmp_path, "scan old.py --format sarif", *urls))
    driver = sarif["runs"][0]["tool"]["driver"]
    assert {rule.get("helpUri") for rule in driver["rules"] if rule["id"] == "FOC103"} == {page}
    assert ("informationUri" in driver) == bool(page)
    # Twice: a mark that is there is not set again.
    printed(tmp_path, "rewrite old.py --to optax --write", *urls)
    printed(tmp_path, "rewrite old.py --to optax --write", *urls)
    (mark,) = marks_in(program.read_text())
    assert mark.text.endswith(f" ({page})" if page else ".")


def test_a_mark_is_not_set_again_once_there_is_an_address(tmp_path: Path) -> None:
    program = tmp_path / "old.py"
    program.write_text(LEFT)
    printed(tmp_path, "rewrite old.py --to optax --write")
    once = program.read_text()
    printed(tmp_path, "rewrite old.py --to optax --write", f"Documentation, {SITE}")
    assert program.read_text() == once


def test_without_what_describes_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", none)
    addresses.urls.cache_clear()
    try:
        assert addresses.urls() == {}
        assert main(["explain", "FOC103"]) == 0
    finally:
        addresses.urls.cache_clear()
