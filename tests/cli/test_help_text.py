"""What ``--help`` prints, on a terminal of eighty columns, and what help imports."""

from __future__ import annotations

import pytest

from flaxoptim_compat.cli import SUBCOMMANDS, main
from flaxoptim_compat.cli.parity import RECORDER
from tests.support.places import ROOT
from tests.support.processes import output_of

FORMS = [
    [],
    *([name] for name in SUBCOMMANDS),
    ["checkpoint", "inspect"],
    ["checkpoint", "convert"],
    ["parity", "record"],
    ["parity", "replay"],
    ["parity", "survey"],
]


@pytest.mark.parametrize("command", FORMS, ids=" ".join)
def test_help_fits_eighty_columns_and_says_what_to_type(
    command: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        main([*command, "--help"])
    assert not caught.value.code
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0].startswith(" ".join(["usage: flaxoptim-compat", *command, ""]))
    # A path is copied, so it stays whole.
    assert [line for line in lines if len(line) > 80 and str(RECORDER) not in line] == []
    if command in ([each] for each in {*SUBCOMMANDS} - {"checkpoint"}) or "convert" in command:
        # Examples keep their lines.
        assert f"\n  flaxoptim-compat {command[0]}" in text
        assert "Exit status: 0 " in " ".join(text.split()) or command == ["run"]


def test_without_a_subcommand_there_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


# That of scan loads nothing but what says it.
IMPORTS = """
import sys
from flaxoptim_compat.cli import main
for name in ("scan", "parity"):
    try: main([name, "--help"])
    except SystemExit: pass
    if name == "scan":
        rooms = {name.split(".")[1] for name in sys.modules if name.startswith("flaxoptim_compat.")}
        assert rooms == {"cli", "printable"}, rooms
        assert not {"ast", "tokenize", "inspect", "dataclasses"} & set(sys.modules)
main(["explain"]), main(["explain", "FOC101"])
assert not {"jax", "flax", "optax", "numpy"} & set(sys.modules)
"""


def test_help_imports_little() -> None:
    said = output_of(["-c", IMPORTS], ROOT)
    assert "--format" in said and "## What rewrite does" in said
