"""Once the package names its site, what is printed and written leads there."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest

from flaxoptim_compat import addresses
from flaxoptim_compat.cli import main
from flaxoptim_compat.migrate.editing.marks import marks_in
from tests.support.places import ROOT
from tests.support.processes import compat

SITE, REPOSITORY = "https://example.org/guide", "https://example.org/source"
LEFT = """\
from flax import optim

optimizer = optim.Adam(0.1).create({})
print(type(optimizer))
"""


Printed = Callable[..., str]


@pytest.fixture
def printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Printed]:
    """What a command prints where the installed package has these addresses."""
    monkeypatch.chdir(tmp_path)

    def printed(command: str, *urls: str) -> str:
        addresses.urls.cache_clear()
        monkeypatch.setattr(metadata, "metadata", lambda name: described(urls))
        assert main(command.split()) in (0, 1)
        return capsys.readouterr().out

    yield printed
    addresses.urls.cache_clear()


def described(urls: Sequence[str]) -> Message:
    """What an installation says of the package with these addresses."""
    message = Message()
    for each in urls:
        message["Project-URL"] = each
    return message


@pytest.mark.parametrize(
    ("urls", "page"),
    [
        ((f"Documentation, {SITE}/", f"Repository, {REPOSITORY}"), f"{SITE}/rules/FOC219.html"),
        (
            (f"Repository, {REPOSITORY}",),
            f"{REPOSITORY}/blob/main/migration_guide/rules/FOC219.md",
        ),
        (("Funding, https://example.org",), None),
        ((), None),
    ],
)
def test_everything_follows_what_the_package_says(
    tmp_path: Path, printed: Printed, urls: tuple[str, ...], page: str | None
) -> None:
    program = tmp_path / "old.py"
    program.write_text(LEFT)
    explained = printed("explain FOC219", *urls)
    assert explained.endswith(f"\nThis page: <{page}>\n") == bool(page)
    sarif = json.loads(printed("scan old.py --format sarif", *urls))
    driver = sarif["runs"][0]["tool"]["driver"]
    assert {rule.get("helpUri") for rule in driver["rules"] if rule["id"] == "FOC219"} == {page}
    assert ("informationUri" in driver) == bool(page)
    # Twice: a mark that is there is not set again.
    printed("rewrite old.py --to optax --write", *urls)
    printed("rewrite old.py --to optax --write", *urls)
    (mark,) = marks_in(program.read_text())
    assert mark.text.endswith(f" ({page})" if page else ".")


def test_a_mark_is_not_set_again_once_there_is_an_address(tmp_path: Path, printed: Printed) -> None:
    program = tmp_path / "old.py"
    program.write_text(LEFT)
    printed("rewrite old.py --to optax --write")
    once = program.read_text()
    printed("rewrite old.py --to optax --write", f"Documentation, {SITE}")
    assert program.read_text() == once


def test_the_installed_package_says_it(tmp_path: Path) -> None:
    info = tmp_path / "described" / "flaxoptim_compat-9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.4\nName: flaxoptim_compat\nVersion: 9\n"
        f"Project-URL: Documentation, {SITE}/\n\n"
    )
    path = os.pathsep.join([str(info.parent), str(ROOT)])
    done = compat(["explain", "FOC219"], tmp_path, {"PYTHONPATH": path})
    assert done.stdout.endswith(f"\nThis page: <{SITE}/rules/FOC219.html>\n"), done.stderr


def test_without_what_describes_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "metadata", none)
    addresses.urls.cache_clear()
    try:
        assert addresses.urls() == {}
        assert main(["explain", "FOC219"]) == 0
    finally:
        addresses.urls.cache_clear()
