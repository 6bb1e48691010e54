"""``flaxoptim-compat rewrite``: a program without flax.optim, in two steps or in one."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from flaxoptim_compat.cli import program_files, proving
from flaxoptim_compat.cli.output import print_aside, print_error, print_styled, print_text
from flaxoptim_compat.printable import one_line

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.editing.journal import Outcome
    from flaxoptim_compat.migrate.editing.replacing_files import Replacement
    from flaxoptim_compat.migrate.run.analysis import Task
    from flaxoptim_compat.migrate.run.reports import RunReport
    from flaxoptim_compat.observation.proof import Moved, Proof

SUMMARY = "Rewrite a program: import flax.optim from this package, or replace it by optax"

EPILOG = f"""\
examples:
  flaxoptim-compat rewrite src --to shim               # show a patch
  flaxoptim-compat rewrite src --to shim --write       # change the files
  flaxoptim-compat rewrite src --to optax --write --verify 'pytest -q'

{proving.HOW}
rewrite writes the files only then, if they are still what they were.

rewrite changes only code that it is certain about. Where a line is not understood, --to optax makes
a DualTrainState, which answers to the old names too; run rewrite again with --verify to make it
plain. It writes a comment above what cannot work.

All files are written or none: if rewrite is killed meanwhile, the next one first puts them back.
rewrite does not touch files that are generated, read-only, links or not in UTF-8, nor folders of
installed or vendored code.

{program_files.SETTINGS}

