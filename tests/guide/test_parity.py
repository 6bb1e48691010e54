"""The page about comparisons shows what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from tests.support import compiling
from tests.support.pages import NUMBER, blocks
from tests.support.places import ROOT
from tests.support.processes import output_of

PAGE = (ROOT / "migration_guide" / "parity.md").read_text()
SHOWN = blocks(PAGE, "text")
# The keys of causes are the only strings in their code that look like this, and one is sign alone.
KEY = r'"([a-z]+(?:-[a-z0-9]+)+|ascent)"'


def without_numbers(text: str) -> list[str]:
    """The lines, every number as 0, because versions round differently, and single blanks."""
    found = [re.sub(" +", " ", NUMBER.sub("0", line)).rstrip() for line in text.splitlines()]
    return [line for line in found if not line.startswith("jax ")]


@pytest.mark.exhaustive
def test_the_first_example(capsys: pytest.CaptureFixture[str]) -> None:
    (command,) = blocks(PAGE, "sh")
    arguments = re.findall(r"'([^']+)'|(\S+)", command)
    words = [quoted or plain for quoted, plain in arguments]
    assert words[:2] == ["flaxoptim-compat", "parity"]
    assert main(words[1:]) == 1
    printed = without_numbers(capsys.readouterr().out)
    shown = without_numbers(SHOWN[0])
    assert printed[: len(shown)] == shown


@pytest.mark.exhaustive
def test_all_optimizers(capsys: pytest.CaptureFixture[str]) -> None:
    (shown,) = [block for block in SHOWN if "MultiOptimizer" in block]
    assert main(["parity", "survey"]) == 0
    assert without_numbers(capsys.readouterr().out) == without_numbers(shown)


def test_every_cause_is_listed() -> None:
    table = [line for line in PAGE.splitlines() if line.startswith("| `")]
    listed = {key for line in table for key in re.findall("`([a-z0-9-]+)`", line)}
    sources = (ROOT / "flaxoptim_compat" / "parity" / "causes").rglob("*.py")
    found = {key for each in sources for key in re.findall(KEY, each.read_text())}
    assert listed == {key for key in found if not key.startswith("default-")}
    assert "`default-...`" in PAGE and len(found) > len(listed)


@pytest.mark.exhaustive
def test_the_tests_on_the_page_pass(tmp_path: Path) -> None:
    (code,) = blocks(PAGE, "py")
    (tmp_path / "test_ours.py").write_text(code)
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--parity-record"]
    variables = compiling.variables(devices=1)
    assert "2 passed" in output_of([*command, "test_ours.py"], tmp_path, variables)
    baseline = "parity_baselines/test_ours/test_our_optimizer_stays_what_it_is.npz"
    assert (tmp_path / baseline).exists()
    assert "2 passed" in output_of([*command[:-1], "test_ours.py"], tmp_path, variables)
