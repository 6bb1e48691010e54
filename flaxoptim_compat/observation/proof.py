"""The proof of a change: a program before and after it, run in copies, and compared.

Each run begins with the same files. The old program runs once more where the two differ, since two
runs of it may differ too: then that is said, and it is no proof.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from flaxoptim_compat.observation import observed_command
from flaxoptim_compat.observation.copies import Copies, Sources
from flaxoptim_compat.observation.observed_command import ObservedRun
from flaxoptim_compat.observation.places import Uses, from_here
from flaxoptim_compat.observation.probes import ProbedStep
from flaxoptim_compat.observation.records import ObservedState
from flaxoptim_compat.observation.rewritten_lines import RewrittenFile, quoted, rewritten_lines
from flaxoptim_compat.observation.trajectories import (
    ArrayDifference,
    ComparedOptimizer,
    Comparison,
    Divergence,
    compare,
)

# So many new files are named.
_MADE = 5
_DIFFER = "The numbers differ."
_SUSPECTS = "Changed lines that may be the cause:"
_NO_STEPS = """\
A command has to train: to start the program, or tests of it, so that these optimizers do steps.
Otherwise leave --verify out: the files are then written without a proof."""


class NotProven(Exception):
    """There is no proof; the message says why.

    Args:
      message: the reason.
      output: the end of the output of the command, if that failed.
      is_of_new: whether the new program failed.
      differs: whether the two programs were compared, and differ.
    """

    def __init__(
        self, message: str, output: str = "", is_of_new: bool = False, differs: bool = False
    ) -> None:
        super().__init__(message)
        self.output = output
        self.is_of_new = is_of_new
        self.differs = differs


class Moved(NamedTuple):
    """A place where the old program makes an optimizer that the change has moved.

    Args:
      path: the file.
      first: the number of the first line.
      last: the number of the last line.
      shown: the place in words.
    """

    path: Path
    first: int
    last: int
    shown: str


class Terms(NamedTuple):
    """What a proof asks for.

    Args:
      timeout: the seconds that each command may take.
      is_shown: whether to show what the commands print.
      reaches_all: whether the commands must do steps with each optimizer that was moved.
    """

    timeout: float | None = None
    is_shown: bool = False
    reaches_all: bool = False


class Proof:
    """Runs commands with the old program and with the new one, and compares the two.

    Args:
      commands: the commands for the shell.
      copies: the copies in which they run.
      directory: where they run, by its path in the folder.
      terms: what the proof asks for.
      say: prints a line on what runs.
      run: runs a command.
    """

    def __init__(
        self,
        commands: Sequence[str],
        copies: Copies,
        directory: Path,
        terms: Terms,
        say: Callable[[str], object],
        run: Callable[..., ObservedRun] = observed_command.run,
    ) -> None:
        self.commands = commands
        # Where the old program uses optimizers.
        self.uses = Uses()
        self._copies = copies
        self._directory = directory
        self._terms = terms
        self._say = say
        self._run_one = run
        self._old: Sources = {}
        # What the programs made outside of the copies, and what they were kept from changing there.
        self._made: set[str] = set()
        self._kept: set[tuple[str, str]] = set()
        self._before: list[ObservedRun] = []
        self._after: list[ObservedRun] = []

    def run_old(self, sources: Sources) -> None:
        """Run all commands with the old program.

        Args:
          sources: the content of files that the folder has otherwise.

        Raises:
          NotProven: a command fails.
        """
        self._old = sources
        self._before = self._run("before", "Before", sources)
        for each in self._before:
            self.uses |= each.uses

    def run_new(
        self, sources: Sources, prepare: Callable[[Path], object] = lambda copy: None
    ) -> None:
        """Run all commands with the new program.

        Args:
          sources: the content of files that the folder has otherwise.
          prepare: gets the folder in which the commands will run, before they do.

        Raises:
          NotProven: a command fails, or a process of it ends worse than before.
        """
        self._after = self._run("after", "After", sources, prepare)
        for before, after in zip(self._before, self._after, strict=True):
            worse = _failures(after) - _failures(before)
            for program, end in worse:
                raise NotProven(
                    f"A process of the command ends otherwise with the new program: {program}"
                    f" ends with {end}",
                    after.last_lines,
                    is_of_new=True,
                )

    def judged(self, changes: Sequence[RewrittenFile], moved: Sequence[Moved] | None) -> list[str]:
        """The lines on what was compared, and how closely it agrees.

        Args:
          changes: the files that differ.
          moved: where the old program makes the optimizers that the proof is about; None: nobody
            knows, so all that did steps are.

        Raises:
          NotProven: the numbers differ, or none were compared.
        """
        comparisons = []
        for number, (before, after) in enumerate(zip(self._before, self._after, strict=True)):
            comparison = compare(before.record, after.record)
            if comparison.divergence is not None:
                self._explain(number, comparison.divergence, changes)
            comparisons.append(comparison)
        return [*self._troubles(), *self._compared(comparisons, moved)]

    def place_of(self, path: Path) -> Path:
        """The path of a file of the user in the copies."""
        here = Path(os.path.realpath(path.parent)) / path.name
        return here.relative_to(self._copies.folder)

    @property
    def names(self) -> list[str]:
        """The lost names that the new program still uses."""
        return sorted({name for run in self._after for name in run.record.names})

    def _run(
        self,
        name: str,
        when: str,
        sources: Sources,
        prepare: Callable[[Path], object] = lambda copy: None,
    ) -> list[ObservedRun]:
        prepare(self._copies.fresh(sources) / self._directory)
        runs: list[ObservedRun] = []
        for number, command in enumerate(self.commands):
            self._say(f"{when}: {command}")
            done = self._run_one(
                command,
                self._copies,
                self._directory,
                f"{name}.{number}",
                self._terms.timeout,
                self._terms.is_shown,
                self._made,
            )
            self._made.update(*(each.made for each in done.processes))
            self._kept.update(*(each.refused for each in done.processes))
            _refuse_failed(done, command, name)
            self._refuse_originals(done)
            runs.append(done)
        for path, content in sources.items():
            file = self._copies.copy / path
            if content is not None and (not file.is_file() or file.read_bytes() != content):
                raise NotProven(f"The command has changed {path}, so another program was run.")
        return runs

    def _refuse_originals(self, done: ObservedRun) -> None:
        """Raise if a process ran code of the user's folder itself."""
        for process in done.processes:
            if process.executed:
                files = ", ".join(process.executed[:3])
                raise NotProven(
                    f"The command ran code of your folder, not of its copy: {files}\n"
                    f"It was run by {' '.join(process.argv)}\n"
                    "Let the command name these files by their paths from the current folder."
                )

    def _explain(
        self, number: int, divergence: Divergence, changes: Sequence[RewrittenFile]
    ) -> None:
        """Raise with the difference, unless two runs of the old program differ too."""
        again = self._run("again", "Once more, with the old program", self._old)[number]
        own = compare(self._before[number].record, again.record).divergence
        if own is None:
            told = self._told(number, divergence, changes)
            raise NotProven(f"{_DIFFER}\n{told}", differs=True)
        where = f"{_named(own.difference)} of step" if own.difference else "step"
        raise NotProven(
            f"{_DIFFER}\nTwo runs of the old program differ too, first in {where}"
            f" {_step(own.state)}: fix the seed of the program, then verify again."
        )

    def _troubles(self) -> Iterator[str]:
        runs = (*self._before, *self._after)
        for trouble in sorted({each for run in runs for each in run.record.trouble}):
            yield f"Some states of optimizers could not be recorded: {trouble}"
        for path, what in sorted(self._kept):
            yield f"Kept from changing, since it is outside of the copy: {path} ({what})"
        if made := sorted(filter(os.path.lexists, self._made)):
            more = f" and {len(made) - _MADE:,} more" if len(made) > _MADE else ""
            yield f"New files outside of the copies: {', '.join(made[:_MADE])}{more}"

    def _compared(
        self, comparisons: Sequence[Comparison], moved: Sequence[Moved] | None
    ) -> Iterator[str]:
        results = [each for comparison in comparisons for each in comparison.by_optimizer]
        if not any(each.steps for each in comparisons):
            if moved is not None and not moved:
                yield "The rewrite moves no optimizer, and no numbers were compared."
                return
            commands = "The command" if len(self.commands) == 1 else "The commands"
            raise NotProven(f"{commands} did no step of an optimizer. {_NO_STEPS}")
        if all(each.never_moved for each in results if each.steps):
            raise NotProven(
                "The parameters never moved, so nothing is proven: are there gradients?"
            )
        missed = [each for each in moved or () if not _is_reached(each, self._before)]
        if moved and len(missed) == len(moved):
            raise NotProven(
                f"No step was done with an optimizer that was moved: {_shown(moved)}. {_NO_STEPS}"
            )
        if missed and self._terms.reaches_all:
            raise NotProven(f"No step was done with: {_shown(missed)}. {_NO_STEPS}")
        yield _agreement(comparisons, moved, missed)
        yield from filter(None, map(_reservation, results))
        if missed:
            yield f"Moved from the text alone, since no command reached them: {_shown(missed)}"

    def _told(self, number: int, divergence: Divergence, changes: Sequence[RewrittenFile]) -> str:
        """The lines that made the optimizer, the difference, and changed lines near by."""
        state, difference = divergence.state, divergence.difference
        after = self._after[number].record
        new = {id(each) for states in after.states.values() for each in states}

        def line(each: ObservedState) -> str:
            path = os.path.realpath(each.place.file)
            for change in changes:
                if os.path.realpath(change.path) == path:
                    return quoted(each.place, change.new if id(each) in new else change.old)
            return quoted(each.place)

        lines = list(dict.fromkeys(map(line, divergence.created or [state])))
        if divergence.probed is not None:
            lines.append(_of_probe(divergence.probed, state))
        elif difference is not None:
            lines.append(f"Step {_step(state)}: {_amount(difference)}")
        elif divergence.is_missing:
            lines.append(f"Step {_step(state)} is missing in the new program.")
        else:
            lines.append(f"Step {_step(state)} is only in the new program.")
        near = after.places.get(state.optimizer.paths, set())
        suspects = rewritten_lines(changes, sorted(near))
        return "\n".join([*lines, *([_SUSPECTS, *suspects] if suspects else [])])


