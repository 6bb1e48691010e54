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

from flaxoptim_compat.cli import program_files
from flaxoptim_compat.cli.output import print_error, print_styled, print_text
from flaxoptim_compat.printable import one_line

if TYPE_CHECKING:
    from flaxoptim_compat.migrate.editing.journal import Journal
    from flaxoptim_compat.migrate.editing.one_change import Outcome
    from flaxoptim_compat.migrate.run.reports import RunReport
    from flaxoptim_compat.observation.proof import Proof

SUMMARY = "Rewrite a program: import flax.optim from this package, or replace it by optax"

EPILOG = f"""\
examples:
  flaxoptim-compat rewrite src --to shim               # show a patch
  flaxoptim-compat rewrite src --to shim --write       # change the files
  flaxoptim-compat rewrite src --to optax --write --verify 'pytest -q'

rewrite runs the command of --verify as "flaxoptim-compat run" would, with all programs that the
command starts. All steps of all rewritten optimizers must have the same numbers before and after.

rewrite changes only code that it is certain about; --to optax writes a comment above the rest. A
run rewrites all files or none: if it is killed, the next run first puts the files back. rewrite
does not touch files that are generated, read-only, links or not in UTF-8, nor folders of installed
or vendored code.

{program_files.SETTINGS}

Exit status: 0 if there is nothing to do, 1 if files were changed or would be, 2 if a file could not
be read or written, or the numbers could not be verified."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the subcommand."""
    program_files.add_arguments(parser)
    parser.add_argument(
        "--to",
        choices=("shim", "optax"),
        required=True,
        help="shim: the same calls, served by flaxoptim_compat; optax: TrainState and optax",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--diff", action="store_true", help="print a patch; this is the default")
    modes.add_argument(
        "--check", action="store_true", help="only list the files and findings that would change"
    )
    modes.add_argument("--write", action="store_true", help="change the files")
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
        help="with --write: run this command, such as a training or the tests, before and after"
        " the rewrite, and compare all steps of all optimizers; if the numbers differ or the"
        " command fails, put all files back; may be given several times",
    )


def run(arguments: argparse.Namespace) -> int:
    """Work out the changes, and show or write them; returns the exit status."""
    from flaxoptim_compat.migrate.editing.journal import JournalError, only_run
    from flaxoptim_compat.migrate.editing.one_change import VerificationError
    from flaxoptim_compat.migrate.program.loading import FoundFiles
    from flaxoptim_compat.migrate.run.settings import SettingsError

    if arguments.verify and not arguments.write:
        arguments.parser.error(
            "--verify goes with --write: the command runs before and after the files change."
        )
    if arguments.accept_changes and arguments.to != "optax":
        arguments.parser.error(
            "--accept-changes goes with --to optax: --to shim changes no number."
        )
    report: RunReport | None = None
    try:
        task = program_files.task_for(arguments, arguments.to, arguments.accept_changes)
        files = FoundFiles(arguments.paths, task.settings.is_excluded)
        places = (arguments.paths, files.journals)
        with only_run(*places, arguments.write, _print_aside) as journal:
            report = program_files.run_over(arguments, task)
            proof: Proof | None = None
            if arguments.verify and report.findings:
                # If there can be none, that is said before anything is run.
                journal()
                proof = _proof(arguments.verify)
                if arguments.to == "optax":
                    uses = proof.uses if task.uses is None else task.uses | proof.uses
                    report = program_files.run_over(arguments, task._replace(uses=uses))
            if not arguments.write:
                return _show(report, arguments)
            return _write(report, arguments, journal, proof)
    except (JournalError, SettingsError) as error:
        print_error(error)
    except VerificationError as error:
        print(error.output, end="", file=sys.stderr)
        print_error(error)
        if error.is_after and report is not None and arguments.to == "optax":
            for line in _on_checkpoints(report, error.output):
                _print_aside(line)
    except KeyboardInterrupt:
        print_error(
            "stopped. All files are as they were before, or all are rewritten, or the next rewrite"
            " here first puts them back."
        )
        return 130
    return 2


