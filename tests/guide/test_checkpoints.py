"""``migration_guide/checkpoints.md``: its commands print what it shows, and its code runs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from flaxoptim_compat.cli import main
from tests.guide.checkpoint_field_maps import COMMON, MAPS, field_map, table
from tests.support.places import ROOT
from tests.support.processes import compat

GUIDE = (ROOT / "migration_guide" / "checkpoints.md").read_text()
BLOCK = re.compile(r"^```(py|sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.exhaustive
def test_the_commands_print_what_is_shown_and_the_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(GUIDE)]
    assert [language for language, _ in blocks].count("sh") == 10
    for number, (language, text) in enumerate(blocks):
        if language == "py" and (file := re.match(r"# (\w+\.py)\n", text)):
            (tmp_path / file[1]).write_text(text)
            assert compat(["run", file[1]], tmp_path).returncode == 0
        elif language == "py":
            exec(compile(text, "<example>", "exec"), {"__name__": "example"})
        elif language == "sh":
            program, *arguments = shlex.split(text)
            assert program == "flaxoptim-compat"
            status = main(arguments)
            out, err = capsys.readouterr()
            if blocks[number + 1][0] == "text":
                assert blocks[number + 1][1] == (out or err)
            else:
                assert status == 0, err
    for name in ("new", "today"):
        del sys.modules[name]


@pytest.mark.parametrize("name", MAPS)
def test_the_field_maps_are_those_of_the_code(name: str) -> None:
    section = GUIDE.partition(f"\n### {name}\n")[2].partition("\n###")[0]
    assert section.rstrip().endswith(table(name))


def test_every_optimizer_has_a_map_with_the_rows_that_all_have() -> None:
    assert re.findall(r"^### (.*)$", GUIDE, re.MULTILINE) == list(MAPS)
    for legacy, state in (COMMON[0], COMMON[2]):
        cells = [cell if cell == "nothing" else f"`{cell}`" for cell in (legacy, state)]
        assert f"| {cells[0]} | {cells[1]} |" in GUIDE
    for name in MAPS:
        assert (COMMON[0] in field_map(name)) and (
            COMMON[2] in field_map(name) or name == "MultiOptimizer"
        )