def _failures(run: ObservedRun) -> Counter[tuple[str, str]]:
    """How the processes of a run ended that did not end well; one that still ran counts for none.

    The exit status of a shell is that of its last program, whatever became of the others.
    """
    return Counter((each.program, each.ended) for each in run.processes if each.has_failed)


def _refuse_failed(done: ObservedRun, command: str, name: str) -> None:
    """Raise if a command failed."""
    program = "new" if name == "after" else "old"
    if done.status is None:
        how = "does not end in time; give it longer with --timeout"
    elif done.status:
        how = f"fails with exit status {done.status}"
    else:
        return
    raise NotProven(
        f"With the {program} program, the command {how}: {command}",
        done.last_lines,
        name == "after",
    )


def _is_reached(spot: Moved, runs: Sequence[ObservedRun]) -> bool:
    """True if steps were done with an optimizer that is made at a place.

    Code that is traced makes an optimizer there too, whose states come from other lines.
    """
    path = os.path.realpath(spot.path)
    return any(
        os.path.realpath(line.file) == path and spot.first <= line.number <= spot.last
        for run in runs
        for optimizer in run.record.states
        for line in run.record.places.get(optimizer.paths, ())
    )


def _shown(spots: Sequence[Moved]) -> str:
    return ", ".join(each.shown for each in spots)


