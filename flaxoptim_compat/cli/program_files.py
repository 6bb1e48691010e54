"""The common parts of ``scan`` and ``rewrite``: their files, and which rules count."""

from __future__ import annotations

import argparse
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.run.analysis import Task
    from flaxoptim_compat.migrate.run.reports import RunReport

SETTINGS = """\
settings, in the nearest pyproject.toml above the first PATH:
  [tool.flaxoptim-compat]
  select = ["FOC1"]                    # only these; FOC1: all FOC1xx
  ignore = ["FOC152"]                  # without these rules
  exclude = ["old", "examples/*"]      # names, or globs below this folder
  per-file-ignores = {"tests/*" = ["FOC1"]}
  for = ["jax==0.4.30"]                # write code that runs on these versions

A comment # noqa: FOC101, or # noqa, at the end of a line or of a statement of several lines keeps
that code as it is."""


def add_arguments(parser: argparse.ArgumentParser, at_least_one: bool = True) -> None:
    """Declare the files, of which there may have to be one, and the choice of rules."""
    parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="+" if at_least_one else "*",
        type=Path,
        help="a file, or a folder with .py, .pyi, .ipynb and .gin files",
    )
    for name, what in (("select", "use only"), ("ignore", "leave out")):
        parser.add_argument(
            f"--{name}",
            metavar="CODES",
            type=_listed,
            help=f"{what} the rules with these codes, or beginnings of codes, separated by commas",
        )
    parser.add_argument(
        "--for",
        metavar="VERSIONS",
        dest="versions",
        type=_listed,
        action="extend",
        help="write code that runs on these versions, such as jax==0.4.30,numpy==1.26.4; the"
        " default is the installed versions of flax, jax, numpy and optax",
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(each.strip() for each in text.split(",") if each.strip())


def task_for(arguments: argparse.Namespace, target: str = "", accept_changes: bool = False) -> Task:
    """The task of a run, by its options and the user's settings.

    Raises:
      SettingsError: an option or a setting has a value without a meaning.
    """
    from flaxoptim_compat.migrate.program.releases import releases
    from flaxoptim_compat.migrate.rules import rule_modules
    from flaxoptim_compat.migrate.run import settings
    from flaxoptim_compat.migrate.run.analysis import Task
    from flaxoptim_compat.observation.places import FOLDER, SUFFIX, read

    chosen = settings.read_settings(arguments.paths[0])
    # The command line goes before the settings in the file.
    if arguments.select is not None:
        chosen = chosen._replace(select=arguments.select)
    if arguments.ignore is not None:
        chosen = chosen._replace(ignore=(*chosen.ignore, *arguments.ignore))
    known = tuple(rule_modules())
    for name, codes in (("select", chosen.select), ("ignore", chosen.ignore)):
        settings.check_codes(codes, known, name)
    for pattern, codes in chosen.per_file_ignores:
        settings.check_codes(codes, known, f"per-file-ignores of {pattern!r}")
    try:
        # The last version of a package counts.
        wanted = releases([*chosen.versions, *(arguments.versions or ())])
    except ValueError as error:
        raise settings.SettingsError(f"for: {error}") from error
    folder = Path(FOLDER)
    # A rewrite keeps the old files in the same folder.
    has_run = target == "optax" and any(folder.rglob(f"*{SUFFIX}"))
    uses = read(folder) if has_run else None
    # Asked for without importing it, which takes seconds.
    has_tensorflow = importlib.util.find_spec("tensorflow") is not None
    return Task(target, chosen, accept_changes, wanted, uses, has_tensorflow)


def run_over(arguments: argparse.Namespace, task: Task) -> RunReport:
    """The report of a run over all files; after a second, a bar shows how many are done."""
    from flaxoptim_compat.cli.progress import Progress
    from flaxoptim_compat.migrate.run import pipeline

    with Progress("files") as progress:
        return pipeline.run(arguments.paths, task, progress)
