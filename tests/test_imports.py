"""What is imported, by name: what takes longest to import must not come in unasked.

That the hook of ``enable`` imports three modules of this package and nothing else, and starting a
program of another kind no more than these, is in test_environment.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from flaxoptim_compat.cli import SUBCOMMANDS
from tests.support.places import DATA, ROOT
from tests.support.processes import output_of

# Each takes longer than all of the command line.
HEAVY = {"jax", "jaxlib", "flax", "optax", "numpy", "orbax", "tensorstore", "libcst", "matplotlib"}
# Each takes as long as a tenth of it, or starts processes.
UNNEEDED = {"importlib.metadata", "email", "zipfile", "multiprocessing", "concurrent", "asyncio"}

MAIN = """
import sys
from flaxoptim_compat.cli import main
try:
    main({arguments})
except SystemExit:
    pass
"""


def imported_by(code: str, before: str = "") -> set[str]:
    """The modules that a new Python imports for some code."""
    program = f"import sys\n{before}\nbefore = set(sys.modules)\n{code}\n"
    shown = "print(); print(*(set(sys.modules) - before))"
    return set(output_of(["-c", f"{program}{shown}"], ROOT).splitlines()[-1].split())


def packages(modules: set[str]) -> set[str]:
    """The packages and parts of packages that these modules are in, and they themselves."""
    return {name[:end] for name in modules for end in (*_dots(name), len(name))}


def _dots(name: str) -> Sequence[int]:
    return [place for place, letter in enumerate(name) if letter == "."]


def of_this_package(modules: set[str]) -> set[str]:
    """Those of this package, without its name."""
    prefix = "flaxoptim_compat."
    return {name.removeprefix(prefix) for name in modules if name.startswith(prefix)}


def test_the_package_alone_is_one_module() -> None:
    assert imported_by("import flaxoptim_compat") <= {"flaxoptim_compat", "__future__"}


def test_optim_imports_only_this_package_beside_what_a_train_state_does() -> None:
    before = "import jax, flax, optax, flax.training.train_state"
    found = imported_by("from flaxoptim_compat import optim; optim.Adam", before)
    assert found - {"flaxoptim_compat"} - {
        f"flaxoptim_compat.{name}" for name in of_this_package(found)
    } == {"flax.training.dynamic_scale"}
    # The rooms for training; not those around it.
    rooms = {name.partition(".")[0] for name in of_this_package(found)}
    assert rooms == {
        *(
            "bridge",
            "catalogue",
            "deprecation",
            "formula_text",
            "line_breaks",
            "optim",
            "syntax",
            "transforms",
        ),
        "versions",
    }
    # What is asked where an import fails.
    assert "versions.allowed" not in of_this_package(found)


@pytest.mark.parametrize(
    "arguments", [["--help"], ["scan", "--help"], ["parity", "--help"]], ids=" ".join
)
def test_help_imports_the_command_line_only(arguments: list[str]) -> None:
    found = imported_by(MAIN.format(arguments=arguments))
    heavy = HEAVY | UNNEEDED | {"ast", "tokenize", "inspect", "dataclasses", "subprocess"}
    assert not packages(found) & heavy
    assert {name.partition(".")[0] for name in of_this_package(found)} == {"cli", "printable"}
    # One for each subcommand, and nothing of what they do.
    shared = {"cli", "cli.help_text", "cli.output", "cli.program_files", "cli.proving", "printable"}
    files = {SUBCOMMANDS[name].run.__module__ for name in SUBCOMMANDS}
    assert of_this_package(found) == shared | {
        name.removeprefix("flaxoptim_compat.") for name in files
    }


@pytest.mark.parametrize("arguments", [["explain"], ["explain", "FOC101"]], ids=" ".join)
def test_what_explains_rules_does_not_import_what_they_are_about(arguments: list[str]) -> None:
    assert not packages(imported_by(MAIN.format(arguments=arguments))) & HEAVY


def test_the_versions_are_told_without_importing_what_they_are_of() -> None:
    found = imported_by(MAIN.format(arguments=["--version"]))
    assert not packages(found) & HEAVY
    rooms = {name.partition(".")[0] for name in of_this_package(found)}
    assert not rooms & {"bridge", "checkpoint_files", "migrate", "optim", "parity", "transforms"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["scan"],
        ["scan", "--format", "sarif"],
        ["rewrite", "--to", "shim"],
        ["rewrite", "--to", "optax"],
        ["rewrite", "--to", "shim", "--write"],
    ],
    ids=" ".join,
)
def test_reading_one_file_imports_nothing_that_trains_prints_nor_starts_processes(
    arguments: list[str], tmp_path: Path
) -> None:
    program = shutil.copy(DATA / "legacy_programs" / "mnist_cnn.py", tmp_path)
    command = [*arguments, str(program)]
    writes = "--write" in arguments
    status = 0 if writes else 1
    main = "from flaxoptim_compat.cli import main"
    found = imported_by(f"{main}\nassert main({command}) == {status}")
    # SARIF has the addresses of the project, which are in the metadata of the package.
    of_metadata = {"email", "importlib.metadata", "zipfile"} if "sarif" in arguments else set()
    # What git could take back is asked before files are written.
    of_git = {"subprocess"} if writes else set()
    assert not packages(found) & (HEAVY | UNNEEDED - of_metadata - of_git | {"rich"})
    rooms = {name.partition(".")[0] for name in of_this_package(found)}
    assert not rooms & {"bridge", "checkpoint_files", "optim", "parity", "transforms"}