def _agreement(
    comparisons: Sequence[Comparison], moved: Sequence[Moved] | None, missed: Sequence[Moved]
) -> str:
    """A sentence on how many steps were compared, and how closely they agree."""
    optimizers = sum(each.optimizers for each in comparisons)
    steps = sum(each.steps for each in comparisons)
    all_steps = sum(each.all_steps for each in comparisons)
    compared = f"{optimizers:,} optimizer{'' if optimizers == 1 else 's'}"
    if moved:
        made = f"{len(moved) - len(missed):,} of {len(moved):,}"
        compared = f"{made} moved optimizer{'' if len(moved) == 1 else 's'}"
    compared += f", {steps:,} of {all_steps:,} step{'' if all_steps == 1 else 's'}"
    differences = [each.worst for each in comparisons if each.worst is not None]
    if not differences:
        return f"{compared}: the same bits before and after."
    worst = max(differences, key=lambda each: each.excess)
    return (
        f"{compared}: the same within the tolerance. The largest difference is {worst.error:.2g},"
        f" in {_named(worst)}, where {worst.allowed:.2g} is allowed."
    )


def _reservation(result: ComparedOptimizer) -> str:
    """The sentence on an optimizer of which the comparison proves little; "" of others."""
    lines = dict.fromkeys(f"{from_here(each.file)}:{each.number}" for each in result.created)
    made = f"Made in {', '.join(lines)}"
    if result.only_traced:
        probed = ", but by itself it does the same" if result.is_probed else ""
        return f"{made}, only traced: its states were not compared{probed}."
    if result.never_moved:
        return f"{made}: the parameters never moved, which proves nothing of it."
    if result.not_finite_from is not None:
        return f"{made}: not finite from step {result.not_finite_from} on, which proves nothing."
    if result.left_out:
        steps = "step was" if result.left_out == 1 else "steps were"
        return f"{made}: {result.left_out:,} {steps} not compared, for the size of the parameters."
    if result.gone is not None and not result.is_probed:
        return f"{made}: the new program keeps no moment of {result.gone}, so none was compared."
    if result.steps and not result.is_probed:
        return f"{made}: compared in this run only, which need not show an eps or a mask."
    return ""