Exit status: 0 if there is nothing to do, or with --write if all is done, and proven where that was
asked; 1 if files would be changed or, with --write, if places are left for you; 2 if a file could
not be read or written, or nothing was proven: then no file was written."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    program_files.add_arguments(parser, at_least_one=False)
    parser.add_argument(
        "--to",
        choices=("shim", "optax"),
        help="shim: the same calls, served by flaxoptim_compat; optax: a TrainState on optax",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--diff", action="store_true", help="print a patch; this is the default")
    modes.add_argument(
        "--check", action="store_true", help="only list the files and findings that would change"
    )
    modes.add_argument("--write", action="store_true", help="change the files")
    modes.add_argument(
        "--undo",
        action="store_true",
        help="take back the last rewrite that was written in this folder, unless its files have"
        " changed since",
    )
    parser.add_argument(
        "--accept-changes",
        action="store_true",
        help="with --to optax: use the optimizer of optax with the same name even where numbers"
        " change; the output lists each of them",
    )
    parser.add_argument(
        "--verify",
        metavar="COMMAND",
        action="append",
        default=[],
        help="with --write: run this command, such as a training or the tests, in a copy before the"
        " rewrite and in one after it, and write the files only if all steps of all optimizers have"
        " the same numbers; may be given several times",
    )
    parser.add_argument(
        "--reach-all",
        action="store_true",
        help="with --verify: write nothing unless steps were done with each optimizer that moves",
    )
    proving.add_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    """Work out the changes, and show or write them; returns the exit status."""
    from flaxoptim_compat.migrate.editing.journal import JournalError
    from flaxoptim_compat.migrate.run.settings import SettingsError

    _refuse_combinations(arguments)
    try:
        return _undo(arguments.paths or [Path()]) if arguments.undo else _rewrite(arguments)
    except (JournalError, SettingsError) as error:
        print_error(error)
    except KeyboardInterrupt:
        print_error("stopped. All files are as they were before, or all are rewritten.")
        return 130
    return 2


def _refuse_combinations(arguments: argparse.Namespace) -> None:
    error = arguments.parser.error
    if arguments.undo:
        if arguments.to:
            error("--undo goes without --to: all that was written last is taken back.")
        return
    given = {"PATH": arguments.paths, "--to": arguments.to}
    if missing := [name for name, value in given.items() if not value]:
        error(f"the following arguments are required: {', '.join(missing)}")
    if arguments.verify and not arguments.write:
        error("--verify goes with --write: a proof decides whether the files are written.")
    for option in ("share", "timeout", "reach_all", "accept_output"):
        if getattr(arguments, option) and not arguments.verify:
            error(f"--{option.replace('_', '-')} goes with --verify.")
    if arguments.accept_changes and arguments.to != "optax":
        error("--accept-changes goes with --to optax: --to shim changes no number.")
    for command in arguments.verify:
        if not command.strip():
            error("--verify needs a command, such as 'python train.py'.")


def _undo(paths: list[Path]) -> int:
    from flaxoptim_compat.migrate.editing import journal
    from flaxoptim_compat.observation.places import from_here

    for path in paths:
        for file in journal.undo(path):
            print_text(f"{one_line(from_here(str(file)))}: as before the rewrite")
    return 0


def _rewrite(arguments: argparse.Namespace) -> int:
    from flaxoptim_compat.migrate.editing import journal
    from flaxoptim_compat.migrate.program.loading import FoundFiles

    task = program_files.task_for(arguments, arguments.to, arguments.accept_changes)
    files = FoundFiles(arguments.paths, task.settings.is_excluded)
    journal.recover(arguments.paths, files.kept_in, print_aside)
    report = program_files.run_over(arguments, task)
    if not arguments.write:
        return _show(report, arguments)
    if not arguments.verify:
        return _write(report, arguments, None, [])
    if not report.findings:
        print_aside("There is nothing to rewrite, so no command was run. For a proof of what is")
        print_aside("written already: flaxoptim-compat verify COMMAND")
        return _write(report, arguments, None, [])
    return _write_proven(report, arguments, task)


def _write_proven(report: RunReport, arguments: argparse.Namespace, task: Task) -> int:
    """Write the files if the commands prove the rewrite; returns the exit status."""
    from flaxoptim_compat.observation.copies import CopyError
    from flaxoptim_compat.observation.proof import NotProven

    try:
        with proving.proving(arguments, arguments.verify, arguments.paths) as proof:
            proof.run_old({})
            if arguments.to == "optax":
                uses = proof.uses if task.uses is None else task.uses | proof.uses
                report = program_files.run_over(arguments, task._replace(uses=uses))
            changes = _changes(report)
            if not changes:
                return _write(report, arguments, None, [])
            said = _run_new(proof, changes, report)
            said += proof.judged(changes, list(_moved(report, arguments.to)))
        return _write(report, arguments, proof, said)
    except CopyError as error:
        print_error(error)
    except NotProven as error:
        print(error.output, end="", file=sys.stderr)
        print_error(f"{error}\nNo file was changed.")
        if error.is_of_new and arguments.to == "optax":
            for line in _on_checkpoints(report, error.output):
                print_aside(line)
    return 2


def _run_new(proof: Proof, changes: list[Replacement], report: RunReport) -> list[str]:
    """Run the new program; where it meets an old checkpoint, once more with a converted one.

    Returns:
      A line on the checkpoints that were converted in the copy.
    """
    from flaxoptim_compat.observation.old_checkpoints import RESTORING, convert_all
    from flaxoptim_compat.observation.proof import NotProven

    sources = {proof.place_of(each.path): each.new for each in changes}
    try:
        proof.run_new(sources)
        return []
    except NotProven as error:
        commands = [command for _, command in report.conversions]
        if not (error.is_of_new and commands and RESTORING.search(error.output)):
            raise
        converted: list[str] = []
        print_aside(
            "The new program meets a checkpoint of the old one. In the copy it is converted."
        )
        proof.run_new(sources, lambda copy: converted.extend(convert_all(copy, commands)))
        if not converted:
            raise
        names = f"{converted[0]} and {len(converted) - 1} more" if converted[1:] else converted[0]
        return [f"The new program went on from a converted copy of {names}."]


def _changes(report: RunReport) -> list[Replacement]:
    from flaxoptim_compat.migrate.editing.replacing_files import Replacement

    return [
        Replacement(each.path, each.old, each.new) for each in report.files if each.new is not None
    ]


def _moved(report: RunReport, target: str) -> Iterator[Moved]:
    """Where the optimizers are made that a proof is about."""
    from flaxoptim_compat.migrate.run.reports import line_of
    from flaxoptim_compat.observation.proof import Moved

    staying = report.staying if target != "optax" else []
    dual = (each for each in report.dual if not each.was_dual)
    for unit in (*report.moved, *dual, *staying):
        for path, place in unit.made:
            last = place.file_line + place.end_line - place.line
            yield Moved(path, place.file_line, last, line_of(path, place))


def _on_checkpoints(report: RunReport, output: str) -> Iterator[str]:
    """The lines on checkpoints that may be why a command fails after the rewrite.

    Args:
      report: what was rewritten.
      output: what the command printed.
    """
    from flaxoptim_compat.migrate.run.reports import place_of
    from flaxoptim_compat.observation.old_checkpoints import RESTORING, has_placeholder

    if RESTORING.search(output) and report.conversions:
        yield _OTHER_CHECKPOINTS
        yield from _conversions(report)
        if any(has_placeholder(command) for _, command in report.conversions):
            yield _TO_FILL_IN
    entries = [
        f"{place_of(file.path, each.place)}: {each.code} {each.reason}"
        for file in report.files
        for each in file.left
        if each.code == "FOC215"
    ]
    if entries and _NO_ENTRY.search(output):
        yield _OTHER_ENTRIES
        yield from entries


_NO_ENTRY = re.compile(r"KeyError: '(?:target|param_states)'")
_OTHER_ENTRIES = """\
The rewritten program saves TrainStates, and these lines read an entry of a saved optimizer. Let
them take either, such as `saved.get("params") or saved["target"]`, or leave them out of the
command, and change them after the rewrite:"""
_OTHER_CHECKPOINTS = """\
The rewritten program restores TrainStates, and the command found a checkpoint of the old one."""
_TO_FILL_IN = """\
--verify converts them only if nothing has to be filled in. For a proof, keep a copy of the
folder, write without --verify, and then run:
flaxoptim-compat verify COMMAND --before COPY --convert 'the command above, filled in'"""


# In a notebook a line begins behind a quotation mark.
_OWN_IMPORT = re.compile(rb"^[\s\"]*(?:import|from)\s+flaxoptim_compat\b", re.MULTILINE)


def _show(report: RunReport, arguments: argparse.Namespace) -> int:
    from flaxoptim_compat.migrate.formats.account import account

    say: Callable[[str], None] = print_text
    if not arguments.check:
        # stdout has the patch and nothing else.
        _print_patch(report)
        say = print_aside
    changed = [each for each in report.files if each.new is not None]
    verb = "would be changed" if arguments.check else "changed in the patch"
    for line in account(report, arguments.to, verb, is_patch=not arguments.check):
        say(line)
    if changed and arguments.to == "optax":
        for line in _conversions(report):
            say(line)
    if changed:
        them = "it" if len(changed) == 1 else "them"
        is_moved = arguments.to == "optax" and (report.becoming or report.dual)
        proof = " and --verify COMMAND, which proves the numbers" if is_moved else ""
        say(f"No file was changed. To change {them}, add --write{proof}.")
    else:
        say("No file was changed.")
    if report.is_trouble:
        return 2
    return 1 if changed else 0


# The styles of lines of a patch, by how they begin.
_STYLES = {"---": "bold", "+++": "bold", "@@ ": "cyan"}
_FIRST = {"-": "red", "+": "green"}


def _print_patch(report: RunReport) -> None:
    from flaxoptim_compat.migrate.editing.edits import unified_diff

    lines = [
        (line, _STYLES.get(line[:3]) or _FIRST.get(line[:1], ""))
        for each in report.files
        if each.new is not None
        for line in unified_diff(each.path, each.old, each.new)
    ]
    if lines:
        print_styled(lines, exact=True)


def _write(
    report: RunReport, arguments: argparse.Namespace, proof: Proof | None, said: list[str]
) -> int:
    """Write the files, and say what was done; returns the exit status.

    Args:
      report: what is to be written.
      arguments: those of the command.
      proof: the proof, if one was asked for.
      said: the lines on what was compared.
    """
    from flaxoptim_compat.migrate.editing import journal
    from flaxoptim_compat.migrate.editing.replacing_files import remove_unfinished
    from flaxoptim_compat.migrate.formats.account import account, is_done

    changes = _changes(report)
    outcome = journal.Outcome([], [])
    if changes:
        for line in _on_the_way_back([each.path for each in changes]):
            print_aside(line)
        outcome = journal.write(changes, arguments.paths)
    removed = remove_unfinished(report.unfinished)
    report.unfinished = [path for path in report.unfinished if path not in removed]
    not_written = [] if outcome.written else [each.path for each in changes]
    for line in account(report, arguments.to, "changed", not_written):
        print_text(line)
    _say_written(outcome, removed)
    if outcome.written:
        print_text("\n".join([*said, *_next_steps(report, arguments.to, proof)]))
    if outcome.failed or report.is_trouble or report.is_read_only:
        return 2
    return 0 if is_done(report) else 1


def _on_the_way_back(paths: list[Path]) -> Iterator[str]:
    """The line that says how to take a rewrite back where git cannot, before files are written."""
    import subprocess

    here = paths[0].parent
    status = ["git", "-C", str(here), "status", "--porcelain", "--", *map(os.path.abspath, paths)]
    try:
        done = subprocess.run(status, capture_output=True, text=True, check=False)
        is_in_git, changed = done.returncode == 0, len(done.stdout.splitlines())
    except OSError:
        is_in_git, changed = False, 0
    if not is_in_git:
        yield "No git repository has these files. To take the rewrite back: rewrite --undo"
    elif changed:
        files = "1 file has" if changed == 1 else f"{changed:,} files have"
        yield f"{files} uncommitted changes. To take only the rewrite back: rewrite --undo"


def _next_steps(report: RunReport, target: str, proof: Proof | None) -> Iterator[str]:
    """The lines that say what to do now that files have changed."""
    from flaxoptim_compat.migrate.formats.account import has_left_work, needs_run
    from flaxoptim_compat.versions.that_need_run import that_need_run

    names = proof.names if proof is not None else []
    texts = [each.new for each in report.files if each.new is not None]
    needing = list(that_need_run(report.imported))
    to_do = ["mend the files that were not read"] if report.unread else []
    if has_left_work(report):
        to_do.append("change the places that are left")
    if to_do:
        yield f"Next: {' and '.join(to_do)} (see the lines above), and rewrite again."
    if needs_run(report):
        yield "Until then the program may run only with: flaxoptim-compat run"
    if names and not to_do:
        yield "Next: run the program, or its tests, with flaxoptim-compat run, as --verify did: the"
        yield f"program still uses {', '.join(names)}."
    elif needing or to_do:
        yield from needing
    elif target == "shim":
        yield "Next: run the program with python, as it is, and go on with rewrite --to optax."
    else:
        yield "Next: run the program, or its tests, with python, as it is."
    if target == "optax" and (report.becoming or report.dual) and proof is None:
        yield "No run has compared the numbers. For a proof, with a training or the tests:"
        yield "flaxoptim-compat verify COMMAND"
    still = sum(bool(_OWN_IMPORT.search(each)) for each in texts)
    if target == "optax" and still:
        needs = "needs" if still == 1 else "need"
        yield f"Keep flaxoptim_compat installed: {still:,} of these files {needs} it."
    if proof is not None and any(map(_has_old_numbers, proof.commands)):
        yield "Both runs of the command drew the random numbers of before jax 0.5. With python, a"
        yield "seed gives today's. To keep the old numbers, add this line where the program begins:"
        yield 'jax.config.update("jax_threefry_partitionable", False)'
    if target == "optax" and report.conversions:
        yield from _conversions(report)
        yield ""
    changed = [each.path for each in report.files if each.new is not None]
    if python := [str(each) for each in changed if each.suffix != ".gin"]:
        files = shlex.join(python)
        yield _formatting(files if len(python) <= 3 and one_line(files) == files else "FILES")


def _formatting(files: str) -> str:
    """The commands that order the imports of files and format them."""
    is_black = False
    # The files are written by now, and this line is advice.
    with contextlib.suppress(OSError):
        is_black = b"[tool.black]" in Path("pyproject.toml").read_bytes()
    commands = ("isort", "black") if is_black else ("ruff check --select I --fix", "ruff format")
    return f"To order the imports and format: {' && '.join(f'{each} {files}' for each in commands)}"


def _has_old_numbers(command: str) -> bool:
    """True if a command runs its program with the random numbers of before jax 0.5."""
    from flaxoptim_compat.legacy.installing import RANDOM

    return bool(re.search(r"--random[ =]then\b", command)) or os.environ.get(RANDOM) == "then"


def _conversions(report: RunReport) -> Iterator[str]:
    """The lines with commands that convert checkpoints of the old program."""
    from flaxoptim_compat.migrate.run.reports import line_of

    commands = report.conversions
    if not commands:
        return
    yield ""
    yield "Convert old checkpoints before the new program restores them. OLD is the folder that"
    yield "has them, and NEW the one that the new program is to go on in:"
    lines: dict[str, list[str]] = {}
    for spot, command in commands:
        lines.setdefault(command, []).append(line_of(*spot))
    for command, places in lines.items():
        if len(lines) > 1:
            yield f"# {', '.join(places)}"
        yield command
    if any("MODULE:TX" in each for each in lines):
        yield "MODULE:TX is the new transformation, or a function in MODULE.py that returns that."
    if any("=VALUE" in each for each in lines):
        yield "Replace VALUE by the value in the program: the TrainState depends on it."
    if any("MODULE:DEFINITION" in each for each in lines):
        yield "MODULE:DEFINITION is the definition, which is left in the program, or a function in"
        yield "MODULE.py that returns the definition."


def _say_written(outcome: Outcome, removed: Iterable[Path]) -> None:
    for path in removed:
        print_text(f"{one_line(path)}: removed; a rewrite that was killed had left it behind")
    for path, why in outcome.failed:
        print_error(f"{one_line(path)}: not written: {why}")
    if not outcome.written:
        print_text("No file was changed.")
