"""The page of changes is about the version that is here."""

from __future__ import annotations

import re

import flaxoptim_compat
from tests.support.places import GUIDE

HEADINGS = re.findall(r"^## (.*)$", (GUIDE / "changes.md").read_text(), re.MULTILINE)
# The day of a release; without one, the version is still being written.
HEADING = re.compile(r"(\d+\.\d+\.\d+)( \(\d{4}-\d\d-\d\d\))?")


def test_the_first_section_is_about_the_current_version() -> None:
    version, _, _ = HEADINGS[0].partition(" ")
    assert version == flaxoptim_compat.__version__


def test_each_section_is_about_a_version_and_older_ones_are_released() -> None:
    found = [HEADING.fullmatch(heading) for heading in HEADINGS]
    assert all(found), HEADINGS
    assert all(each and each[2] for each in found[1:])
    versions = [tuple(map(int, each[1].split("."))) for each in found if each]
    assert versions == sorted(set(versions), reverse=True)
