"""``flaxoptim-compat scan``: what it prints, in each format, and what it never does."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from flaxoptim_compat.cli import SUBCOMMANDS, main
from flaxoptim_compat.legacy.names import of_python
from flaxoptim_compat.migrate.formats.as_text import LEGEND
from tests.support.places import ROOT
from tests.support.processes import start
from tests.support.rewriting_folders import MAP, Scan

PROGRAM = {
    "a": MAP,
    "package__b": "import numpy as np\n\nx = np.float_(1)\ny = np.float_(2)\n",
    "c": "",
    "d": "import jax\n",
}
MAP_FOUND = "2:1: FOC151 [*] jax.tree_map, gone since jax 0.6.0: jax.tree.map"


def test_findings(scan: Scan) -> None:
    status, lines, errors = scan(**PROGRAM)
    assert (status, errors) == (1, "")
    assert lines == [
        "3 findings in 2 of 4 files.",
        "",
        "rewrite --to shim deals with all 3.",
        "rewrite --to optax deals with all 3.",
        "",
        "Begin with this command; it shows a patch, and --write changes the files:",
        "  flaxoptim-compat rewrite . --to shim",
        "",
        "found  code    name                 --to shim  --to optax",
        "    2  FOC155  removed-numpy-names          2           2",
        "    1  FOC151  removed-jax-names            1           1",
        "",
        LEGEND,
        "package/b.py: 2 findings",
        "  lines 3, 4  FOC155  [*]  numpy.float_, gone since numpy 2.0.0: numpy.float64",
        "",
        "a.py: 1 finding",
        "  line 2  FOC151  [*]  jax.tree_map, gone since jax 0.6.0: jax.tree.map",
        "",
        "--format concise prints a line for each finding, with its place first.",
        "flaxoptim-compat explain FOC155 explains the rule FOC155, with examples.",
    ]


def test_names_of_python_are_found_in_files_that_name_no_package(scan: Scan) -> None:
    texts = {}
    for each in of_python.ENTRIES:
        module, name = each.module, each.attribute
        texts[f"inside_{name}"] = f"import {module} as m\nm.{name}\n"
        texts[f"imported_{name}"] = f"from {module} import {name}\n"
    _, lines, _ = scan("--format", "concise", **texts)
    found = {line.partition(".py:")[0] for line in lines if ": FOC" in line}
    assert found == texts.keys()


def test_a_line_for_each_finding(scan: Scan) -> None:
    status, lines, errors = scan("--format", "concise", **PROGRAM)
    assert (status, errors) == (1, "")
    gone = "FOC155 [*] numpy.float_, gone since numpy 2.0.0: numpy.float64"
    assert lines == [
        f"a.py:{MAP_FOUND}",
        f"package/b.py:3:5: {gone}",
        f"package/b.py:4:5: {gone}",
        LEGEND,
        "3 findings in 2 of 4 files.",
        "3 files parsed, 1 without names that are gone, 0 not read, 0 names not understood.",
    ]


def test_the_next_command_is_about_the_same_files_rules_and_versions(
    scan: Scan, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--select", "FOC1,FOC2", "--ignore", "FOC155", "--for", "jax==0.4.30"]
    _, lines, _ = scan(*options, **PROGRAM)
    command = "  flaxoptim-compat rewrite . --select FOC1,FOC2 --ignore FOC155 --for jax==0.4.30"
    assert f"{command} --to shim" in lines
    # As from pre-commit, which names each file.
    Path("with a space.py").write_text(MAP)
    main(["scan", "--ignore", "FOC155", "with a space.py", *sorted(map(str, Path().rglob("*.py")))])
    assert "  flaxoptim-compat rewrite PATH --ignore FOC155 --to shim" in capsys.readouterr().out
    main(["scan", "with a space.py"])
    assert "  flaxoptim-compat rewrite 'with a space.py' --to shim\n" in capsys.readouterr().out


def test_nothing_found(scan: Scan) -> None:
    assert scan(a="1") == (
        0,
        ["0 findings in 0 of 1 file."],
        "",
    )


def test_what_cannot_be_read_is_never_a_clean_bill(scan: Scan) -> None:
    status, lines, _ = scan(
        a="import jax\nprint 'hello'", b="x = 1\0", c="jax = " + "-" * 100_000 + "1", d="1"
    )
    assert status == 2
    assert lines == [
        "0 findings in 0 of 4 files.",
        "3 files not read: see the end.",
        "",
        "a.py: not read: line 2: Missing parentheses in call to 'print'. Did you mean print(...)?",
        "b.py: not read: the file holds null bytes",
        "c.py: not read: the code is nested too deeply",
    ]


def test_what_is_not_understood_is_no_clean_bill_either(scan: Scan) -> None:
    either = "from flax import optim\nif x:\n  optim = make()\n\ny = optim.Adam\n"
    status, lines, _ = scan(a=either)
    assert status == 1
    assert any(line.startswith("a.py:5:5: not understood: ") for line in lines)
    assert lines[1] == "1 name not understood: see the end."


def test_gin_files(scan: Scan, tmp_path: Path) -> None:
    (tmp_path / "c.gin").write_text("# flax.optim.Adam\nlr = 1\nf.opt = @flax.optim.Adam()  # x\n")
    (tmp_path / "d.gin").write_text("jax.lr = (\n")
    status, lines, _ = scan("--format", "concise")
    assert status == 1
    assert lines[0] == (
        "c.gin:3:10: FOC112 [*] flax.optim.Adam, gone since flax 0.6.0: flaxoptim_compat.optim.Adam"
    )
    # What names nothing need not be gin.
    assert lines[3].startswith("1 file parsed, 1 without names that are gone, 0 not read")


def test_many_files_in_order_of_which_none_is_run(scan: Scan, tmp_path: Path) -> None:
    # They are read in several processes, started in this folder.
    evil = "import pathlib\npathlib.Path('ran').touch()\nimport jax\n"
    names = ("pickle", "selectors", "ast", "setup", "conftest", "sitecustomize")
    files = {f"d{number % 3}__f{number:03}": MAP for number in range(650)}
    files |= {"d1__bad": "import jax\n(", "deep": "jax = " + "(" * 5000}
    status, lines, _ = scan("--format", "concise", **dict.fromkeys(names, evil), **files)
    assert status == 2 and not (tmp_path / "ran").exists()
    found = [line.partition(":")[0] for line in lines if MAP_FOUND in line]
    assert found == sorted(f"{name.replace('__', '/')}.py" for name in files if "__f" in name)
    unread = [line for line in lines if ": not read" in line]
    assert [line.partition(":")[0] for line in unread] == ["d1/bad.py", "deep.py"]


def test_nothing_to_read(scan: Scan) -> None:
    status, lines, _ = scan()
    assert (status, lines[0]) == (
        2,
        "No Python file was found: no name ends in .py, .pyi, .ipynb, .gin.",
    )


def test_hooks_for_pre_commit() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == [
        "flaxoptim-compat-scan",
        "flaxoptim-compat-rewrite-shim",
    ]
    for hook in hooks:
        assert {"id", "name", "entry", "language", "types_or"} <= set(hook)
        program, command, *options = hook["entry"].split()
        assert program == "flaxoptim-compat" and command in SUBCOMMANDS
        # The files come last; that they are missing is the only thing wrong with these.
        done = start(["-m", "flaxoptim_compat", command, *options, "missing.py"], ROOT)
        assert done.returncode == 2 and "missing.py: not read" in done.stdout


def test_paths_that_are_not_there_or_no_python(scan: Scan) -> None:
    Path("notes.txt").write_text("import jax\njax.tree_map\n")
    status, lines, _ = scan("notes.txt", "missing")
    assert status == 2
    assert "notes.txt: not read: the name ends in none of .py, .pyi, .ipynb, .gin" in lines
    assert any(line.startswith("missing: not read: there is no such") for line in lines)