def _on_checkpoints(report: RunReport, output: str) -> Iterator[str]:
    """The lines on checkpoints that may be why a command fails after the rewrite.

    Args:
      report: what was rewritten.
      output: what the command printed.
    """
    from flaxoptim_compat.migrate.run.reports import place_of

    if _RESTORING.search(output) and report.conversions:
        yield _OTHER_CHECKPOINTS
        yield from _conversions(report)
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
# A function that restores, in a traceback of Python or of pytest, or the message of Flax.
_RESTORING = re.compile(
    r"(?:line \d+,|:\d+:) in (?:from_bytes|from_state_dict|msgpack_restore|restore\w*)\b"
    r"|while restoring an instance of"
)
_OTHER_CHECKPOINTS = """\
The rewritten program restores TrainStates. If the command finds a checkpoint that it wrote
before the rewrite, have it write to an empty folder each time, or convert the checkpoint."""


# In a notebook a line begins behind a quotation mark.
_OWN_IMPORT = re.compile(rb"^[\s\"]*(?:import|from)\s+flaxoptim_compat\b", re.MULTILINE)


def _show(report: RunReport, arguments: argparse.Namespace) -> int:
    from flaxoptim_compat.migrate.formats.account import account

    say: Callable[[str], None] = print_text
    if not arguments.check:
        # stdout has the patch and nothing else.
        _print_patch(report)
        say = _print_aside
    changed = [each for each in report.files if each.new is not None]
    verb = "would be changed" if arguments.check else "changed in the patch"
    for line in account(report, arguments.to, verb, is_patch=not arguments.check):
        say(line)
    if changed and arguments.to == "optax":
        for line in _conversions(report):
            say(line)
    if changed:
        them = "it" if len(changed) == 1 else "them"
        is_moved = arguments.to == "optax" and report.becoming
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


def _proof(commands: list[str]) -> Proof:
    """The proof after its commands have run with the old program.

    Raises:
      VerificationError: a command fails.
    """
    from flaxoptim_compat.migrate.editing.one_change import VerificationError
    from flaxoptim_compat.observation.proof import Proof

    proof = Proof(commands, _running)
    verdict = proof.before()
    if verdict is not None:
        raise VerificationError(f"{verdict.message} No file was changed.", verdict.output, False)
    return proof


def _write(
    report: RunReport,
    arguments: argparse.Namespace,
    journal: Callable[[], Journal],
    proof: Proof | None,
) -> int:
    from flaxoptim_compat.migrate.editing import one_change
    from flaxoptim_compat.migrate.editing.replacing_files import Replacement, remove_unfinished
    from flaxoptim_compat.migrate.formats.account import account

    changes = [
        Replacement(each.path, each.old, each.new) for each in report.files if each.new is not None
    ]
    outcome = one_change.Outcome([], [])
    if proof is not None and changes:
        proof.changes = changes
        _print_aside("If this run is killed, the next rewrite here first puts all files back.")
    if changes:
        outcome = one_change.write(changes, journal(), proof, _print_aside)
    removed = remove_unfinished(report.unfinished)
    report.unfinished = [path for path in report.unfinished if path not in removed]
    not_written = [] if outcome.written else [each.path for each in changes]
    for line in account(report, arguments.to, "changed", not_written):
        print_text(line)
    _say_written(outcome, removed)
    if outcome.written:
        if proof is not None:
            print_text("\n".join(proof.account()))
        print_text("\n".join(_next_steps(report, arguments.to, proof)))
    if outcome.failed or report.is_trouble:
        return 2
    return 1 if outcome.written else 0


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
    if target == "optax" and report.becoming and proof is None:
        yield "No run has compared the numbers. For a proof, put the files back and add --verify"
        yield "COMMAND, with a training or the tests."
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
    yield "Convert old checkpoints before the new program restores them. OLD and NEW are"
    yield "your paths:"
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


@contextlib.contextmanager
def _running(text: str) -> Iterator[None]:
    """Print the command that runs, and show a spinner on a terminal until the command ends."""
    from flaxoptim_compat.cli import progress

    _print_aside(text)
    with progress.spinning("running"):
        yield


def _print_aside(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