def _step(state: ObservedState) -> str:
    return ", ".join(dict.fromkeys(map(str, state.step)))


def _of_probe(probed: ProbedStep, state: ObservedState) -> str:
    """The sentences on optimizers that differ only by themselves."""
    gradients = "drawn gradients" if probed.has_gradients else "gradients of zero"
    part = f", which is {probed.error / probed.distance:.2g} of it" if probed.distance else ""
    leaf = state.optimizer.paths[probed.leaf] or "the parameter"
    return (
        f"This run does not show it, but by itself, with {gradients}, the optimizer differs: what"
        f" its step {probed.step} adds to {leaf} is off by {probed.error:.2g}{part}.\n"
        "What the program did itself, such as a decay in the loss, has to stay there for a proof."
    )


def _named(difference: ArrayDifference) -> str:
    leaf = difference.leaf or "the parameter"
    return f"a moment of {leaf}" if difference.is_moment else leaf


def _amount(difference: ArrayDifference) -> str:
    """A sentence on how large a difference is."""
    before = difference.before
    shape = " × ".join(map(str, before.shape)) or "one number"
    amount = f"{_named(difference)} ({before.dtype}, {shape}) differs by {difference.error:.2g}"
    if difference.distance:
        part = f"{difference.error / difference.distance:.2g}"
        whole = "the usual size of the moment" if difference.is_moment else "the distance travelled"
        amount += f", which is {part} of {whole}"
    elif before.largest:
        amount += f", where the largest value is {before.largest:.2g}"
    return f"{amount}; {difference.allowed:.2g} is allowed."
